// Which rank of the job runs what of a plan, and which ranks reduce together. Private to
// runtime_bridge/.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/values/plan_file.h"
#include "runtime_bridge/rank_program.h"

namespace penstock {

class JobLayout {
 public:
  // `file` must live as long. Error{kBadInput} for a plan that cannot be laid out.
  explicit JobLayout(const PlanFile& file);

  [[nodiscard]] int ranks() const { return file_.plan.pipeline * file_.plan.data; }
  [[nodiscard]] int rank_of(int replica, int pipeline_rank) const;
  [[nodiscard]] int replica_of(int rank) const;
  [[nodiscard]] int pipeline_rank_of(int rank) const;
  [[nodiscard]] int pipeline_of(int replica) const {
    return pipelines_[static_cast<std::size_t>(replica)];
  }
  [[nodiscard]] int first_sample_of(int replica) const {
    return first_samples_[static_cast<std::size_t>(replica)];
  }
  // The stage `s` of a replica's pipeline, and the rank of the job that holds it.
  [[nodiscard]] const Stage& stage(int replica, int s) const;
  [[nodiscard]] int rank_of_stage(int replica, int s) const;
  [[nodiscard]] int stages() const { return file_.plan.stages(); }

  // Ascending ranks of the job. Holders of a weight set: the position is the holder's number.
  [[nodiscard]] const std::vector<int>& holders(int weight_set) const {
    return holders_[static_cast<std::size_t>(weight_set)];
  }
  [[nodiscard]] std::vector<int> replicas_of_stage(int s) const;
  [[nodiscard]] std::vector<int> holders_of_tie(std::size_t tie, int replica) const;
  [[nodiscard]] bool is_tied(int s) const;

  // Every group of the job with at least two members, in the order in which ranks form them.
  [[nodiscard]] std::vector<CommunicatorSetup> groups() const;
  [[nodiscard]] static std::string job_name() { return "job"; }
  [[nodiscard]] static std::string holders_name(int weight_set);
  // Where what is sharded lies in several groups of holders (HSDP): one of them, and those that
  // have the same shard.
  [[nodiscard]] int shard_groups() const;
  [[nodiscard]] static std::string shards_name(int weight_set, int group);
  [[nodiscard]] static std::string copies_name(int weight_set, int shard);
  [[nodiscard]] static std::string replicas_name(int s);
  [[nodiscard]] std::string tie_name(std::size_t tie, int replica) const;

 private:
  void place_replicas();
  void find_holders();

  const PlanFile& file_;
  std::vector<int> pipelines_;      // [replica]
  std::vector<int> first_samples_;  // [replica]
  std::vector<std::vector<int>> holders_;
};

}  // namespace penstock
