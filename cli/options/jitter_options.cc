// The step is replayed with durations drawn from the measured spreads. A sample is a lane of
// replay_lanes(): eight advance together, and a lane depends on seed and number alone, so the
// percentiles are the same for any number of threads. Replicas are expanded, each with samples of
// its own, unless that would be more than 4 million actions.
#include "cli/options/jitter_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "cli/options/search_options.h"
#include "cli/words/parse.h"
#include "search/evaluation.h"
#include "search/in_parallel.h"
#include "simulator/events/expand_replicas.h"
#include "simulator/jitter.h"
#include "simulator/order_statistics.h"
#include "simulator/replay.h"
#include "simulator/replay_lanes.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr int kMostSamples = 100'000;
// So many samples advance together in one replay.
constexpr std::size_t kLanesAtOnce = 8;
// All replicas together: beyond, they share their samples.
constexpr std::int64_t kMostActions = std::int64_t{1} << 22;

bool has_replicas(const Program& program) {
  return std::any_of(program.pipelines.begin(), program.pipelines.end(),
                     [](const Pipeline& pipeline) { return pipeline.replicas > 1; });
}

bool can_expand(const Program& program) {
  std::int64_t replicas = 1, stages = 0;
  for (const Pipeline& pipeline : program.pipelines) {
    replicas = std::max<std::int64_t>(replicas, pipeline.replicas);
    stages += std::int64_t{pipeline.stages} * pipeline.replicas;
  }
  return stages < kNoStage.value && std::ssize(program.actions) <= kMostActions / replicas;
}

StagePrices with_assumption(const StagePrices& prices, const std::optional<std::string>& percent) {
  if (!percent) return prices;
  const auto assumed = parse_factor(*percent);
  if (!assumed || *assumed > Factor{100'000'000}) {
    bad_option("--jitter-percent", "'" + *percent + "' is not a percentage",
               "give a number from 0 to 100");
  }
  return with_assumed_spreads(prices, Factor{(assumed->millionths + 99) / 100});
}

// Of what is sampled: with all replicas, if they are expanded. Measured on one core; samples
// advance together where transfers occupy nothing and no rule changes the order.
void refuse_endless(std::int64_t samples, const Program& program, const ExecutorModel& executor) {
  constexpr std::int64_t kMostSeconds = 120;
  const bool together = program.rule == RunTimeRule::kNone && straight_replay_is_exact(executor);
  const std::int64_t per_second = together ? 400'000'000 : 30'000'000;
  const std::int64_t actions = std::ssize(program.actions), all = samples * actions;
  if (all <= kMostSeconds * per_second) return;
  bad_option(
      "--samples",
      fmt::format("{} of {} actions each take some {} minutes of a core", samples, actions,
                  (all / per_second + 59) / 60),
      fmt::format("at most {}, or fewer micro-batches", kMostSeconds * per_second / actions));
}

// A lane depends on its number alone, so it does not matter which thread replays it. Lanes that one
// thread takes share the reading of the Program.
std::vector<Duration> steps_of(const Program& program, const StagePrices& prices,
                               const JitteredLanes& lanes, const ExecutorModel& executor) {
  const int threads = default_threads();
  const std::size_t share = lanes.lanes / static_cast<std::size_t>(threads) + 1;
  const std::size_t each = (share + kLanesAtOnce - 1) / kLanesAtOnce * kLanesAtOnce;
  std::vector<Duration> steps(lanes.lanes);
  in_parallel(threads, (lanes.lanes + each - 1) / each, [&](std::size_t part) {
    const std::size_t first = part * each;
    const JitteredLanes some{lanes.seed, lanes.first_lane + first,
                             std::min(each, lanes.lanes - first)};
    std::size_t lane = first;
    for (const auto& summary : replay_jittered(program, prices, some, executor)) {
      steps[lane++] = step_time_of(summary, executor);
    }
  });
  return steps;
}

}  // namespace

void JitterOptions::declare(Options& options) {
  options.flag("--jitter",
               "replay the step many times with durations that vary as they did in the "
               "measurement; prints the median and the 5th and 95th percentile",
               jitter);
  options.option("--jitter-percent", "N",
                 "the same, and assume a spread of N % where none was measured", percent);
  options.option("--samples", "N", "how many steps to sample; default 200", samples);
  options.option("--seed", "N", "seed of the random numbers; default 1", seed);
}

bool JitterOptions::given() const {
  if (jitter || percent) return true;
  if (samples || seed) {
    bad_option(samples ? "--samples" : "--seed", "there is no jitter to sample", "add --jitter");
  }
  return false;
}

JitterResult JitterOptions::sampled(const Program& program, const StagePrices& prices,
                                    const ExecutorModel& executor) const {
  JitterResult result;
  result.samples = samples ? parse_int("--samples", *samples, 1, kMostSamples) : 200;
  result.seed = seed ? static_cast<std::uint64_t>(parse_int("--seed", *seed, 0)) : 1;
  result.assumed_percent = percent.value_or("");
  const StagePrices uneven = with_assumption(prices, percent);
  result.has_spreads = has_spreads(uneven);
  result.replicas_share = has_replicas(program) && !can_expand(program);
  std::optional<Program> expanded;
  if (has_replicas(program) && !result.replicas_share) expanded = expand_replicas(program);
  const Program& each = expanded ? *expanded : program;
  refuse_endless(result.samples, each, executor);
  result.step_time = step_time_of(simulate_summary(program, prices, executor), executor);
  const JitteredLanes lanes{result.seed, 0, static_cast<std::size_t>(result.samples)};
  const StepInterval interval = interval_of(steps_of(each, uneven, lanes, executor));
  result.low = interval.low;
  result.median = interval.median;
  result.high = interval.high;
  return result;
}

}  // namespace penstock
