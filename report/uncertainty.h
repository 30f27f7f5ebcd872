// The step on a machine that is not as even as its prices: a named scenario of slow parts, and
// jitter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/values/json.h"
#include "core/values/units.h"
#include "report/screen.h"

namespace penstock {

// The step under a scenario and without it. The busiest rank of the first pipeline binds.
struct ScenarioResult {
  std::string scenario;  // "rank 3 computes 1.3 times as long"
  Duration step_time{}, step_time_without{};
  std::size_t busiest_rank = 0, busiest_rank_without = 0;
  Duration work{}, work_without{};  // of those ranks
};

// Samples of the step time with jitter.
struct JitterResult {
  int samples = 0;
  std::uint64_t seed = 0;
  bool has_spreads = false;     // without them nothing deviates
  std::string assumed_percent;  // spread where none was measured; empty when nothing is assumed
  bool replicas_share = false;  // too many replicas to sample each by itself
  Duration step_time{};         // without jitter
  Duration low{}, median{}, high{};  // 5th, 50th, 95th percentile of the samples
};

Json to_json(const ScenarioResult& result);

// What was asked for.
struct Uncertainty {
  std::optional<ScenarioResult> scenario;
  std::optional<JitterResult> jitter;
};
// A section for each, behind an empty line; nothing when nothing was asked for.
std::string uncertainty_text(const Uncertainty& uncertainty, Screen screen);
// Appends the keys "scenario" and "jitter" to `json`, likewise.
void set_uncertainty(Json& json, const Uncertainty& uncertainty);

}  // namespace penstock
