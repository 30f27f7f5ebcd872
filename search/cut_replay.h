// Replays one plan with other cuts: whatever does not depend on them is made once. What every
// search for cuts goes by.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/plan.h"
#include "core/values/units.h"
#include "costmodel/plan_wiring.h"
#include "search/arranged_replay.h"
#include "search/cut_recompute.h"
#include "search/evaluate.h"
#include "search/memory.h"
#include "search/plan_program.h"
#include "search/prepared_plan.h"
#include "search/program_cache.h"
#include "search/recompute_as_needed.h"
#include "search/section_sums.h"
#include "simulator/held_counts.h"
#include "simulator/simulate_schedule.h"

namespace penstock {

class CutReplay {
 public:
  // Keeps `inputs` by reference. A plan whose recompute is divided is divided anew for all cuts, by
  // this rule: as little as its memory asks for.
  CutReplay(const PlanInputs& inputs, const Plan& plan,
            RecomputeRule rule = RecomputeRule::kPerStage);
  CutReplay(const CutReplay&) = delete;
  CutReplay& operator=(const CutReplay&) = delete;

  // The plan as it is evaluated: with the stage map of its schedule.
  [[nodiscard]] const Plan& plan() const { return prepared_.plan; }
  // Why it cannot be replayed with any cuts.
  [[nodiscard]] const std::optional<Rejection>& why_not() const { return prepared_.why_not; }
  // Static lists are there once for all cuts; otherwise every replay works the plan out anew.
  [[nodiscard]] bool is_cheap() const { return is_cheap_; }
  // Its recompute is divided anew for all cuts.
  [[nodiscard]] bool divides() const { return recompute_.has_value(); }
  // It has a run-time rule, which is replayed on the lists.
  [[nodiscard]] bool has_rule() const { return has_rule_; }

  struct Result {
    Duration step_time{};
    Bytes memory;  // of the fullest rank
    // What the compute of every stage takes of the chain that the step's length comes from.
    std::vector<Duration> on_chain{};
  };
  // Nothing when the plan does not fit, or its transfers deadlock, with these cuts. The chain is
  // told when it is asked for and the replay knows it; that takes about twice as long.
  enum class Tells { kStep, kChain };
  [[nodiscard]] bool knows_chains() const;
  // Nor is there a result where a bound says that the step takes longer than `slowest`.
  std::optional<Result> run(const std::vector<int>& cuts, Tells tells = Tells::kStep,
                            Duration slowest = Duration::max());
  // The plan with these cuts, and its recompute as they are replayed.
  [[nodiscard]] Plan with(const std::vector<int>& cuts) const;

  // Whether every rank has the memory, by full-size micro-batches. May say yes where it is unsure.
  [[nodiscard]] bool may_fit(const std::vector<int>& cuts);
  // A step time that no replay with these cuts beats, and what all micro-batches of full size take
  // on every rank. Both much cheaper than a replay.
  Duration bound(const std::vector<int>& cuts);
  [[nodiscard]] std::vector<std::int64_t> rank_work(const std::vector<int>& cuts) const;
  // What a micro-batch of full size takes on a stage, cumulated over the sections.
  [[nodiscard]] const std::vector<std::int64_t>& work_sums(int stage) const {
    return sums_of_work()[prepared_.plan.rank_of(stage)].work_of(prepared_.kind->backward);
  }

  // What joint_cuts() and choose_cuts() ask for.
  [[nodiscard]] const PreparedPlan& prepared() const { return prepared_; }
  [[nodiscard]] const RankSums& sums() const { return *sums_; }
  [[nodiscard]] const HeldCounts& held() const { return held_; }

 private:
  [[nodiscard]] const RankSums& sums_of_work() const {
    return sums_of_last_ ? *sums_of_last_ : *sums_;
  }
  std::optional<Result> run_divided(Tells tells, Duration slowest);
  std::optional<Result> run_priced(const RankTables& tables, bool recomputes, Tells tells,
                                   Duration slowest);
  std::optional<Result> run_evaluated();
  [[nodiscard]] ArrangedOutcome arranged() const;
  std::optional<TracedSimulation> replayed(const StagePricing& pricing, bool recomputes,
                                           Tells tells);

  const PlanInputs& inputs_;
  PreparedPlan prepared_;
  bool is_cheap_ = false;
  bool has_rule_ = false;
  // Of a schedule that recomputes by itself: what its last rank does.
  std::optional<PlanSums> kept_;
  std::optional<RankSums> sums_of_last_;
  std::optional<RankSums> sums_;
  RankTables tables_{{}};
  bool recomputes_ = false;
  PerRank<Bytes> capacity_{Bytes{}}, reserve_{Bytes{}};
  std::optional<PlanWiring> wiring_;
  HeldCounts held_;
  TiedParameters ties_of_model_;
  std::optional<StageMemory> memory_;
  int over_last_ = 0;  // of may_fit(): the rank that was over its memory
  PlanSchedules schedules_;
  ReplayBuffers buffers_;
  Plan with_cuts_;
  std::optional<CutRecompute> recompute_;  // divided anew
  // Executors that need the Program: it depends on the cuts through the stages of ties alone.
  ProgramCache programs_;  // of fewer micro-batches
  std::vector<PlanTie> ties_;
  bool program_recomputes_ = false;
  std::optional<Program> program_;
};

}  // namespace penstock
