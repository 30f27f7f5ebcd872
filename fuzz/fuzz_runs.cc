// penstock.runs/1: what is accepted is a list of plans with the times they took.
#include <algorithm>
#include <functional>
#include <set>

#include "core/values/runs.h"
#include "fuzz/fuzz.h"

namespace penstock {
namespace {

using fuzz::require;

void check_run(const MeasuredRun& run, std::size_t sources) {
  require(run.step_time > Duration{} && run.step_spread >= Duration{}, "a step without time");
  require(run.step_time <= kLongestDuration, "an endless step");
  require(run.count >= 1, "no step was measured");
  require(!run.reduce_gradients || *run.reduce_gradients > Duration{}, "a reduction without time");
  require(!run.peak_memory || *run.peak_memory >= Bytes{}, "negative memory");
  require(run.source >= 0 && static_cast<std::size_t>(run.source) < sources, "no such source");
  const Plan& plan = run.plan;
  require(plan.pipeline >= 1 && plan.chunks >= 1 && plan.data >= 1 && plan.tensor >= 1 &&
              plan.micro_batch_size >= 1 && plan.global_batch >= 1,
          "a degree or a size below 1");
  require(plan.cuts.size() == static_cast<std::size_t>(plan.stages()) + 1, "cuts and stages");
  require(std::ranges::adjacent_find(plan.cuts, std::greater_equal<>()) == plan.cuts.end(),
          "the cuts do not ascend");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto runs = fuzz::accepted(text, [](const std::string& file) {
    return read_runs(parse_json(file, fuzz::kFile), fuzz::kFile);
  });
  if (!runs) return 0;
  fuzz::remember(text);
  std::set<std::string> names;
  for (const MeasuredRun& run : runs->runs) {
    check_run(run, runs->sources.size());
    require(names.insert(run.name).second, "two runs of one name");
  }
  return 0;
}
