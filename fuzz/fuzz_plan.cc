// Plan files: what is accepted can be checked and replayed, and the checker, the fast engine
// and the general one agree on what it takes.
#include <algorithm>

#include "core/check/check.h"
#include "core/values/plan_file.h"
#include "fuzz/fuzz.h"
#include "search/evaluate.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

using fuzz::require;

// A few kilobytes may stand for millions of actions, and the fuzzer wants thousands of inputs a
// second.
constexpr std::uint64_t kMostActionsTried = 4096;

void check_order(const Program& program) {
  for (std::size_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    require(action.stage.value < program.stages.size(), "a stage that does not exist");
    require(action.micro_batch == kNoMicroBatch ||
                action.micro_batch.value < program.micro_batches.size(),
            "a micro-batch that does not exist");
    require(action.group == kNoGroup || action.group.value < program.groups.size(),
            "a group that does not exist");
    require(action.waits_for == kWaitsForNothing || action.waits_for < i,
            "an action comes before what it waits for");
  }
  for (const Wait& wait : program.more_waits) {
    require(wait.needs < wait.action && wait.action < program.actions.size(),
            "an action comes before what it waits for");
  }
}

void check_replay(const PlanFile& file, const CheckReport& report) {
  const Replayed replayed = replay_plan_file(file);
  if (file.program.rule == RunTimeRule::kNone) {  // with a rule there is one engine
    const Timeline general = simulate_by_worklist(file.program, file.prices, file.executor);
    require(replayed.timeline == general, "the two engines differ");
  }
  require(replayed.evaluation.step_time >= Duration{}, "a negative step time");
  for (const RankEvaluation& rank : replayed.evaluation.ranks) {
    require(rank.memory.total() >= Bytes{}, "negative memory");
  }
  if (!report.findings.empty()) return;
  require(report.replayed == replayed.evaluation.step_time, "the checker's replay differs");
  require(report.replayed == file.prediction.step_time, "the prediction differs");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto read = [](const Json& json) {
    return read_plan(json, fuzz::kFile, kMostActionsTried);
  };
  const auto file = fuzz::accepted_and_kept(data, size, read, write_plan);
  if (!file) return 0;
  check_order(file->program);
  const CheckReport report = check(*file);
  // Queues and gates of the executor model may deadlock what the lists alone do not.
  const bool replayed =
      fuzz::unless_refused([&] { return check_replay(*file, report), true; }).value_or(false);
  require(replayed || !report.findings.empty(), "no findings, but it cannot be replayed");
  return 0;
}
