// One row per rank, one cell per action, in issue order (docs/exporting.md). What PyTorch's
// trainer does by itself is left out: recomputation, sums of tied weights, the norm, the
// optimizer, and the gather of ZeRO-1 behind it.
#include <cstddef>

#include <fmt/format.h>

#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "trainers/pytorch/pipeline_csv.h"

namespace penstock {
namespace {

constexpr const char* kOneRankPerStage =
    "keeps several copies of the weights, and PyTorch's CSV has one rank for a stage";
constexpr const char* kStaticOrder =
    "changes the order of a rank's actions while the step runs, and PyTorch's CSV is one order";

[[noreturn]] void cannot_write(const std::string& schedule, const char* why) {
  throw_bad_input(schedule + ": " + why + "\nhelp: choose another schedule, or leave --csv out");
}

// The rows of a file, written side by side.
class Rows {
 public:
  explicit Rows(int ranks) : rows_(static_cast<std::size_t>(ranks)) {}

  void add(int rank, const std::string& name, bool overlaps_next) {
    Row& row = rows_[static_cast<std::size_t>(rank)];
    if (row.overlapped) {
      row.text += ';' + name + ")OVERLAP_F_B";
    } else {
      if (!row.text.empty()) row.text += ',';
      if (overlaps_next) row.text += '(';
      row.text += name;
    }
    row.overlapped = overlaps_next;
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const Row& row : rows_) text += row.text + '\n';
    return text;
  }

 private:
  struct Row {
    std::string text;
    bool overlapped = false;  // the next action is the second member of an OVERLAP
  };
  std::vector<Row> rows_;
};

// What PyTorch's trainer does beside the file. A gather after the optimizer is ZeRO-1's; the
// others are FSDP's and belong to the file.
bool is_the_trainers(const Program& program, const Action& action) {
  const ActionRule& rule = rule_of(action.kind);
  if (rule.collective.gathers) {
    return action.waits_for != kWaitsForNothing &&
           rule_of(program.actions[action.waits_for].kind).updates;
  }
  return rule.updates || action.kind == ActionKind::kRecompute ||
         rule.collective.group == GroupOf::kTie || rule.collective.group == GroupOf::kJob;
}

}  // namespace

std::string write_pipeline_csv(const Schedule& schedule) {
  if (schedule.copies > 1) cannot_write(schedule.name, kOneRankPerStage);
  if (schedule.rule != RunTimeRule::kNone) cannot_write(schedule.name, kStaticOrder);
  Rows rows(schedule.ranks);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    for (ListCursor at(schedule, rank); !at.done(); ++at) {
      const ComputeAction action = *at;
      if (action.kind == ActionKind::kRecompute) continue;
      rows.add(
          rank,
          fmt::format("{}{}{}", action.stage.value, name_of(action.kind), action.micro_batch.value),
          action.overlaps_next);
    }
  }
  return rows.text();
}

std::string write_pipeline_csv(const Program& program) {
  if (program.pipelines.size() != 1) {
    cannot_write(program.schedule, "has several distinct pipelines, and PyTorch's CSV is of one");
  }
  if (program.pipelines[0].copies > 1) cannot_write(program.schedule, kOneRankPerStage);
  if (program.rule != RunTimeRule::kNone) cannot_write(program.schedule, kStaticOrder);
  Rows rows(program.ranks());
  for (const Action& action : program.actions) {
    if (is_the_trainers(program, action)) continue;
    if (is_copy(action.kind)) {
      cannot_write(program.schedule, "moves data to the host, for which PyTorch's CSV has no cell");
    }
    rows.add(program.rank_of(action).value, name_of(program, action), action.overlaps_next);
  }
  return rows.text();
}

}  // namespace penstock
