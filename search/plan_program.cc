#include "search/plan_program.h"

#include <algorithm>

#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

ScheduleShape shape_of(const Plan& plan, int micro_batches) {
  return {plan.pipeline, plan.chunks, micro_batches, plan.group, 1};
}

std::vector<MicroBatch> micro_batches_of(const Plan& plan, const ReplicaLoad& load,
                                         const std::vector<int>& shapes) {
  std::vector<MicroBatch> list;
  list.reserve(static_cast<std::size_t>(load.micro_batches));
  for (int left = load.samples; left > 0; left -= plan.micro_batch_size) {
    MicroBatch micro_batch;
    micro_batch.samples = std::min(left, plan.micro_batch_size);
    micro_batch.sequence_length = plan.sequence_length;
    micro_batch.loss_weight = micro_batch.samples;
    micro_batch.shape = static_cast<int>(
        std::find(shapes.begin(), shapes.end(), micro_batch.samples) - shapes.begin());
    list.push_back(micro_batch);
  }
  return list;
}

// From this many micro-batches on, one more repeats the steady state (or, where all are held, adds
// one to every count). 0: no such number is known, use them all.
int enough_micro_batches(const Plan& plan, int micro_batches) {
  const int p = plan.pipeline;
  if (plan.schedule != "interleaved") return p + 1;
  if (plan.group > 0) return micro_batches % plan.group == 0 ? 3 * plan.group : 0;
  // PyTorch's rule: M / P rounds of equal size; keep the size.
  const int rounds = std::max(1, micro_batches / p);
  return 2 * (micro_batches / rounds);
}

}  // namespace

std::vector<ReplicaLoad> replica_loads(const Plan& plan) {
  std::vector<ReplicaLoad> loads;
  const int longer = plan.global_batch % plan.data;
  const int samples = plan.global_batch / plan.data;
  const auto add = [&](int replicas, int size) {
    if (replicas == 0) return;
    loads.push_back({replicas, size, (size + plan.micro_batch_size - 1) / plan.micro_batch_size});
  };
  add(longer, samples + 1);
  add(plan.data - longer, samples);
  return loads;
}

std::string why_no_program(const Plan& plan) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  if (kind == nullptr) return "unknown schedule '" + plan.schedule + "'";
  for (const ReplicaLoad& load : replica_loads(plan)) {
    if (auto reason = why_no_schedule(*kind, shape_of(plan, load.micro_batches)); !reason.empty()) {
      return reason;
    }
  }
  return "";
}

Program program_of(const Plan& plan, const std::vector<PlanTie>& ties, bool recomputes,
                   const ExecutorModel& executor) {
  const auto shapes = micro_batch_shapes(plan);
  std::vector<PipelineInput> pipelines;
  for (const ReplicaLoad& load : replica_loads(plan)) {
    pipelines.push_back({make_schedule(plan.schedule, shape_of(plan, load.micro_batches)),
                         micro_batches_of(plan, load, shapes), load.replicas});
  }
  LoweringOptions options;
  options.recompute = recomputes;
  options.issue = executor.issue;
  options.step_actions = true;
  options.reduce_gradients = plan.data > 1;
  options.unshard = plan.zero1 && plan.data > 1;
  options.optimizer = executor.optimizer;
  for (const PlanTie& tie : ties) options.tied.push_back({tie.name, tie.stages});
  return lower(pipelines, options);
}

int telling_micro_batches(const Plan& plan) {
  const int micro_batches = replica_loads(plan).front().micro_batches;
  const int enough = enough_micro_batches(plan, micro_batches);
  return enough == 0 ? micro_batches : std::min(enough, micro_batches);
}

TellingLiveness liveness_of_telling(const Plan& plan) {
  const int telling = telling_micro_batches(plan);
  const auto with = [&](int micro_batches) {
    return liveness(make_schedule(plan.schedule, shape_of(plan, micro_batches)));
  };
  TellingLiveness result{with(telling), {}};
  const bool grows = find_schedule(plan.schedule)->holds_all_micro_batches;
  if (grows && telling == enough_micro_batches(plan, telling)) result.one_more = with(telling + 1);
  return result;
}

std::vector<RankLiveness> grown_to(const Plan& plan, const TellingLiveness& telling) {
  std::vector<RankLiveness> ranks = telling.ranks;
  if (telling.one_more.empty()) return ranks;
  const int more = replica_loads(plan).front().micro_batches - telling_micro_batches(plan);
  const auto grow_all = [more](std::vector<std::int32_t>& counts,
                               const std::vector<std::int32_t>& next) {
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += more * (next[c] - counts[c]);
  };
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankLiveness& rank = ranks[r];
    const RankLiveness& next = telling.one_more[r];
    rank.peak_chunks += more * (next.peak_chunks - rank.peak_chunks);
    for (std::size_t i = 0; i < rank.peaks.size(); ++i) {  // all held: as many peaks for every M
      grow_all(rank.peaks[i].stash, next.peaks[i].stash);
    }
    grow_all(rank.activation_receives, next.activation_receives);
    grow_all(rank.gradient_receives, next.gradient_receives);
  }
  return ranks;
}

std::vector<RankLiveness> liveness_of(const Plan& plan) {
  return grown_to(plan, liveness_of_telling(plan));
}

}  // namespace penstock
