// Where a run's plans come from: one file, files that take turns, or whatever hands over a new plan
// for every step.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/values/plan_file.h"

namespace penstock {

inline constexpr std::int64_t kNeverEnds = std::numeric_limits<std::int64_t>::max();

// What a plan that was made for the samples of one step says besides.
struct StepSamples {
  // Sample i of the plan, numbered replica by replica and micro-batch by micro-batch in the order
  // in which they run, is sample order[i] of the step's data.
  std::vector<int> order;
  std::int64_t real_tokens = 0, padded_tokens = 0;
  double objective_ns = 0.0;  // that the micro-batches were cut by
  Duration planning{};        // of a processor
  // Of all that ranks must agree on. Those that are processes make the plan each for themselves.
  std::uint64_t fingerprint = 0;
};

// A plan and the steps it holds for.
struct PlanForSteps {
  std::shared_ptr<const PlanFile> plan;
  std::int64_t end_step = kNeverEnds;            // the first step that it does not hold for
  std::shared_ptr<const StepSamples> samples{};  // nothing: any samples, in the order of the data
};

class ProgramSource {
 public:
  virtual ~ProgramSource() = default;
  // The plan that `step` runs under: the same for every rank that asks, with the same end. Asked by
  // one thread per rank, at the same time where ranks are threads, for ascending steps. The same
  // pointer says that nothing changes. All are plans of one model for as many ranks; cuts, P, D, V,
  // schedule, ZeRO-1, recomputing, micro-batches and batch may differ.
  [[nodiscard]] virtual PlanForSteps plan_from(std::int64_t step) = 0;
};

// A plan file and the first step that runs under it.
struct PlanFromStep {
  std::int64_t first_step = 0;
  std::shared_ptr<const PlanFile> plan;
  std::string path, hash;  // of the file
};
// Ascending and distinct first steps, the first of them 0.
using PlanSequence = std::vector<PlanFromStep>;
const PlanFromStep& plan_at(const PlanSequence& plans, std::int64_t step);

// Error{kBadInput} unless all are plans of one model, for as many ranks, samples and tokens per
// step: file, place, value, and what the first plan has.
void require_one_run(const PlanSequence& plans);

// Each plan from its first step to that of the next.
class PlansByStep : public ProgramSource {
 public:
  explicit PlansByStep(PlanSequence plans);
  [[nodiscard]] PlanForSteps plan_from(std::int64_t step) override;

 private:
  PlanSequence plans_;
};

// One plan for all steps.
class OnePlan : public ProgramSource {
 public:
  explicit OnePlan(std::shared_ptr<const PlanFile> plan);
  [[nodiscard]] PlanForSteps plan_from(std::int64_t step) override;

 private:
  std::shared_ptr<const PlanFile> plan_;
};

}  // namespace penstock
