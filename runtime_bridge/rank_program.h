// A plan file from the point of view of one rank of the job: what it holds, with whom it talks, and
// its list of actions in issue order. Pure; execute_step.h carries it out.
//
// Rank of the job: with pipeline_inner replica * P + pipeline rank, with data_inner pipeline rank *
// D + replica. Replicas run the distinct pipelines of the Program in order, each as often as it
// says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/plan_file.h"
#include "core/values/run_time_rule.h"
#include "training/rank_setup.h"
#include "training/transport.h"

namespace penstock {

inline constexpr int kNone = -1;  // where there is no rank, communicator, tie or action

// Entry i of a rank's list belongs to the i-th action of its list in the Program. Stages and
// micro-batches are counted within the pipeline.
struct RankAction {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;
  int micro_batch = kNone;
  int peer = kNone;       // of transfers: the other rank of the job
  MessageTag tag = 0;     // of transfers
  int needs = kNone;      // of compute: the receive of this list that brings its input
  bool hands_on = false;  // of compute: what it makes is for a neighbouring stage on this rank
  int tie = kNone;        // of TIED_REDUCE
  bool operator==(const RankAction&) const = default;
};

// An action of the list that another one waits for, besides RankAction::needs: what stages in slots
// need, and what the plan file lists.
struct RankWait {
  int action = 0, needs = 0;
  bool operator==(const RankWait&) const = default;
};
// Likewise, of different ranks: when the compute action that is needed has ended, its rank sends a
// byte, and the other one waits for it.
struct RankSignal {
  int action = 0;  // of this rank: what sends, or waits
  int peer = kNone;
  MessageTag tag = 0;
  bool sends = false;
  bool operator==(const RankSignal&) const = default;
};

// A group that this rank is a member of, to be formed in the order of the list. There is none for a
// group of one.
struct CommunicatorSetup {
  std::string name;          // "job", "dp.stage0", "tied.embedding.replica1", "dp.stage0.tied"
  std::vector<int> members;  // ranks of the job, ascending
  bool operator==(const CommunicatorSetup&) const = default;
};

// Which communicators a stage of this rank reduces over: indices, kNone where it is alone.
struct StageGroups {
  int holders = kNone;    // of its weights, in all copies and replicas
  int shards = kNone;     // of what is sharded: all holders, or this rank's group of them (HSDP)
  int copies = kNone;     // of this rank's shard, in all such groups; kNone where there is one
  int replicas = kNone;   // of this very stage: for weights that TIED_REDUCE has summed already
  std::vector<int> ties;  // that it has a part in
  bool operator==(const StageGroups&) const = default;
};
struct TieGroups {
  int communicator = kNone;     // of the ranks of this replica with such stages
  std::vector<int> own_stages;  // of this rank, ascending
  bool operator==(const TieGroups&) const = default;
};

struct RankProgram {
  RankSetup setup;
  int pipeline = 0;  // index into Program::pipelines
  RunTimeRule rule = RunTimeRule::kNone;
  std::vector<CommunicatorSetup> communicators;
  int job = kNone;                  // the communicator of all ranks
  std::vector<StageGroups> stages;  // as setup.stages
  std::vector<TieGroups> ties;      // as setup.ties
  std::vector<RankAction> actions;
  std::vector<RankWait> waits;      // seldom any; ascending by action
  std::vector<RankSignal> signals;  // likewise
  HostLink host_link = HostLink::kDuplex;
  std::size_t longest_list = 0;  // over all ranks
  std::int64_t tokens = 0;       // of the step, of all replicas

  [[nodiscard]] std::span<const RankWait> waits_of(int action) const;
  // Whether it waits for another rank by a signal.
  [[nodiscard]] bool signalled(int action) const;
  bool operator==(const RankProgram&) const = default;
};

// How to build the model of the plan. Error{kBadInput} when the plan does not say it.
const ModelDescription& model_of(const PlanFile& file);

// Error{kBadInput}, with what to do about it, for a plan that cannot be carried out: tensor
// degrees, slices of sequences, sharded weights, several stages of one weight set on one rank,
// lists that reduce too early, not at all or twice, clipping without a NORM. Virtual ranks need no
// model: ModelDescription{}.
RankProgram rank_program(const PlanFile& file, const ModelDescription& model,
                         const TrainingOptions& options, int rank);
// What the ranks hold of the model under a plan, by rank: RankSetup's stages, ties and ZeRO-1, for
// state_moves().
std::vector<RankSetup> rank_holdings(const PlanFile& file);
// Weights, gradients and optimizer state of a rank, with what its sections gather and reduce them
// in, as the plan says.
Bytes predicted_state(const PlanFile& file, const RankSetup& setup);
// Of all ranks of the job.
std::vector<RankProgram> rank_programs(const PlanFile& file, const ModelDescription& model,
                                       const TrainingOptions& options);

}  // namespace penstock
