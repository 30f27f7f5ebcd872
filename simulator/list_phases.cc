// The actions of one kind and stage are a row; each micro-batch has one in it. Where half of a row
// has passed is its middle, and rows whose middles lie close together are one phase: those of 1F1B
// are a few micro-batches apart, GPipe's forwards and backwards half of the list.
#include "simulator/list_phases.h"

#include <algorithm>
#include <utility>

#include "core/values/action_kind.h"
#include "simulator/simulate.h"

namespace penstock {

ListsByRank::ListsByRank(const Program& program)
    : of_rank(static_cast<std::size_t>(program.ranks())) {
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    if (action.micro_batch == kNoMicroBatch) {
      tail.push_back(i);
    } else {
      of_rank[static_cast<std::size_t>(program.rank_of(action).value)].push_back(i);
    }
  }
}

PreparedProgram::PreparedProgram(Program of, const ExecutorModel& executor,
                                 std::int64_t micro_batches, std::int64_t reach)
    : ListedProgram(std::move(of), micro_batches, reach), graph(step_graph(program, executor)) {}

ListedProgram::ListedProgram(Program of, std::int64_t micro_batches, std::int64_t reach)
    : program(std::move(of)), lists(program) {
  number_on_rank.reserve(program.stages.size());
  stages_of_rank.resize(lists.of_rank.size());
  for (const Stage& stage : program.stages) {
    number_on_rank.push_back(stages_of_rank[static_cast<std::size_t>(stage.rank.value)]++);
  }
  number_in_copy.reserve(program.micro_batches.size());
  for (const Pipeline& pipeline : program.pipelines) {
    const auto copies = static_cast<std::uint32_t>(pipeline.copies);
    for (std::uint32_t m = 0; m < pipeline.micro_batches; ++m) {
      number_in_copy.push_back(m % (pipeline.micro_batches / copies));
    }
  }
  phases.reserve(lists.of_rank.size());
  for (std::size_t r = 0; r < lists.of_rank.size(); ++r) {
    phases.emplace_back(*this, r, micro_batches, reach);
  }
}

ReplayedLists::ReplayedLists(std::shared_ptr<const PreparedProgram> prepared,
                             const StagePrices& prices, const ExecutorModel& executor)
    : of(std::move(prepared)),
      timeline(simulate_by_worklist(of->program, of->graph, prices, executor)) {}

RankPhases::RankPhases(const ListedProgram& listed, std::size_t rank, std::int64_t micro_batches,
                       std::int64_t reach)
    : listed_(listed),
      list_(listed.lists.of_rank[rank]),
      rows_(listed.stages_of_rank[rank] * kActionKinds) {
  note_rows();
  if (part(reach)) return;
  for (Row& row : rows_) row.phase = 0;
  phases_ = {{list_.size() / 2, std::ssize(list_) / micro_batches}};
}

std::size_t RankPhases::row_of(const Action& action) const {
  return listed_.number_on_rank[action.stage.value] * std::size_t{kActionKinds} +
         static_cast<std::size_t>(action.kind);
}

std::size_t RankPhases::phase_of(const Action& action) const { return rows_[row_of(action)].phase; }

const RankPhases::Row& RankPhases::row_at(std::size_t position) const {
  return rows_[row_of(listed_.program.actions[list_[position]])];
}

void RankPhases::note_rows() {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const Action& action = listed_.program.actions[list_[i]];
    Row& row = rows_[row_of(action)];
    row.last = listed_.micro_batch_of(action);
    if (row.count == 0) {
      const Pipeline& pipeline = listed_.pipeline_of(action);
      row.first = row.last;
      row.copies = pipeline.copies;
      row.all = pipeline.micro_batches / static_cast<std::uint32_t>(pipeline.copies);
    }
    if (row.count == row.all / 2) row.middle = i;
    ++row.count;
  }
}

// False where all is one phase, or phases cannot be told apart.
bool RankPhases::part(std::int64_t reach) {
  std::vector<Row*> by_middle;
  for (Row& row : rows_) {
    if (row.count == 0) continue;
    if (row.copies > 1 || row.count != row.all) return false;
    by_middle.push_back(&row);
  }
  std::sort(by_middle.begin(), by_middle.end(),
            [](const Row* a, const Row* b) { return a->middle < b->middle; });
  const auto furthest = static_cast<std::size_t>(reach) * by_middle.size();
  for (std::size_t i = 0; i < by_middle.size(); ++i) {
    if (i == 0 || by_middle[i]->middle - by_middle[i - 1]->middle > furthest) {
      phases_.push_back({by_middle[i]->middle, 0});
    }
    if (by_middle[i]->middle - phases_.back().middle > furthest) return false;
    by_middle[i]->phase = phases_.size() - 1;
    ++phases_.back().each;
  }
  return phases_.size() > 1;
}

std::int64_t RankPhases::growth(std::size_t position, std::int64_t window) const {
  const Row& row = row_at(position);
  const bool behind = position >= phases_[row.phase].middle;
  return behind == row.descends() ? 0 : window / row.copies;
}

std::int64_t RankPhases::advance(std::size_t position, std::int64_t window) const {
  const Row& row = row_at(position);
  return (row.descends() ? -window : window) / row.copies;
}

bool ListedProgram::waits_within_phases(bool in_lists) const {
  const auto rank_of = [&](const Action& action) {
    return static_cast<std::size_t>(program.rank_of(action).value);
  };
  const auto is_near = [&](const Action& action, const Action& needed) {
    const std::size_t rank = rank_of(action), other = rank_of(needed);
    if (rank == other && (in_lists || !is_receive(needed.kind))) return true;
    return phases[rank].phase_of(action) == phases[other].phase_of(needed);
  };
  bool all_near = true;
  for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
    const Action& action = program.actions[i];
    if (action.micro_batch == kNoMicroBatch) continue;
    for_each_wait(program, i, [&](std::uint32_t needed) {
      all_near = all_near && is_near(action, program.actions[needed]);
    });
  }
  return all_near;
}

}  // namespace penstock
