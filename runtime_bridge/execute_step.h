// Carries out a rank's list of actions, step by step: decides when, a RankWork decides how, a
// Transport moves what ranks exchange.
//
// Receives are posted ahead of their place in the list, sends and reductions run beside what
// follows them, and an action waits for exactly what it needs: compute for the receive that brings
// its input, NORM and OPT for the reductions. An OVERLAP is a forward and then a backward.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/values/run_log.h"
#include "core/values/transfer_room.h"
#include "runtime_bridge/communicators.h"
#include "runtime_bridge/last_step.h"
#include "runtime_bridge/rank_program.h"
#include "training/rank_work.h"
#include "training/steady_time.h"
#include "training/transport.h"

namespace penstock {

struct ExecuteOptions {
  // Receives among this many transfers that come next in the list are posted; each holds a boundary
  // tensor from then on. 0: every transfer is issued at its place, those between two other actions
  // together, as a transport with one queue per rank (NCCL on one stream) needs it.
  // Plans of micro-batches that differ in shape leave room for as many.
  int transfers_ahead = kReceivesAhead;
  // Waits for the device after every action, so that its recorded end is its end. Without it, on a
  // GPU, that is when the work was queued.
  bool exact_times = false;
  // Told before every action, for heartbeats; none when empty.
  std::function<void(std::int64_t step, std::int64_t position)> progress;
};

// What a section gathered or reduced by itself, in the middle of a forward or backward.
struct SectionTime {
  ActionKind kind = ActionKind::kUnshard;
  int section = 0;
  SteadyTime start{}, end{};
};

// One step of one rank. Entry i of the times belongs to the i-th action of its list.
struct StepRecord {
  std::vector<SteadyTime> start, end;
  NormShare all;  // summed over all ranks; without a NORM in the Program only its loss is
  StepPhases phases;
  std::vector<SectionTime> sections{};     // in the order in which they began
  std::optional<std::int64_t> peak_bytes;  // RankWork::peak_bytes()
};

class StepExecutor {
 public:
  // Forms those of the rank's groups that `communicators` lacks: all ranks of the job make their
  // executors at the same time. They must live as
  // long, but for the communicators. Error{kBadInput} for a run-time rule
  // that is not supported.
  StepExecutor(const RankProgram& program, RankWork& work, Transport& transport,
               Communicators& communicators, const ExecuteOptions& options);
  // The only one of the run.
  StepExecutor(const RankProgram& program, RankWork& work, Transport& transport,
               const ExecuteOptions& options);
  ~StepExecutor();
  StepExecutor(const StepExecutor&) = delete;
  StepExecutor& operator=(const StepExecutor&) = delete;

  // After it has thrown, transfers may still be under way: call Transport::abort() before the
  // executor and what it was given are destroyed.
  StepRecord execute(std::int64_t step);
  // How far the last execute() came, also when it has thrown; without the plan's name. Nothing
  // before the first.
  [[nodiscard]] std::optional<StepStanding> standing() const;
  // Carries out the updates that are left of a step whose execute() has thrown, with the sums of
  // its norm that another rank has, and talks to nobody: see last_step.h for when it may be called.
  void finish(const NormShare& all);
  // Of a forward-only program (evaluation.h): the loss of a batch, the same on every rank. `step`
  // is for ExecuteOptions::progress.
  double evaluate(std::int64_t step, std::int64_t batch);

  // The group of all ranks; there must be more than one.
  [[nodiscard]] CommunicatorId job() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
