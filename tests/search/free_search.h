// What a search may never be beaten by, itself with less to choose from, on random models that are
// known by a number: the tests take the first 500, `free_search_range` any others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::testing {

enum class ModelSize {
  kSmall,  // up to 6 sections, 8 devices and 16 samples
  kLarge,  // up to 16 sections, 16 devices and 64 samples
};

// What is wrong, in words; empty when all holds.
//
// Questions with less to choose from (pins, names, memory, links, devices) find no faster plan, and
// how many plans are to be shown changes nothing.
std::vector<std::string> beaten_by_lesser_questions(std::uint64_t model, ModelSize size);
// The winner is found again by a search pinned to some of its own values, and the certificate is
// below it.
std::vector<std::string> winner_not_found_again(std::uint64_t model, ModelSize size);
// Both of a search for a random trainer, on a model whose sections are named as trainers count
// them; and every plan is one that the trainer can run.
std::vector<std::string> wrong_for_a_trainer(std::uint64_t model, ModelSize size);

// Asked for what is faster than a limit, the search finds its own winner where that is, and nothing
// where that takes as long.
std::vector<std::string> not_found_as_faster(std::uint64_t model, ModelSize size);

// With gradients in buckets and experts: no pin of a way to shard or of ranks of experts, and no
// trainer, finds a faster plan than the free search; and the winner is found again. ETP = 2 is
// searched only where it is pinned, so that this is no law for it; it never paid on these models.
std::vector<std::string> beaten_by_rare_pins(std::uint64_t model, ModelSize size);

}  // namespace penstock::testing
