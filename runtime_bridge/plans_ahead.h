// A plan for every step, made by threads of this process while earlier steps run.
//
// Which plan a step gets is a function of the step alone: neither the number of threads nor how far
// they are ahead changes it. Every rank of a job that is a process makes all plans by itself. They
// are the same to the byte, because planning is deterministic, so that nothing has to be sent, no
// rank waits for another one's planner, and none is lost with one; StepSamples::fingerprint is
// compared before every step, since machines may differ in what they were given.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/program_source.h"

namespace penstock {

struct PlannedStep {
  std::shared_ptr<const PlanFile> plan;
  std::shared_ptr<const StepSamples> samples;
};

// Called by several threads at once. What it throws ends the run at that step.
using MakeStepPlan = std::function<PlannedStep(std::int64_t step)>;

struct PlansAheadOptions {
  std::int64_t first_step = 0, end_step = kNeverEnds;
  int threads = 1;
  int ahead = 2;                 // plans that may be there before they are asked for
  std::function<void()> stop{};  // makes who waits in MakeStepPlan return: nobody will ask any more
};

class PlansAhead : public ProgramSource {
 public:
  PlansAhead(MakeStepPlan make, const PlansAheadOptions& options);
  ~PlansAhead() override;
  PlansAhead(const PlansAhead&) = delete;
  PlansAhead& operator=(const PlansAhead&) = delete;

  // Waits where the plan is not there yet.
  [[nodiscard]] PlanForSteps plan_from(std::int64_t step) override;
  // Of a step that runs, or of the one before it.
  [[nodiscard]] PlannedStep planned(std::int64_t step) const;
  // How long the first rank that asked for the plan of this step waited.
  [[nodiscard]] Duration waited(std::int64_t step) const;

 private:
  struct Entry {
    PlannedStep plan;
    std::exception_ptr failure;
    bool is_made = false, was_asked_for = false;
    Duration waited{};
  };
  void work();

  const MakeStepPlan make_;
  const PlansAheadOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Entry> entries_;  // by step
  std::int64_t next_;                      // to be made
  std::int64_t asked_;                     // the last step that was asked for
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// Of what ranks must agree on: the lists of actions, the shapes, and which samples they are.
std::uint64_t fingerprint_of(const PlanFile& plan, const std::vector<int>& order);

}  // namespace penstock
