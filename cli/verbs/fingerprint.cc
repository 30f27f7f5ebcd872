// The inputs are written out here: uneven prices from a fixed linear congruence, several shapes,
// two executors. The hash is over the end of every action, in nanoseconds, so it changes exactly
// when a prediction does. A commit that changes a hash has to say why.
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/options.h"
#include "cli/reports/fingerprint_plans.h"
#include "cli/verbs/verbs.h"
#include "core/values/json_reader.h"
#include "report/result_json.h"
#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock fingerprint
  penstock fingerprint --json
)";

// Unequal stages, from a fixed linear congruence: every price differs, none is round.
StagePrices uneven_prices(int stages) {
  std::uint64_t state = 1;
  const auto next = [&state](std::int64_t from) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return Duration{from + static_cast<std::int64_t>((state >> 33) % 1'000'000)};
  };
  StagePrices prices;
  prices.stages = stages;
  for (int s = 0; s < stages; ++s) {
    ComputePrice compute;
    compute.forward.duration = next(1'000'000);
    compute.input_gradient.duration = next(1'000'000);
    compute.weight_gradient.duration = next(500'000);
    compute.fused_backward.duration =
        compute.input_gradient.duration + compute.weight_gradient.duration;
    compute.recompute.duration = compute.forward.duration;
    compute.overlap_gain = compute.forward.duration / 4;
    compute.stash = Bytes{2};
    compute.weight_stash = Bytes{1};
    TransferPrice transfer;
    transfer.activation.duration = next(0);
    transfer.gradient.duration = next(0);
    StepPrice step;
    step.reduce_gradient.duration = next(2'000'000);
    step.optimizer.duration = next(100'000);
    prices.compute.push_back(compute);
    prices.transfer.push_back(transfer);
    prices.step.push_back(step);
  }
  return prices;
}

// A rule for run time knows no queues.
ExecutorModel uneven_executor(const ScheduleKind& kind) {
  ExecutorModel executor;
  if (kind.rule == RunTimeRule::kNone) executor.queues = QueueLayout::kPerPeer;
  executor.per_action = Duration{7'001};
  return executor;
}

Schedule schedule_of(const ScheduleKind& kind, const ScheduleShape& shape,
                     const StagePrices& prices) {
  if (!kind.is_automatic()) return make_schedule(kind.name, shape);
  StageCosts costs = stage_costs(prices, stage_ranks(kind.map, shape), {}, kind.recomputes);
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  costs.limit.assign(ranks, 2 * shape.ranks * prices.compute_of(0, 0).stash.count);
  return kind.arrange(shape, costs).schedule;
}

// The end of every action of a fixed list of programs, under two executor models.
std::string ends_of(const ScheduleKind& kind) {
  std::string text;
  for (const int ranks : {2, 4, 7}) {
    for (const int rounds : {1, 3}) {
      const ScheduleShape shape{ranks, kind.most_chunks == 0 ? 3 : kind.fewest_chunks,
                                ranks * rounds, 0, kind.has_slices ? 2 : 1};
      if (!why_no_schedule(kind, shape).empty()) continue;
      const StagePrices prices = uneven_prices(shape.ranks * shape.chunks);
      PipelineInput input{schedule_of(kind, shape, prices), {}, 1};
      input.micro_batches.resize(static_cast<std::size_t>(input.schedule.micro_batches));
      LoweringOptions options;
      options.step_actions = options.reduce_gradients = true;
      const Program program = lower({input}, options);
      for (const ExecutorModel& executor : {ExecutorModel{}, uneven_executor(kind)}) {
        for (const SimTime end : simulate(program, prices, executor).end) {
          text += fmt::format("{} ", end.time_since_epoch().count());
        }
      }
    }
  }
  return text;
}

}  // namespace

Answer run_fingerprint(const Arguments& arguments, Screen screen) {
  bool json = false;
  Options options("fingerprint [--json]",
                  "Prints one hash per schedule over the simulated times of a fixed list of "
                  "programs with uneven stages, and one for each of two whole plans: replicas "
                  "that share links, and ranks on two device types. A hash changes exactly when "
                  "such a prediction changes, so it compares two builds or two versions.",
                  kExamples);
  options.heading("Options");
  options.flag("--json", "the hashes as one JSON object", json);
  options.remark(
      {"device", "gpus", "cluster", "model", "config", "schedule", "global-batch", "gbs", "seq",
       "sequence-length", "plan", "profile", "file"},
      "it asks nothing and reads no file: penstock fingerprint prints hashes of what this "
      "build predicts, to compare two builds; a plan file names the hashes of what it "
      "was made from");
  options.remark({"diff", "compare", "against", "with"},
                 "it reads no file: sha256sum tells whether two plans are the same, and penstock "
                 "report A.json B.json -o report.html shows them side by side");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  std::string text;
  const auto add = [&text](std::string_view name, const std::string& times, Json& hashes) {
    const std::string hash = content_hash(times);
    text += fmt::format("{:<20}{}\n", name, hash);
    hashes.set(std::string(name), hash);
  };
  Json schedules = Json::object(), plans = Json::object();
  for (const ScheduleKind& kind : schedule_kinds()) add(kind.name, ends_of(kind), schedules);
  add("contention", times_with_contention(), plans);
  add("mixed-devices", times_of_mixed_plan(), plans);
  if (!json) return {text};
  Json object = answer_json("fingerprint");
  object.set("schedules", std::move(schedules));
  object.set("plans", std::move(plans));
  return json_answer(object);
}

}  // namespace penstock
