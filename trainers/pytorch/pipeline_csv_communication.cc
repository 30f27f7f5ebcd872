// Rules of a file that has its own transfers: each has its other end, both ends of a pair of ranks
// list theirs in one order, every action has its input before it, and stages are sharded and
// gathered in turn.
#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/values/action_rules.h"
#include "trainers/pytorch/pipeline_csv_rules.h"

namespace penstock {
namespace {

// The other end of a transfer.
struct Peer {
  ActionKind kind;
  int stage;
};
constexpr Peer peer_of(const CsvCell& cell) {
  const TransferRule& rule = rule_of(cell.kind).transfer;
  return {rule.meets, cell.stage.value + (rule.at == OtherEnd::kNext ? 1 : -1)};
}

class CommunicationRules {
 public:
  CommunicationRules(const CsvCells& cells, const PipelineCsv& csv, const CsvIndex& index,
                     const std::string& file)
      : cells_(cells), csv_(csv), index_(index), file_(file), stages_(csv.rank_of_stage.size()) {}

  void apply() {
    for (const CsvCell& cell : cells_.cells) {
      if (is_send(cell.kind) || is_receive(cell.kind)) {
        require_transfer(cell);
      } else if (is_compute(cell.kind)) {
        require_input(cell);
      }
    }
    require_same_order();
    const bool has_copies = std::any_of(cells_.cells.begin(), cells_.cells.end(),
                                        [](const CsvCell& cell) { return is_copy(cell.kind); });
    // Then RESHARD lets go of a slot, by the rules of core/files/slot_waits.h.
    if (has_copies) return;
    for (const CsvCell& cell : cells_.cells) {
      const bool shards = cell.kind == ActionKind::kUnshard || cell.kind == ActionKind::kReshard;
      if (shards) states_[cell.stage.value].weights = StageState::kSharded;
    }
    for (const CsvCell& cell : cells_.cells) step_stage(cell);
    finish_stages();
  }

 private:
  [[nodiscard]] int rank_of(int stage) const {
    return csv_.rank_of_stage[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::string name(ActionKind kind, int stage, const CsvCell& of) const {
    return fmt::format("{}{}{}", stage, name_of(kind), of.micro_batch.value);
  }

  void require_transfer(const CsvCell& cell) const {
    const auto [kind, stage] = peer_of(cell);
    if (stage < 0 || stage >= static_cast<int>(stages_)) {
      refuse_cell(file_, cell,
                  fmt::format("stage {} is the {}, so there is no other end", cell.stage.value,
                              stage < 0 ? "first" : "last"),
                  "remove it");
    }
    if (rank_of(stage) == static_cast<int>(cell.row)) {
      refuse_cell(file_, cell,
                  fmt::format("stages {} and {} are on one rank, where PyTorch hands over without "
                              "a transfer",
                              cell.stage.value, stage),
                  "remove it and its other end");
    }
    if (index_.find(kind, static_cast<std::size_t>(stage), cell.micro_batch.value) == nullptr) {
      refuse_cell(file_, cell,
                  fmt::format("its other end, {}, is not in the file", name(kind, stage, cell)),
                  fmt::format("add it to row {} (rank {})", rank_of(stage) + 1, rank_of(stage)));
    }
    require_place(cell);
  }

  // A send after its producer, a receive before its consumer.
  void require_place(const CsvCell& cell) const {
    const std::uint32_t m = cell.micro_batch.value;
    const CsvCell* compute = rule_of(cell.kind).transfer.gradient
                                 ? index_.backward(cell.stage.value, m)
                                 : index_.find(ActionKind::kForward, cell.stage.value, m);
    const bool send = is_send(cell.kind);
    if (send == (compute < &cell)) return;
    refuse_cell(file_, cell,
                fmt::format("comes {} {}, which is in column {} and {}", send ? "before" : "after",
                            name_of(*compute), compute->column + 1,
                            send ? "makes what it sends" : "needs what it receives"),
                send ? "move it after that" : "move it before that");
  }

  void require_input(const CsvCell& cell) const {
    const int stage = cell.stage.value;
    if (cell.kind == ActionKind::kForward && stage > 0) {
      require_receive(cell, ActionKind::kReceiveActivation, stage - 1);
    }
    if (is_backward(cell.kind) && stage + 1 < static_cast<int>(stages_)) {
      require_receive(cell, ActionKind::kReceiveGradient, stage + 1);
    }
  }
  void require_receive(const CsvCell& cell, ActionKind kind, int from) const {
    if (rank_of(from) == static_cast<int>(cell.row)) return;
    if (index_.find(kind, cell.stage.value, cell.micro_batch.value) != nullptr) return;
    const TransferRule& rule = rule_of(kind).transfer;
    refuse_cell(file_, cell,
                fmt::format("{} of stage {} never arrives: {} is not in the file",
                            rule.gradient ? "the gradient" : "the activation", from,
                            name(kind, cell.stage.value, cell)),
                fmt::format("add it before, and {} to row {} (rank {})",
                            name(rule.meets, from, cell), rank_of(from) + 1, rank_of(from)));
  }

  // Transfers from one rank to another carry no name; the n-th send meets the n-th receive.
  void require_same_order() const {
    std::map<std::pair<int, int>, std::vector<const CsvCell*>> sends;  // by (from, to)
    for (const CsvCell& cell : cells_.cells) {
      if (!is_send(cell.kind)) continue;
      sends[{static_cast<int>(cell.row), rank_of(peer_of(cell).stage)}].push_back(&cell);
    }
    std::map<std::pair<int, int>, std::size_t> met;
    for (const CsvCell& cell : cells_.cells) {
      if (!is_receive(cell.kind)) continue;
      const auto [kind, stage] = peer_of(cell);
      const std::pair<int, int> way{rank_of(stage), static_cast<int>(cell.row)};
      const CsvCell* send = sends[way][met[way]++];
      if (send->kind == kind && send->stage.value == stage &&
          send->micro_batch == cell.micro_batch) {
        continue;
      }
      refuse_cell(
          file_, cell,
          fmt::format("would receive what {} sends (row {}, column {}): PyTorch matches "
                      "the transfers from rank {} to rank {} by their order",
                      name_of(*send), send->row + 1, send->column + 1, way.first, way.second),
          "put the receives in the order of the sends");
    }
  }

  // What FSDP and the reduction of gradients ask of one stage's actions.
  struct StageState {
    enum { kWhole, kSharded, kGathering, kGathered } weights = kWhole;
    const CsvCell* gather = nullptr;  // the last UNSHARD
    const CsvCell* reduction = nullptr;
    int gradients = 0;  // micro-batches whose gradients are complete
  };

  void step_stage(const CsvCell& cell) {
    StageState& stage = states_[cell.stage.value];
    switch (cell.kind) {
      case ActionKind::kUnshard:
        if (stage.weights != StageState::kSharded) {
          refuse_cell(file_, cell, "the weights of the stage are gathered already",
                      "remove it, or put a RESHARD in between");
        }
        stage.weights = StageState::kGathering;
        stage.gather = &cell;
        break;
      case ActionKind::kReshard:
        if (stage.weights != StageState::kGathered) {
          refuse_cell(file_, cell,
                      stage.weights == StageState::kGathering
                          ? "frees weights that nothing has used since they were gathered"
                          : "the weights of the stage are not gathered",
                      "put it after an UNSHARD and the actions that need the weights");
        }
        stage.weights = StageState::kSharded;
        break;
      case ActionKind::kReduceGradient:
        if (stage.reduction != nullptr) {
          refuse_cell(
              file_, cell,
              fmt::format("{} is in column {} already", name_of(cell), stage.reduction->column + 1),
              "keep the last one");
        }
        if (stage.gradients < csv_.micro_batches) {
          refuse_cell(file_, cell,
                      fmt::format("comes before the last W or B of its stage; {} of {} "
                                  "micro-batches are done",
                                  stage.gradients, csv_.micro_batches),
                      "move it behind");
        }
        stage.reduction = &cell;
        break;
      default:
        compute(cell, stage);
    }
  }

  void compute(const CsvCell& cell, StageState& stage) const {
    if (!is_compute(cell.kind)) return;
    if (stage.weights == StageState::kSharded) {
      refuse_cell(file_, cell, "the weights of the stage are not gathered here",
                  fmt::format("put {}UNSHARD before", cell.stage.value));
    }
    if (stage.weights == StageState::kGathering) stage.weights = StageState::kGathered;
    if (completes_gradient(cell.kind)) ++stage.gradients;
  }

  void finish_stages() const {
    const CsvCell* reduction = nullptr;
    for (const StageState& stage : states_) {
      if (stage.reduction != nullptr) reduction = stage.reduction;
      if (stage.weights != StageState::kGathering) continue;
      refuse_cell(file_, *stage.gather, "gathers weights that nothing uses", "remove it");
    }
    if (reduction == nullptr) return;
    for (std::size_t s = 0; s < stages_; ++s) {
      if (states_[s].reduction != nullptr) continue;
      refuse_cell(file_, *reduction,
                  fmt::format("{}REDUCE_GRAD is missing; gradients of a stage without one are "
                              "neither reduced nor scaled",
                              s),
                  "give every stage one, after its last W or B");
    }
  }

  const CsvCells& cells_;
  const PipelineCsv& csv_;
  const CsvIndex& index_;
  const std::string& file_;
  std::size_t stages_;
  std::vector<StageState> states_{stages_};
};

}  // namespace

void apply_communication_rules(const CsvCells& cells, const PipelineCsv& csv, const CsvIndex& index,
                               const std::string& file) {
  CommunicationRules(cells, csv, index, file).apply();
}

}  // namespace penstock
