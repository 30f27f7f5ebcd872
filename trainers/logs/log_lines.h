// What the readers of trainers' logs share: text as lines, and the numbers in them. Private to
// trainers/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/units.h"
#include "report/imports/printed_number.h"
#include "trainers/logs/trainer_log.h"

namespace penstock {

struct TextLine {
  int number = 0;    // counted from 1
  int rank = -1;     // of a prefix such as "[rank3]:" or "3: "; -1: none
  std::string text;  // without colours, the end of the line and the prefix
};

struct LogText {
  std::vector<TextLine> lines;
  bool cut_off = false;  // a last line without its end is left out: a number in it may be cut, too
};
LogText lines_of(std::string_view text);

// A line that reports a step, or the mean of several.
struct LogLine {
  int number = 0, rank = -1;
  std::int64_t iteration = 0;
  Duration step_time{};             // Megatron-LM
  double tokens_per_s_per_gpu = 0;  // torchtitan
  double loss = 0.0, gradient_norm = 0.0;
  std::int64_t batch = 0;  // samples per step; 0: not said
  std::int64_t skipped = 0, not_a_number = 0;
};

// "pipeline ranks" -> {8, line 12}: what the log says of the job, under the words of messages.
struct LogFact {
  std::int64_t value = 0;
  int line = 0;
};

struct LogContents {
  std::vector<LogLine> lines;
  std::vector<LoggedMemory> memory;  // one per rank, ascending
  std::map<std::string, LogFact, std::less<>> facts;
  std::string started;               // "2024-05-01 12:00:00", on the clock of the run; may be empty
  int broken = 0, first_broken = 0;  // lines that were cut off or written into each other
  int idle = 0;                      // of torchtitan: lines whose speed is rounded to 0
};

inline constexpr const char* kBatch = "samples per step";
inline constexpr const char* kMicroBatch = "samples per micro-batch";
inline constexpr const char* kSequence = "tokens per sample";
inline constexpr const char* kPipeline = "pipeline ranks";
inline constexpr const char* kTensor = "tensor-parallel ranks";
inline constexpr const char* kWorld = "ranks";
// Those that no plan is held against.
inline constexpr const char* kContext = "context-parallel ranks";
inline constexpr const char* kExperts = "expert-parallel ranks";
inline constexpr const char* kChunks = "virtual stages per rank";
inline constexpr const char* kSharded = "sharded optimizer";  // 1 or 0
inline constexpr const char* kRecompute = "recompute";        // 0 none, 1 selective, 2 full

// Of steps, and of what is counted in a line: sums of it stay inside 64 bits.
inline constexpr std::int64_t kMostCounted = 1'000'000'000;

// The number that follows `label` in `line`, after blanks.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view label);
// The first "2024-05-01 12:00:00" of a line; empty without one.
std::string time_in(std::string_view line);
// Keeps the larger figures of a rank.
void keep_memory(std::vector<LoggedMemory>& memory, const LoggedMemory& found);
// "FILE:LINE: LABEL: expected WHAT, got VALUE" and the remedy, as Error{kBadInput}.
[[noreturn]] void bad_log_value(const std::string& file, int line, std::string_view label,
                                std::string_view what, std::string_view value);

}  // namespace penstock
