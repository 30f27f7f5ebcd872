// What is asked of a search by options that it has not, and that another verb answers: how many
// GPUs keep a deadline, what samples of different lengths take, what a recording of GPUs that come
// and go leaves.
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// The whole command for each, with what was typed; empty where the words do not ask so.
std::string deadline_asked(const Arguments& words);
std::string lengths_asked(const Arguments& words);

// Of so many samples the tokens, by the mean length in the first lines of the file; empty of other
// files.
std::string tokens_of_batch(const std::string& lengths, const std::string& samples);

// "; lengths.csv is not there yet, and has ..": what such a file holds, and how to write one; empty
// where it is there.
std::string remark_on_lengths(const std::string& file);
inline constexpr const char* kLengthsFile = "lengths.csv";  // where none was named

// "dynamic config.json --global-batch 64": batches are counted in tokens there, and nothing is
// planned without the lengths.
void refuse_batch_of_samples(const OptionTable& table, const Arguments& words);

}  // namespace penstock
