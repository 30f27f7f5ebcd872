// What a training run measured: penstock.run/1, one JSON object per line. The first line says what
// ran, each further line is one step; with --timeline a step also holds when every action ran, so
// that a measured step lies on top of the predicted one action by action.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/units.h"

namespace penstock {

// In place of a time: a trace of another trainer need not hold every action.
inline constexpr Duration kNotMeasured{-1};

// What a section gathered (UNSHARD) or reduced (REDUCE_GRAD) by itself, in the middle of a forward
// or backward.
struct MeasuredSection {
  ActionKind kind = ActionKind::kUnshard;
  int section = 0;
  Duration start{}, end{};
  bool operator==(const MeasuredSection&) const = default;
};

// One rank of the job in one step: entry i belongs to the i-th action of the rank's list in the
// Program. Times count from the start of the step, which is the same moment for all ranks. Of a
// transfer: from its posting to its end as far as the transport knows it. An action that was not
// measured has kNotMeasured in both.
struct MeasuredRank {
  int rank = 0;           // of the job
  int pipeline = 0;       // index into Program::pipelines
  int pipeline_rank = 0;  // 0..P-1
  std::vector<Duration> start, end;
  std::vector<MeasuredSection> sections{};  // in the order in which they began; seldom any
  bool operator==(const MeasuredRank&) const = default;
};

// Of the rank on which they took longest.
struct StepPhases {
  Duration compute{};    // F, I, W, B, R
  Duration waiting{};    // for receives
  Duration reducing{};   // from the last compute action to the norm's end
  Duration optimizer{};  // OPT and UNSHARD
  bool operator==(const StepPhases&) const = default;
};

// The loss on data that are not trained on, after a step.
struct MeasuredEvaluation {
  double loss = 0.0;
  Duration time{};
  bool operator==(const MeasuredEvaluation&) const = default;
};

struct MeasuredStep {
  std::int64_t step = 0;
  double loss = 0.0;
  double gradient_norm = 0.0;
  bool skipped = false;  // the optimizer step: fp16 overflow
  std::int64_t tokens = 0;
  Duration step_time{};  // from the first start to the last end over all ranks
  StepPhases phases;
  std::vector<Duration> rank_compute;            // F, I, W, B, R, of every rank; empty: not said
  std::optional<double> learning_rate;           // not of ranks that sleep
  std::optional<MeasuredEvaluation> evaluation;  // where there was one
  std::vector<MeasuredRank> ranks;               // with --timeline, ascending ranks; else empty
  std::string plan, plan_hash;                   // that it ran under; empty: as the header says
  bool operator==(const MeasuredStep&) const = default;
};

// Where and how it ran.
struct RunHeader {
  std::string model;
  std::string plan;       // path as given
  std::string plan_hash;  // content_hash() of the plan file
  std::string tool_version;
  std::string transport;      // "loopback", "gloo", "nccl"
  std::string device;         // "cpu", "NVIDIA H200"; "virtual" for ranks that sleep
  std::string host, started;  // "2026-11-22T01:02:03Z"
  std::string library;        // "LibTorch 1.13.1"
  std::string precision;
  int ranks = 1;
  int threads_per_rank = 1;
  std::int64_t first_step = 0;
  bool operator==(const RunHeader&) const = default;
};

struct RunLog {
  RunHeader header;
  std::vector<MeasuredStep> steps;
  bool operator==(const RunLog&) const = default;
};

// Each a line, without its newline.
std::string write_run_header(const RunHeader& header);
std::string write_measured_step(const MeasuredStep& step);

// A last line without a newline is a run that was cut off in the middle of writing: it is left out.
// Error{kBadInput} for anything else that is malformed.
RunLog read_run_log(std::string_view text, const std::string& file);

}  // namespace penstock
