// A recording of GPUs that come and go, as it was typed or could be written: what morph replays.
#pragma once

#include <string>

#include "cli/io/answer.h"

namespace penstock {

inline constexpr const char* kTrace = "trace.csv";  // where none was named

// So many GPUs in one hour after the other, as a command that writes it into the file.
std::string command_of_recording(const Arguments& gpus, const std::string& file);

// "8,6,4,8" behind --gpus: numbers that rise and fall are no set of plans, but what happens one
// after the other. Empty of others.
Arguments course_in(const Arguments& words);
// Each of them once, ascending: "4,6,8".
std::string numbers_in(const Arguments& course);

// "4..8" of a recording with as many GPUs at least and at most; empty of what is none.
std::string range_of_recording(const std::string& path);

// The recording that was typed, with its option, with one that morph has not, or without.
struct TypedTrace {
  std::string file;    // empty: none
  std::string option;  // where it is none of morph's
};
TypedTrace trace_in(const Arguments& words);
// "; --spot-trace is called --trace here; my.csv is not there yet: ..", and how to write one of so
// many GPUs.
std::string remark_on_trace(const TypedTrace& trace, int gpus);

}  // namespace penstock
