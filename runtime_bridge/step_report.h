// What every rank measured in a step, brought together on all ranks. Private to runtime_bridge/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/run_log.h"
#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/run_rank.h"

namespace penstock {

// Loss and norm of a step, without any time.
MeasuredStep measured_numbers(std::int64_t step, const NormShare& all);

class StepReport {
 public:
  StepReport(const RankProgram& program, const StepExecutor& executor, Transport& transport,
             const RunRankOptions& options)
      : program_(program), executor_(executor), transport_(transport), options_(options) {}

  // `began`: when this rank left the barrier before the step. Returns what was requested most.
  RunRequest exchange(SteadyTime began, const StepRecord& record, RunRequest request);
  // Every rank's number, where this rank's is `own`.
  [[nodiscard]] std::vector<std::int64_t> gather_number(std::int64_t own) const {
    return gathered({own});
  }
  // The machine of every rank, where this rank's is `own`.
  [[nodiscard]] std::vector<std::string> gather_hosts(const std::string& own) const;
  // Of the last exchange, RankWork::peak_bytes() of every rank; empty where nobody counts.
  [[nodiscard]] std::vector<Bytes> peaks() const;
  // Of the last exchange.
  [[nodiscard]] MeasuredStep measured(std::int64_t step, const NormShare& all) const;

 private:
  enum Field {
    kBegan,
    kFirstStart,
    kLastEnd,
    kCompute,
    kWaiting,
    kReducing,
    kOptimizer,
    kRequest,
    kPipeline,
    kPipelineRank,
    kActions,
    kSections,
    kPeak,
    kFields
  };
  static constexpr std::size_t kSectionFields = 4;  // kind, section, start, end
  using Numbers = std::vector<std::int64_t>;

  [[nodiscard]] Numbers gathered(const Numbers& own) const;
  void gather_sections(const StepRecord& record, std::int64_t start);
  [[nodiscard]] std::int64_t of(int rank, Field field) const {
    return fields_[static_cast<std::size_t>(rank) * kFields + field];
  }
  [[nodiscard]] std::int64_t most(Field field) const;
  [[nodiscard]] std::int64_t start_of_step(int rank) const;
  [[nodiscard]] std::vector<MeasuredRank> timelines() const;

  const RankProgram& program_;
  const StepExecutor& executor_;
  Transport& transport_;
  const RunRankOptions& options_;
  Numbers fields_;    // [rank][field]
  Numbers times_;     // [rank][start, end][action], with a timeline
  Numbers sections_;  // [rank][section time][kSectionFields], likewise
  std::size_t longest_sections_ = 0;
};

}  // namespace penstock
