// What the name of an option says, whatever other tool it is from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// The ways to read a name: as it is, without the section of torchtitan's names (training.steps),
// without what trainers put around one (use-, num-, -size, -degree), as one or as several.
std::vector<std::string> spellings_of(const std::string& word);

// What is counted on one GPU, one device or one rank, whatever else the name says.
bool is_of_one(std::string_view word);

// Samples of the training: "batch-size", "seqs-per-step"; of one GPU they are a micro-batch.
bool is_batch(std::string_view word);
// Both: "per-device-train-batch-size".
bool is_batch_of_one(std::string_view word);

// ZeRO's stage, also as a key of DeepSpeed's configuration.
bool is_zero(std::string_view word);

}  // namespace penstock
