// What a study of batches of different lengths may never be beaten by, itself with less to choose
// from, on random questions that are known by a number: the tests take the first,
// `free_study_range` any others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

enum class StudySize {
  kSmall,  // up to 4 GPUs and 6 sections; four of the pins
  kLarge,  // up to 16 GPUs and 10 sections; all pins
};

// The pins under which "dynamic" takes less time for all batches than without any, in words; empty
// when there are none. Pins: one degree, the placement, or the recompute mode.
std::vector<std::string> beaten_by_pins(std::uint64_t number, StudySize size);

}  // namespace penstock::testing
