// A replayed Program rank by rank, and the phases of its lists: what every micro-batch passes once,
// one after the other. 1F1B is one phase; GPipe is two, forwards and backwards; breadth first is
// two per chunk. In the middle of each windows of micro-batches may be put in (steady_program.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/values/executor_model.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"
#include "core/values/timeline.h"
#include "simulator/step_graph.h"

namespace penstock {

// The actions of the micro-batches of every rank, in its order; then those that end the step.
struct ListsByRank {
  std::vector<std::vector<std::uint32_t>> of_rank;
  std::vector<std::uint32_t> tail;

  explicit ListsByRank(const Program& program);
};

struct ListPhase {
  std::size_t middle = 0;  // position in the list, where half of the micro-batches have passed
  std::int64_t each = 0;   // actions per micro-batch
};

struct ListedProgram;

// Of one rank's list.
class RankPhases {
 public:
  // `micro_batches`: of the pipeline. `reach`: how many of them what belongs to one phase may be
  // apart at most.
  RankPhases(const ListedProgram& listed, std::size_t rank, std::int64_t micro_batches,
             std::int64_t reach);

  // In the order of the list.
  [[nodiscard]] const std::vector<ListPhase>& phases() const { return phases_; }
  // What the micro-batch of the action at `position` is later by where windows of so many
  // micro-batches in all are put into the middles; and what it is later by in the next window.
  [[nodiscard]] std::int64_t growth(std::size_t position, std::int64_t window) const;
  [[nodiscard]] std::int64_t advance(std::size_t position, std::int64_t window) const;
  // Of an action of this rank.
  [[nodiscard]] std::size_t phase_of(const Action& action) const;

 private:
  // The actions of one kind and stage.
  struct Row {
    std::int64_t count = 0, all = 0;   // micro-batches in the list, and in the step
    std::int64_t first = 0, last = 0;  // micro-batches
    std::size_t middle = 0;            // position of the action half-way
    std::size_t phase = 0;
    std::int64_t copies = 1;
    [[nodiscard]] bool descends() const { return last < first; }
  };

  void note_rows();
  [[nodiscard]] bool part(std::int64_t reach);
  [[nodiscard]] std::size_t row_of(const Action& action) const;
  [[nodiscard]] const Row& row_at(std::size_t position) const;

  const ListedProgram& listed_;
  const std::vector<std::uint32_t>& list_;
  std::vector<Row> rows_;
  std::vector<ListPhase> phases_;
};

// A Program with its lists and their phases.
struct ListedProgram {
  Program program;
  ListsByRank lists;
  std::vector<std::uint32_t> number_in_copy;  // of micro-batches, from the first of their copy
  std::vector<std::size_t> number_on_rank;    // of stages, among those of the same rank
  std::vector<std::size_t> stages_of_rank;    // how many
  std::vector<RankPhases> phases;             // of every rank

  // `micro_batches` and `reach` as RankPhases takes them.
  ListedProgram(Program of, std::int64_t micro_batches, std::int64_t reach);
  ListedProgram(const ListedProgram&) = delete;
  ListedProgram& operator=(const ListedProgram&) = delete;

  [[nodiscard]] std::int64_t micro_batch_of(const Action& action) const {
    return number_in_copy[action.micro_batch.value];
  }
  // What the micro-batch costs: which prices apply.
  [[nodiscard]] const MicroBatch& costs_of(const Action& action) const {
    return program.micro_batches[action.micro_batch.value];
  }
  [[nodiscard]] const Pipeline& pipeline_of(const Action& action) const {
    return program.pipelines[static_cast<std::size_t>(program.stages[action.stage.value].pipeline)];
  }
  // Whether an action waits only for what belongs to the same phase, but for what stands before it
  // in its own list. `in_lists`: a receive stands in its rank's list as compute does.
  [[nodiscard]] bool waits_within_phases(bool in_lists) const;
};

// What replays of a Program of few micro-batches have in common, whatever the prices.
struct PreparedProgram : ListedProgram {
  StepGraph graph;

  PreparedProgram(Program of, const ExecutorModel& executor, std::int64_t micro_batches,
                  std::int64_t reach);
};

struct ReplayedLists {
  std::shared_ptr<const PreparedProgram> of;
  Timeline timeline;

  ReplayedLists(std::shared_ptr<const PreparedProgram> prepared, const StagePrices& prices,
                const ExecutorModel& executor);
};

}  // namespace penstock
