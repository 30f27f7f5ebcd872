// The grammar of PyTorch's pipeline CSV: from a text to actions, each with its place in the file.
// How they fit together is another question (trainers/pytorch/pipeline_csv_rules.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/action_kind.h"
#include "core/values/ids.h"
#include "trainers/pytorch/pipeline_csv.h"

namespace penstock {

// One action. The members of an OVERLAP are two, the forward first, with one place.
struct CsvCell {
  ActionKind kind = ActionKind::kForward;
  bool overlaps_next = false;
  StageId stage;
  MicroBatchId micro_batch = kNoMicroBatch;
  std::uint32_t row = 0, column = 0;  // from 0; the row is the rank
  std::string_view text;              // of the whole cell, a part of the file's
};

struct CsvCells {
  PipelineCsvForm form = PipelineCsvForm::kComputeOnly;
  std::vector<CsvCell> cells;
  std::vector<std::size_t> begin;  // rows + 1 offsets into cells
};

CsvCells read_csv_cells(std::string_view text, const std::string& file, LegacyCsv legacy);

// "FILE:ROW:COLUMN: 'TEXT' (rank R): WHAT\nhelp: HELP" as Error{kBadInput}; rows and columns count
// from 1, ranks from 0.
[[noreturn]] void refuse_cell(const std::string& file, const CsvCell& cell, const std::string& what,
                              const std::string& help);

// "2F1", as PyTorch writes it.
std::string name_of(const CsvCell& cell);

}  // namespace penstock
