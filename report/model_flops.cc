#include "report/model_flops.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/words.h"

namespace penstock {
namespace {

// Of all devices of the plan together.
std::optional<double> peak_of(const ModelFlops& flops, const Plan& plan) {
  double peak = 0.0;
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    const auto known = std::find_if(flops.peaks.begin(), flops.peaks.end(), [&](const auto& one) {
      return one.first == plan.device_of_rank(rank);
    });
    if (known == flops.peaks.end()) return std::nullopt;
    peak += known->second * replicas_of_rank(plan, rank) * plan.devices_per_rank();
  }
  return peak;
}

}  // namespace

double flops_per_second_and_gpu(const ModelFlops& flops, const Plan& plan, Duration step_time) {
  return flops.per_sample * samples_per_second(plan, step_time) / plan.devices();
}

std::optional<double> mfu(const ModelFlops& flops, const Plan& plan, Duration step_time) {
  const std::optional<double> peak = peak_of(flops, plan);
  if (!peak || *peak <= 0.0) return std::nullopt;
  return flops_per_second_and_gpu(flops, plan, step_time) * plan.devices() / *peak;
}

std::string flops_text(const ModelFlops& flops, const Plan& plan, const Evaluation& evaluation) {
  const double rate = flops_per_second_and_gpu(flops, plan, evaluation.step_time);
  std::string text = significant(rate / 1e12, 3) + " TFLOP/s per GPU";
  const auto share = mfu(flops, plan, evaluation.step_time);
  const auto least = mfu(flops, plan, evaluation.step_time_high);
  const auto most = mfu(flops, plan, evaluation.step_time_low);
  if (!share || !least || !most) return text;
  const auto whole = [](double part) { return fixed(100.0 * part, 0); };
  return text + fmt::format(", MFU {} % ({} to {})", whole(*share), whole(*least), whole(*most));
}

Json to_json(const ModelFlops& flops) {
  return Json::object()
      .set("per_sample", flops.per_sample)
      .set("convention", std::string(text_of(flops.convention)));
}

}  // namespace penstock
