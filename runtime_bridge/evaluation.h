// The loss on data that are not trained on, over the ranks of a plan as they are: the forwards of
// its Program and the transfers between them, and nothing else.
#pragma once

#include <cstdint>

#include "core/values/run_log.h"
#include "runtime_bridge/communicators.h"
#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/rank_program.h"

namespace penstock {

// When a run evaluates, and how much.
struct EvaluationOptions {
  std::int64_t every = 0;    // steps; 0: never. After the last step in any case
  std::int64_t batches = 0;  // global batches of each evaluation
  bool operator==(const EvaluationOptions&) const = default;
};

bool is_evaluated(const EvaluationOptions& options, std::int64_t next_step, bool last);

// The rank's list without what is there for a backward or for the optimizer. What is left stands in
// the order in which it stood, on every rank: sends and receives still meet, and where the plan's
// lists end without a deadlock, so do these.
RankProgram forward_only(const RankProgram& program);

class EvaluationPass {
 public:
  // All of these outlive it. As StepExecutor, every rank of the job makes one at the same time.
  EvaluationPass(const RankProgram& program, RankWork& work, Transport& transport,
                 Communicators& communicators, const ExecuteOptions& options);

  // The mean over the tokens that count of the first `batches` batches, the same on every rank.
  // `step`: what the run has done last, for who watches its progress.
  double loss(std::int64_t step, std::int64_t batches);

 private:
  RankProgram program_;
  StepExecutor executor_;
};

}  // namespace penstock
