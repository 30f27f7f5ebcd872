// Rules of every file: equal numbers of stages per rank, each stage on one rank, every stage and
// micro-batch with one forward and either B or I and W. Checked by an index of (kind, stage, micro-
// batch) in one pass over the cells.
#include "trainers/pytorch/pipeline_csv_rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr const char* kBackwardHelp =
    "give every stage and micro-batch either one B, or one I and one W";

class Rules {
 public:
  Rules(const CsvCells& cells, const std::string& file) : cells_(cells), file_(file) {}

  PipelineCsv apply() {
    csv_.form = cells_.form;
    require_actions_in_rows();
    place_stages();
    require_equal_chunks();
    count_micro_batches();
    CsvIndex index(csv_.rank_of_stage.size(), static_cast<std::uint32_t>(csv_.micro_batches));
    fill(index);
    for (std::size_t s = 0; s < csv_.rank_of_stage.size(); ++s) require_compute(index, s);
    if (csv_.form == PipelineCsvForm::kComputeComms) {
      apply_communication_rules(cells_, csv_, index, file_);
    }
    set_lists();
    return std::move(csv_);
  }

 private:
  [[nodiscard]] std::size_t ranks() const { return cells_.begin.size() - 1; }

  void require_actions_in_rows() const {
    if (ranks() == 0) {
      throw_bad_input(file_ + ": the file is empty\nhelp: write one row per rank, as in 0F0,0B0");
    }
    for (std::size_t r = 0; r < ranks(); ++r) {
      if (cells_.begin[r] < cells_.begin[r + 1]) continue;
      throw_bad_input(
          fmt::format("{}:{}: no action for rank {}; every row is a rank, and every rank has a "
                      "stage\nhelp: remove the line, also at the end of the file",
                      file_, r + 1, r));
    }
  }

  void place_stages() {
    std::vector<const CsvCell*> first;  // by stage
    for (const CsvCell& cell : cells_.cells) {
      if (cell.stage.value >= first.size()) first.resize(cell.stage.value + std::size_t{1});
      const CsvCell*& seen = first[cell.stage.value];
      if (seen == nullptr) seen = &cell;
      if (seen->row == cell.row) continue;
      refuse_cell(file_, cell,
                  fmt::format("stage {} is on rank {} already ('{}'); PyTorch takes the placement "
                              "from the rows and has one rank for a stage",
                              cell.stage.value, seen->row, seen->text),
                  "move the action to its stage's row; two copies of a stage, as DualPipe has, "
                  "cannot be loaded");
    }
    for (std::size_t s = 0; s < first.size(); ++s) {
      if (first[s] == nullptr) refuse_missing_stage(s, first.size());
      csv_.rank_of_stage.push_back(static_cast<int>(first[s]->row));
    }
  }

  [[noreturn]] void refuse_missing_stage(std::size_t stage, std::size_t stages) const {
    const auto last = std::find_if(
        cells_.cells.begin(), cells_.cells.end(),
        [&](const CsvCell& cell) { return cell.stage.value + std::size_t{1} == stages; });
    refuse_cell(file_, *last,
                fmt::format("there is a stage {}, but no stage {}", stages - 1, stage),
                "number the stages from 0, without gaps");
  }

  void require_equal_chunks() {
    std::vector<std::size_t> chunks(ranks(), 0);
    for (const int rank : csv_.rank_of_stage) ++chunks[static_cast<std::size_t>(rank)];
    for (std::size_t r = 1; r < chunks.size(); ++r) {
      if (chunks[r] == chunks[0]) continue;
      throw_bad_input(
          fmt::format("{}:{}: rank {} has {} of the stages, rank 0 has {}\nhelp: give every rank "
                      "the same number of stages",
                      file_, r + 1, r, chunks[r], chunks[0]));
    }
    csv_.chunks = static_cast<int>(chunks[0]);
  }

  // M, and that there are forwards enough for it: tables for (stage, micro-batch) follow, and a
  // small file must not ask for large ones.
  void count_micro_batches() {
    const CsvCell* highest = nullptr;
    std::vector<std::size_t> forwards(csv_.rank_of_stage.size(), 0);
    for (const CsvCell& cell : cells_.cells) {
      if (!has_micro_batch(cell.kind)) continue;
      if (highest == nullptr || cell.micro_batch > highest->micro_batch) highest = &cell;
      if (cell.kind == ActionKind::kForward) ++forwards[cell.stage.value];
    }
    if (highest == nullptr) {
      throw_bad_input(file_ +
                      ": no F in the file\nhelp: give every stage an F of every micro-batch");
    }
    const std::size_t count = highest->micro_batch.value + std::size_t{1};
    for (std::size_t s = 0; s < forwards.size(); ++s) {
      if (forwards[s] < count) refuse_missing_forward(s, forwards[s], *highest);
    }
    // No text has 2^31 forwards.
    csv_.micro_batches = static_cast<int>(count);
  }

  [[noreturn]] void refuse_missing_forward(std::size_t stage, std::size_t forwards,
                                           const CsvCell& highest) const {
    std::vector<bool> seen(forwards + 1, false);
    for (const CsvCell& cell : cells_.cells) {
      const bool counts = cell.kind == ActionKind::kForward && cell.stage.value == stage &&
                          cell.micro_batch.value < seen.size();
      if (counts) seen[cell.micro_batch.value] = true;
    }
    const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
    const auto rank = static_cast<std::size_t>(csv_.rank_of_stage[stage]);
    throw_bad_input(fmt::format(
        "{}:{}: {}F{} is missing (rank {}); the file has micro-batches up to {} ('{}' in row {}), "
        "and every stage has one F of each\nhelp: add it, or correct the highest micro-batch",
        file_, rank + 1, stage, missing, rank, highest.micro_batch.value, name_of(highest),
        highest.row + 1));
  }

  void fill(CsvIndex& index) const {
    for (const CsvCell& cell : cells_.cells) {
      if (!has_micro_batch(cell.kind)) continue;
      const CsvCell*& first = index.at(cell.kind, cell.stage.value, cell.micro_batch.value);
      if (first != nullptr) {
        refuse_cell(file_, cell,
                    fmt::format("{} is in column {} already", name_of(cell), first->column + 1),
                    "keep one of them");
      }
      first = &cell;
    }
  }

  void require_compute(const CsvIndex& index, std::size_t stage) const {
    for (std::uint32_t m = 0; m < static_cast<std::uint32_t>(csv_.micro_batches); ++m) {
      const CsvCell* forward = index.find(ActionKind::kForward, stage, m);
      const CsvCell* whole = index.find(ActionKind::kFusedBackward, stage, m);
      const CsvCell* input = index.find(ActionKind::kInputGradient, stage, m);
      const CsvCell* weight = index.find(ActionKind::kWeightGradient, stage, m);
      const CsvCell* part = input != nullptr ? input : weight;
      // All forwards are there: M of them, all different.
      if (whole == nullptr && part == nullptr) {
        refuse_cell(file_, *forward, "has no backward", kBackwardHelp);
      }
      if (whole != nullptr && part != nullptr) {
        refuse_cell(file_, *part,
                    fmt::format("{} is there too, and is the whole backward", name_of(*whole)),
                    kBackwardHelp);
      }
      if (whole == nullptr && (input == nullptr || weight == nullptr)) {
        refuse_cell(file_, *part,
                    input == nullptr ? "is a W without its I" : "is an I without its W",
                    kBackwardHelp);
      }
      require_order(forward, whole != nullptr ? whole : input);
      if (weight != nullptr) require_order(input, weight);
    }
  }
  void require_order(const CsvCell* first, const CsvCell* second) const {
    if (first < second) return;
    refuse_cell(file_, *second,
                fmt::format("comes before {}, which is in column {} and which it needs",
                            name_of(*first), first->column + 1),
                "exchange them");
  }

  void set_lists() {
    csv_.lists.resize(ranks());
    for (std::size_t r = 0; r < ranks(); ++r) {
      csv_.lists[r].reserve(cells_.begin[r + 1] - cells_.begin[r]);
      for (std::size_t i = cells_.begin[r]; i < cells_.begin[r + 1]; ++i) {
        const CsvCell& cell = cells_.cells[i];
        Action action;
        action.kind = cell.kind;
        action.stage = cell.stage;
        action.micro_batch = cell.micro_batch;
        action.overlaps_next = cell.overlaps_next;
        csv_.lists[r].push_back(action);
        csv_.has_copies = csv_.has_copies || is_copy(cell.kind);
      }
    }
  }

  const CsvCells& cells_;
  const std::string& file_;
  PipelineCsv csv_;
};

}  // namespace

PipelineCsv apply_csv_rules(const CsvCells& cells, const std::string& file) {
  return Rules(cells, file).apply();
}

}  // namespace penstock
