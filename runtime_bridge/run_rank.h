// The loop of one rank over the steps of a run: the plan of the step, a barrier, the step, what all
// ranks measured to rank 0, checkpoints, and an end that all ranks agree on.
//
// The rank's state (weights, optimizer) lives as long as the run. Where the source hands over
// another plan, the state is taken there (rebind.h), and what the rank computes with is made anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/values/run_log.h"
#include "runtime_bridge/evaluation.h"
#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/last_step.h"
#include "runtime_bridge/mirror.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/rebind.h"
#include "training/rank_state.h"
#include "training/rank_work.h"
#include "training/transport.h"

namespace penstock {

// Told on rank 0 only.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void step_finished(const MeasuredStep& step) = 0;
  // Before that, where ranks count it: the most that the tensors of every rank took in the step
  // beyond what they took before it.
  virtual void ranks_held(const std::vector<Bytes>& most) { static_cast<void>(most); }
  // Before the first step: the machine of every rank, where RunRankOptions::host is given.
  virtual void ranks_are_on(const std::vector<std::string>& hosts) { static_cast<void>(hosts); }
};

enum class RunRequest {
  kGoOn,
  kCheckpoint,  // write one after this step, and go on
  kStop,        // write one after this step, and end
};

// Asked on every rank after every step (a signal may have come to one of them). What was asked for
// most on any rank, in the order above, is done on all.
class RunControl {
 public:
  virtual ~RunControl() = default;
  virtual RunRequest requested() = 0;
};

// Each rank has its own. `next_step` is the step that a run would go on with from the checkpoint.
class StepCheckpoints {
 public:
  virtual ~StepCheckpoints() = default;
  // Besides those that are requested; the same answer on every rank. `last`: the run ends here.
  virtual bool is_due(std::int64_t next_step, bool last) = 0;
  // Writes the rank's part. Ranks do not wait for each other here: what joins the parts, such as
  // the thread of rank 0's CheckpointWriter, waits for those of the others.
  virtual void write(std::int64_t next_step) = 0;
  // On every rank, behind the last step: returns once what was written is complete, on all ranks.
  // TransportFailure where a rank is lost before, so that those that are left can do what they do
  // when that happens in a step.
  virtual void finish_last() = 0;
};

// What a rank can still do when a peer is lost, for what keeps the last finished step
// (emergency_checkpoint.h). It exchanges nothing with other ranks.
class RankAtLoss {
 public:
  virtual ~RankAtLoss() = default;
  [[nodiscard]] virtual StepStanding standing() const = 0;
  // Ends the step that is under way, with the sums of its norm (StepExecutor::finish()).
  virtual void finish_step(const NormShare& all) = 0;
  // Empty when these ranks together hold the whole state, else what is missing.
  [[nodiscard]] virtual std::string missing_from(const std::vector<int>& ranks) const = 0;
  // This rank's share, if they are all that there are.
  [[nodiscard]] virtual std::vector<SectionState> states_among(const std::vector<int>& ranks) = 0;
  // Its part of the state that copies in memory have, for last.mirrored.
  [[nodiscard]] virtual MirroredParts mirrored(const LastStep& last) const = 0;
  // The step that was under way is kept: on rank 0 the observer hears of it, if it has not yet.
  virtual void report_step() = 0;
};

struct RunRankOptions {
  std::int64_t first_step = 0, end_step = 1;  // steps [first_step, end_step)
  TrainingOptions training;
  bool timeline = false;  // MeasuredStep::ranks
  // All ranks on one host, so that their steady clocks are one. Otherwise a rank's times count from
  // when it left the barrier before the step.
  bool one_clock = true;
  ExecuteOptions execute;
  EvaluationOptions evaluation;
  // The rank's machine; given by all ranks, the observer learns those of all. Cut off after 63
  // bytes.
  std::string host;
};

// A plan took the place of another before `step`.
struct PlanChange {
  std::int64_t step = 0;
  Rebound moved;  // of this rank
};

// All may be absent.
struct RunRankHooks {
  StepObserver* observer = nullptr;
  RunControl* control = nullptr;
  StepCheckpoints* checkpoints = nullptr;
  std::function<void()> ready{};  // told once, before the rank waits for any other
  std::function<void(std::int64_t step)> step_done{};  // told on every rank, once it has ended
  std::function<void(const PlanChange& change)> plan_changed{};  // likewise, before the step
  // A transfer has failed, in a step or between two; not while the plan is being changed. The
  // transport has been aborted already. Does not throw.
  std::function<void(const TransportFailure& failure, RankAtLoss& rank)> peer_lost{};
};

struct RunEnd {
  std::int64_t next_step = 0;
  bool requested = false;  // RunRequest::kStop ended it
};

// Makes what the rank computes with under a plan; called again when the source changes the plan,
// after the state was taken there.
using MakeWork = std::function<std::unique_ptr<RankWork>(
    const std::shared_ptr<const PlanFile>& plan, const RankProgram& program)>;

struct RankParts {
  RankState* state = nullptr;  // lives as long as the run; none: the rank keeps nothing
  MakeWork make_work;
  MakeMirror make_mirror{};
};

// Every rank of the job calls it with the same options. When anything throws, the transport is
// aborted with the reason before the exception goes on, so that the others end too.
//
// Error{kBadInput} for a plan of another model than the first, or for another number of ranks.
RunEnd run_rank(ProgramSource& source, const RankParts& parts, Transport& transport,
                const RunRankOptions& options, const RunRankHooks& hooks);

}  // namespace penstock
