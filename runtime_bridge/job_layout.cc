// Ranks are numbered by the plan's placement: pipeline ranks first, or replicas first. Replicas of
// one shape share a pipeline of the Program; their samples follow each other in the order of
// replicas. The groups are listed in one order (job, holders of weight sets, ties, replicas of tied
// stages) and by names, so every rank forms the same communicators in the same order. A plan whose
// Program disagrees with it is refused here.
#include "runtime_bridge/job_layout.h"

#include <algorithm>
#include <numeric>

#include "core/values/error.h"

namespace penstock {
namespace {

int samples_of(const Program& program, const Pipeline& pipeline) {
  const auto begin = program.micro_batches.begin() + pipeline.first_micro_batch;
  return std::accumulate(
      begin, begin + pipeline.micro_batches, 0,
      [](int sum, const MicroBatch& micro_batch) { return sum + micro_batch.samples; });
}

}  // namespace

JobLayout::JobLayout(const PlanFile& file) : file_(file) {
  place_replicas();
  find_holders();
}

void JobLayout::place_replicas() {
  const Plan& plan = file_.plan;
  int first_sample = 0;
  for (std::size_t k = 0; k < file_.program.pipelines.size(); ++k) {
    const Pipeline& pipeline = file_.program.pipelines[k];
    if (pipeline.ranks != plan.pipeline || pipeline.stages != plan.stages()) {
      throw_bad_input("the plan has " + std::to_string(plan.pipeline) + " pipeline ranks and " +
                      std::to_string(plan.stages()) + " stages, a pipeline of its Program " +
                      std::to_string(pipeline.ranks) + " and " + std::to_string(pipeline.stages) +
                      "; `penstock check` says what is wrong");
    }
    const int samples = samples_of(file_.program, pipeline);
    for (int copy = 0; copy < pipeline.replicas; ++copy) {
      const auto replica = static_cast<int>(pipelines_.size());
      if (replica >= plan.data || samples != samples_of_replica(plan, replica)) {
        throw_bad_input("replica " + std::to_string(replica) + " has " + std::to_string(samples) +
                        " samples in the Program, which is not its share of a batch of " +
                        std::to_string(plan.global_batch) + " over " + std::to_string(plan.data) +
                        " replicas; `penstock check` says what is wrong");
      }
      pipelines_.push_back(static_cast<int>(k));
      first_samples_.push_back(first_sample);
      first_sample += samples;
    }
  }
  if (static_cast<int>(pipelines_.size()) != plan.data) {
    throw_bad_input("the Program has " + std::to_string(pipelines_.size()) +
                    " replicas, the plan " + std::to_string(plan.data) +
                    "; `penstock check` says what is wrong");
  }
}

void JobLayout::find_holders() {
  for (int replica = 0; replica < file_.plan.data; ++replica) {
    for (int s = 0; s < stages(); ++s) {
      const auto set = static_cast<std::size_t>(stage(replica, s).weight_set);
      if (set >= holders_.size()) holders_.resize(set + 1);
      holders_[set].push_back(rank_of_stage(replica, s));
    }
  }
  for (std::size_t set = 0; set < holders_.size(); ++set) {
    std::vector<int>& ranks = holders_[set];
    std::sort(ranks.begin(), ranks.end());
    const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
    if (twice == ranks.end()) continue;
    throw_bad_input("rank " + std::to_string(*twice) + " holds two copies of weight set " +
                    std::to_string(set) +
                    ", which training does not support; use an even number of pipeline ranks");
  }
}

int JobLayout::rank_of(int replica, int pipeline_rank) const {
  const Plan& plan = file_.plan;
  return plan.placement == Placement::kPipelineInner ? replica * plan.pipeline + pipeline_rank
                                                     : pipeline_rank * plan.data + replica;
}
int JobLayout::replica_of(int rank) const {
  const Plan& plan = file_.plan;
  return plan.placement == Placement::kPipelineInner ? rank / plan.pipeline : rank % plan.data;
}
int JobLayout::pipeline_rank_of(int rank) const {
  const Plan& plan = file_.plan;
  return plan.placement == Placement::kPipelineInner ? rank % plan.pipeline : rank / plan.data;
}

const Stage& JobLayout::stage(int replica, int s) const {
  const auto k = static_cast<std::size_t>(pipeline_of(replica));
  const auto first = file_.program.stages.begin() + file_.program.pipelines[k].first_stage;
  return first[s];
}

int JobLayout::rank_of_stage(int replica, int s) const {
  const auto k = static_cast<std::size_t>(pipeline_of(replica));
  return rank_of(replica, stage(replica, s).rank.value - file_.program.pipelines[k].first_rank);
}

std::vector<int> JobLayout::replicas_of_stage(int s) const {
  std::vector<int> ranks;
  ranks.reserve(pipelines_.size());
  for (int replica = 0; replica < file_.plan.data; ++replica) {
    ranks.push_back(rank_of_stage(replica, s));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

std::vector<int> JobLayout::holders_of_tie(std::size_t tie, int replica) const {
  std::vector<int> ranks;
  ranks.reserve(file_.ties[tie].stages.size());
  for (const int s : file_.ties[tie].stages) ranks.push_back(rank_of_stage(replica, s));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

bool JobLayout::is_tied(int s) const {
  return std::any_of(file_.ties.begin(), file_.ties.end(), [s](const PlanTie& tie) {
    return std::find(tie.stages.begin(), tie.stages.end(), s) != tie.stages.end();
  });
}

std::string JobLayout::holders_name(int weight_set) {
  return "dp.stage" + std::to_string(weight_set);
}
int JobLayout::shard_groups() const {
  const Plan& plan = file_.plan;
  return plan.shards() > 1 ? plan.weight_copies() / plan.shards() : 1;
}
std::string JobLayout::shards_name(int weight_set, int group) {
  return holders_name(weight_set) + ".shards" + std::to_string(group);
}
std::string JobLayout::copies_name(int weight_set, int shard) {
  return holders_name(weight_set) + ".copies" + std::to_string(shard);
}
std::string JobLayout::replicas_name(int s) { return "dp.stage" + std::to_string(s) + ".tied"; }
std::string JobLayout::tie_name(std::size_t tie, int replica) const {
  return tied_group_name(file_.ties[tie].name) + ".replica" + std::to_string(replica);
}

std::vector<CommunicatorSetup> JobLayout::groups() const {
  std::vector<CommunicatorSetup> groups;
  const auto add = [&groups](const std::string& name, std::vector<int> members) {
    if (members.size() > 1) groups.push_back({name, std::move(members)});
  };
  std::vector<int> all(static_cast<std::size_t>(ranks()));
  std::iota(all.begin(), all.end(), 0);
  add(job_name(), std::move(all));
  for (std::size_t set = 0; set < holders_.size(); ++set) {
    add(holders_name(static_cast<int>(set)), holders_[set]);
  }
  for (std::size_t set = 0; shard_groups() > 1 && set < holders_.size(); ++set) {
    const std::vector<int>& holders = holders_[set];
    const std::size_t count = holders.size();
    const std::size_t shards = count / static_cast<std::size_t>(shard_groups());
    for (std::size_t g = 0; g < count / shards; ++g) {
      const auto first = holders.begin() + static_cast<std::ptrdiff_t>(g * shards);
      add(shards_name(static_cast<int>(set), static_cast<int>(g)),
          {first, first + static_cast<std::ptrdiff_t>(shards)});
    }
    for (std::size_t shard = 0; shard < shards; ++shard) {
      std::vector<int> members;
      for (std::size_t i = shard; i < count; i += shards) members.push_back(holders[i]);
      add(copies_name(static_cast<int>(set), static_cast<int>(shard)), std::move(members));
    }
  }
  for (std::size_t tie = 0; tie < file_.ties.size(); ++tie) {
    for (int replica = 0; replica < file_.plan.data; ++replica) {
      add(tie_name(tie, replica), holders_of_tie(tie, replica));
    }
  }
  for (int s = 0; s < stages(); ++s) {
    if (is_tied(s)) add(replicas_name(s), replicas_of_stage(s));
  }
  return groups;
}

}  // namespace penstock
