// PyTorch's pipeline CSV, in both dialects: what is accepted can be carried out, and is written and
// read again as the same lists.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "simulator/lower.h"
#include "simulator/simulate.h"
#include "trainers/pytorch/pipeline_csv.h"

namespace penstock {
namespace {

using fuzz::require;

// Every action takes 1 us.
StagePrices equal_prices(int stages) {
  constexpr Price kEach{Duration(1000), Duration{}};
  ComputePrice compute;
  compute.forward = compute.input_gradient = compute.weight_gradient = compute.fused_backward =
      kEach;
  StagePrices prices;
  prices.stages = stages;
  prices.compute.assign(static_cast<std::size_t>(stages), compute);
  prices.transfer.assign(static_cast<std::size_t>(stages), {kEach, kEach});
  prices.transfer.back() = {};
  prices.step.resize(static_cast<std::size_t>(stages));
  return prices;
}

void check_replay(const Program& program, int stages) {
  const TimelineSummary summary = simulate_summary(program, equal_prices(stages), {});
  require(summary.makespan >= summary.ideal && summary.ideal > Duration{}, "it takes no time");
}

void check_lists(const PipelineCsv& csv) {
  const Schedule schedule = schedule_of(csv, "mine");
  const std::string written = write_pipeline_csv(schedule);
  const PipelineCsv again = read_pipeline_csv(written, fuzz::kFile);
  require(write_pipeline_csv(schedule_of(again, "mine")) == written, "it reads as other lists");
  PipelineInput input;
  input.schedule = schedule;
  input.micro_batches.resize(static_cast<std::size_t>(schedule.micro_batches));
  check_replay(lower({input}, {}), schedule.stages());
}

bool holds_updates(const PipelineCsv& csv) {
  return std::ranges::any_of(csv.lists, [](const std::vector<Action>& list) {
    return std::ranges::count(list, ActionKind::kOptimizer, &Action::kind) > 0;
  });
}

// Updates and copies to and from the host (in as many slots as a rank has stages) are read and
// replayed, but never written.
void check_program(const PipelineCsv& csv) {
  const Program program = program_of(csv, "mine", false, csv.has_copies ? csv.chunks : 0);
  if (!csv.has_copies && !holds_updates(csv)) {
    const PipelineCsv again = read_pipeline_csv(write_pipeline_csv(program), fuzz::kFile);
    require(program_of(again, "mine") == program, "it reads as another Program");
  }
  check_replay(program, static_cast<int>(csv.rank_of_stage.size()));
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const LegacyCsv legacy : {LegacyCsv::kRefuse, LegacyCsv::kTranslate}) {
    const auto csv = fuzz::accepted(text, [legacy](const std::string& file) {
      return read_pipeline_csv(file, fuzz::kFile, legacy);
    });
    if (!csv) continue;
    fuzz::remember(text);
    csv->form == PipelineCsvForm::kComputeComms ? check_program(*csv) : check_lists(*csv);
  }
  return 0;
}
