// What planning said of every step of a run on documents, beside what was measured.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/values/run_log.h"
#include "runtime_bridge/plans_ahead.h"
#include "runtime_bridge/run_rank.h"
#include "training/document_batches.h"

namespace penstock {

// Between the run and whom it tells of its steps.
class DocumentRun : public StepObserver {
 public:
  // All outlive it. `file`: a line of JSON per step; empty: none. A run that resumes keeps the
  // lines of the steps before.
  DocumentRun(StepObserver& next, const PlansAhead& plans, const DocumentBatches& documents,
              const std::string& file, std::int64_t first_step);

  void step_finished(const MeasuredStep& step) override;
  void ranks_are_on(const std::vector<std::string>& hosts) override { next_.ranks_are_on(hosts); }
  void ranks_held(const std::vector<Bytes>& most) override { held_ = most; }

  // The median of what was predicted for the steps that count behind the warm-up.
  [[nodiscard]] Duration predicted() const;
  // A few lines: padding, planning, all steps together against the prediction, memory.
  [[nodiscard]] std::string text() const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct Step {
    Duration measured{}, predicted{}, planning{}, waited{};
    std::int64_t real_tokens = 0, padded_tokens = 0;
    Bytes most_held, most_planned;  // of the rank that came closest to its figure, or beyond
    double share_held = 0.0;        // of the planned
  };

  StepObserver& next_;
  const PlansAhead& plans_;
  const DocumentBatches& documents_;
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<Bytes> held_;
  std::vector<Step> steps_;
};

}  // namespace penstock
