// What makes the cells of a pipeline CSV a schedule: PyTorch's rules, and what it leaves to chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainers/pytorch/pipeline_csv_cells.h"

namespace penstock {

// Error{kBadInput} at the first cell that breaks a rule. Whether the lists wait for each other is
// not among them.
PipelineCsv apply_csv_rules(const CsvCells& cells, const std::string& file);

// Where the actions of a micro-batch stand.
class CsvIndex {
 public:
  CsvIndex(std::size_t stages, std::uint32_t micro_batches)
      : micro_batches_(micro_batches),
        stride_(stages * micro_batches),
        cells_(stride_ * kKindsWithMicroBatch, nullptr) {}

  [[nodiscard]] const CsvCell*& at(ActionKind kind, std::size_t stage, std::uint32_t m) {
    return cells_[place(kind, stage, m)];
  }
  // Null when there is none.
  [[nodiscard]] const CsvCell* find(ActionKind kind, std::size_t stage, std::uint32_t m) const {
    return cells_[place(kind, stage, m)];
  }
  // The I or the B.
  [[nodiscard]] const CsvCell* backward(std::size_t stage, std::uint32_t m) const {
    const CsvCell* whole = find(ActionKind::kFusedBackward, stage, m);
    return whole != nullptr ? whole : find(ActionKind::kInputGradient, stage, m);
  }

 private:
  static constexpr std::size_t kKindsWithMicroBatch =
      static_cast<std::size_t>(ActionKind::kReceiveGradient) + 1;
  [[nodiscard]] std::size_t place(ActionKind kind, std::size_t stage, std::uint32_t m) const {
    return static_cast<std::size_t>(kind) * stride_ + stage * micro_batches_ + m;
  }

  std::size_t micro_batches_, stride_;
  std::vector<const CsvCell*> cells_;
};

// The rules of a compute_comms file. Stages, forwards and backwards are known to be in order.
void apply_communication_rules(const CsvCells& cells, const PipelineCsv& csv, const CsvIndex& index,
                               const std::string& file);

}  // namespace penstock
