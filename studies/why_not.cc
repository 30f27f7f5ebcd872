#include "studies/why_not.h"

#include <cstdint>

#include <fmt/format.h>

#include "report/words.h"
#include "search/relative_interval.h"
#include "studies/contradictions.h"

namespace penstock {
namespace {

// As many GPUs as the plan uses, or as the choices need if that is more.
void widen(Question& question, const Plan& plan, std::int64_t needed, WhyNot& why) {
  if (needed <= plan.devices()) return;
  question.request.gpus = static_cast<int>(needed);
  why.remark = fmt::format("It needs {}, {} more than this plan uses.", count_of(needed, "GPU"),
                           needed - plan.devices());
}

}  // namespace

WhyNot why_not(const PlanFile& file, Question question, SearchProgress& progress) {
  WhyNot why;
  const std::int64_t needed = devices_needed(question.request.pins);
  const ClusterSpec& cluster = question.cluster.value;
  why.contradictions =
      contradictions_of(question, {device_count(cluster), fmt::format("{} has", cluster.name)});
  if (!why.contradictions.empty()) return why;
  widen(question, file.plan, needed, why);
  why.result = best_plans(question.inputs(), question.request, progress);
  if (why.result.best.empty()) return why;
  RankedPlan asked_about;
  asked_about.plan = file.plan;
  asked_about.evaluation = file.prediction;
  why.relative_half_width = relative_half_width(asked_about, why.result.best.front());
  return why;
}

}  // namespace penstock
