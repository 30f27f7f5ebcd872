#include "report/page/verdict.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/plan_answer.h"
#include "report/plan_table.h"
#include "report/words.h"

namespace penstock {
namespace {

// No measured time is this far off (docs/cost_model.md, "Uncertainty").
constexpr double kLeastOfEstimates = 0.2;

// Of a plan that is shown although no trainer could run it.
std::string misfit_text(const Evaluation& evaluation) {
  const std::size_t fullest = tightest_rank(evaluation);
  const Bytes left = headroom(evaluation.ranks[fullest]);
  if (left.count >= 0) return "";
  return fmt::format(" It does not fit: PP rank {} needs {} more memory than it has.", fullest,
                     to_text(Bytes{-left.count}));
}

}  // namespace

std::string verdict_text(const Plan& plan, const Evaluation& evaluation, int gpus,
                         const std::optional<ModelFlops>& flops) {
  if (evaluation.ranks.empty()) return "Use " + layout_line(plan) + ".";
  PlanAnswer about;
  about.gpus = gpus > 0 ? gpus : plan.devices();
  about.flops = flops;
  return joined(plan_sentences(plan, evaluation, about), " ") + misfit_text(evaluation);
}

std::string confidence_of(const Evaluation& evaluation) {
  const auto rests_on = [&](std::string_view start) {
    return std::any_of(evaluation.assumptions.begin(), evaluation.assumptions.end(),
                       [&](const Assumption& one) { return one.text.starts_with(start); });
  };
  const bool far_off = relative_uncertainty(evaluation) >= kLeastOfEstimates;
  if (far_off || rests_on("compute times from a datasheet")) return "estimated";
  return rests_on("calibrated on ") ? "calibrated" : "measured";
}

}  // namespace penstock
