// PyTorch's pipeline CSV, one row of cells per rank (docs/file_formats.md): read, with every rule
// that PyTorch keeps and those it should, and written. Reading is a function of the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/values/program.h"
#include "core/values/schedule.h"

namespace penstock {

enum class PipelineCsvForm {
  kComputeOnly,   // F, I, W, B, OVERLAP_F_B and blanks: PyTorch adds the communication
  kComputeComms,  // every action of the rank, carried out as written
};

// The dialect of 2024, in which B is the input gradient and BW the whole backward.
enum class LegacyCsv { kRefuse, kTranslate };

// Lists that keep the rules: what is in one of these can be carried out.
struct PipelineCsv {
  PipelineCsvForm form = PipelineCsvForm::kComputeOnly;
  int chunks = 1;                          // V, stages per rank
  int micro_batches = 1;                   // M
  std::vector<int> rank_of_stage;          // S = P * V entries
  std::vector<std::vector<Action>> lists;  // by rank; waits_for and group are not set
  bool has_copies = false;  // LOAD or STORE, which PyTorch's own files lack (and OPT)

  [[nodiscard]] int ranks() const { return static_cast<int>(lists.size()); }
  bool operator==(const PipelineCsv&) const = default;
};

// `file` is its name in messages. Error{kBadInput} with row, column, cell and remedy.
PipelineCsv read_pipeline_csv(std::string_view text, const std::string& file,
                              LegacyCsv legacy = LegacyCsv::kRefuse);

// Its compute actions. Lowering adds sends and receives in PyTorch's order, whatever the file held.
Schedule schedule_of(const PipelineCsv& csv, std::string name);

// What a compute_comms file says, its order of sends and receives included. With `recompute` an R
// stands before every backward; a file with LOAD needs slots.
Program program_of(const PipelineCsv& csv, std::string name, bool recompute = false,
                   int weight_slots = 0);

// The compute_only form. Error{kBadInput} for schedules that PyTorch's file cannot hold: two copies
// of the weights, a rule that changes the order at run time.
std::string write_pipeline_csv(const Schedule& schedule);

// The compute_comms form, of a Program of one pipeline. Left out is what the trainer does by
// itself: recomputes (inside PyTorch's backward), reductions of tied weights, and everything from
// the norm on.
std::string write_pipeline_csv(const Program& program);

}  // namespace penstock
