// What a file is that is there, by what stands in it, and the command that takes it.
#pragma once

#include <string>
#include <string_view>

#include "cli/io/answer.h"

namespace penstock {

struct FileAtHand {
  std::string_view words;  // "a recording of GPUs that come and go"; empty: nothing is known of it
  std::string use;         // "penstock morph --book book.json --trace my.csv replays it"
};
// `typed`: options, of which the command gets those that it takes.
FileAtHand file_at_hand(const std::string& path, const Arguments& typed = {});

// A file with the length of a sample a line, and a list of PyTorch's pipeline actions.
bool is_lengths_file(const std::string& path);
bool is_actions_file(const std::string& path);
// "time_s,gpus": of GPUs that come and go.
bool is_recording(const std::string& path);

// Error{kBadInput} where the first argument is a file that the verb does not take and another one
// does: a table of nccl-tests for plan, a book for devices. `takes`: what the verb is given first
// ("PLAN"). Files of which nothing is known are left to their readers.
void refuse_file_at_hand(const std::string& verb, const std::string& takes,
                         const Arguments& arguments);

}  // namespace penstock
