#include "report/page/verdict.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/plan_table.h"
#include "report/words.h"

namespace penstock {
namespace {

// No measured time is this far off (docs/cost_model.md, "Uncertainty").
constexpr double kLeastOfEstimates = 0.2;

std::string speed_text(const Plan& plan, Duration step) {
  if (plan.sequence_length > 0) return rate(tokens_per_second(plan, step)) + " tokens/s";
  return rate(samples_per_second(plan, step)) + " samples/s";
}

std::string memory_text(const Evaluation& evaluation) {
  if (evaluation.ranks.empty()) return "memory unknown";
  const std::size_t tightest = tightest_rank(evaluation);
  const Bytes left = headroom(evaluation.ranks[tightest]);
  if (left.count < 0) {
    return fmt::format("does not fit: PP rank {} needs {} more memory than it has", tightest,
                       to_text(Bytes{-left.count}));
  }
  return fmt::format("{} left on the fullest rank (PP rank {})", to_text(left), tightest);
}

}  // namespace

std::string verdict_text(const Plan& plan, const Evaluation& evaluation) {
  return fmt::format("On {}, use {}: {} a step ({} to {}), {}; {}.",
                     count_of(plan.devices(), "GPU"), layout_line(plan),
                     to_text(evaluation.step_time), to_text(evaluation.step_time_low),
                     to_text(evaluation.step_time_high), speed_text(plan, evaluation.step_time),
                     memory_text(evaluation));
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
