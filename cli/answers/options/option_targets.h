// Names that options have in other tools, and where their values go here: data only, one row per
// idea, not per spelling. Prefixes (use-), suffixes (-size) and the sections of torchtitan's names
// (training.) are taken off before the rows are read; option_readings.cc weighs which row is meant.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace penstock {

// Where a value goes: an option, and what stands before the value in it ("TP=" in --pin).
struct Target {
  std::string_view option, before;
};

// A degree or a size of the batch, by the key that field_words.h has for its names.
struct Degree {
  std::string_view key;
  std::array<Target, 4> targets;  // the first that the verb has
  std::string_view otherwise;     // said where it has none
};
std::span<const Degree> option_degrees();

// Other names for an option that takes a value.
struct OtherName {
  std::array<std::string_view, 14> typed;
  std::array<Target, 2> targets;  // the first that the verb has
};
std::span<const OtherName> other_option_names();

}  // namespace penstock
