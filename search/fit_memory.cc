#include "search/fit_memory.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "costmodel/fit_terms.h"

namespace penstock {
namespace {

enum Term : std::size_t { kBytesPerParameter, kActivations, kReserve, kTerms };

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
// Peaks repeat within 2 %, so one counts as this many of step times, which repeat within kOneRun.
constexpr double kWeight = (kOneRun / 0.02) * (kOneRun / 0.02);

double count(Bytes bytes) { return static_cast<double>(bytes.count); }

std::vector<FitRun> fit_runs(const std::vector<MemoryRun>& runs) {
  std::vector<FitRun> rows;
  rows.reserve(runs.size());
  for (const MemoryRun& run : runs) {
    rows.push_back({run.measured, kWeight, run.rest, {run.parameters, run.activations, 1.0}});
  }
  return rows;
}

}  // namespace

MemoryRun memory_run(const Evaluation& evaluation, const TrainingState& training,
                     std::optional<Bytes> measured) {
  MemoryRun run;
  if (evaluation.ranks.empty()) return run;
  const auto fullest = std::max_element(evaluation.ranks.begin(), evaluation.ranks.end(),
                                        [](const RankEvaluation& a, const RankEvaluation& b) {
                                          return a.memory.total() < b.memory.total();
                                        });
  const MemoryUse& use = fullest->memory;
  const double per_parameter = count(training.optimizer_bytes_per_parameter);
  run.measured = measured ? count(*measured) : 0.0;
  run.parameters = per_parameter > 0.0 ? count(use.optimizer_state) / per_parameter : 0.0;
  run.activations = count(use.stash) + count(use.working_peak);
  run.reserve = count(use.reserve);
  run.rest = count(use.total()) - run.activations - run.reserve;
  return run;
}

MemoryFactors fit_memory(const std::vector<MemoryRun>& runs) {
  MemoryFactors memory;
  if (runs.empty()) return memory;
  double reserve = 0.0;
  for (const MemoryRun& run : runs) reserve += run.reserve / static_cast<double>(runs.size());
  const std::vector<FitTerm> terms{
      {0.0, -1, 4.0}, {1.0, -1, 0.2}, {reserve, -1, std::max(reserve / 4.0, kGiB)}};
  TermChoice choice;
  choice.always = TermSet{false, false, true};
  choice.most_terms = (runs.size() - 1) / 2;
  choice.least_gain = 0.5 * kOneRun * kOneRun;
  TermFit fit = choose_terms(terms, fit_runs(runs), choice);
  if (!fit.fitted[kReserve]) return memory;
  // Bytes per parameter are whole; the others make up for it.
  const double whole = std::floor(fit.values[kBytesPerParameter] + 0.5);
  if (fit.fitted[kBytesPerParameter]) {
    std::vector<MemoryRun> rest = runs;
    for (MemoryRun& run : rest) run.rest += whole * run.parameters;
    TermSet others = fit.fitted;
    others[kBytesPerParameter] = false;
    if (auto again = fit_terms(terms, fit_runs(rest), others)) fit = std::move(*again);
  }
  memory.bytes_per_parameter = static_cast<int>(whole);
  memory.activations = std::floor(fit.values[kActivations] * 1e6 + 0.5) / 1e6;
  memory.reserve = Bytes{static_cast<std::int64_t>(fit.values[kReserve])};
  return memory;
}

}  // namespace penstock
