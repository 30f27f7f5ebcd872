// The time of the busiest rank is divided into compute, waits for other ranks, transfers, and
// reductions with the optimizer. The differences of these parts between two plans are sorted, and
// the largest is the reason; the second is added where it is at least half as large. A plan for
// another batch is compared by samples per second, since its step does other work.
#include "report/page/plan_reasons.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "report/measures.h"
#include "report/words.h"

namespace penstock {
namespace {

struct Side {
  const Plan& plan;
  const Evaluation& evaluation;

  [[nodiscard]] const RankTime& time() const {
    return evaluation.ranks.at(busiest_rank(evaluation)).time;
  }
  [[nodiscard]] Duration waits() const {
    return time().warm_up + time().drain + time().imbalance + time().order;
  }
  [[nodiscard]] std::string share_of_waits() const {
    const auto makespan = static_cast<double>(evaluation.makespan.count());
    return percent(makespan > 0.0 ? static_cast<double>(waits().count()) / makespan : 0.0);
  }
};

std::string against(Duration one, Duration other) {
  return fmt::format("{} instead of {}", to_text(one), to_text(other));
}

// What makes the busiest rank compute longer, or not as long.
std::string compute_text(const Side& plan, const Side& first, bool more) {
  const int devices = plan.plan.devices(), others = first.plan.devices();
  if ((devices < others) == more && devices != others) {
    return fmt::format("{} GPUs ({} instead of {})", more ? "fewer" : "more", devices, others);
  }
  std::string text = fmt::format("{} compute on the busiest rank ({}", more ? "more" : "less",
                                 against(plan.time().busy, first.time().busy));
  const std::string recompute = recompute_in_short(plan.plan);
  const std::string against_recompute = recompute_in_short(first.plan);
  if (recompute != against_recompute) {
    text += fmt::format("; recompute {} instead of {}", recompute, against_recompute);
  } else if (plan.plan.context != first.plan.context) {
    text += fmt::format("; CP {} instead of {}", plan.plan.context, first.plan.context);
  } else if (plan.plan.expert != first.plan.expert) {
    text += fmt::format("; EP {} instead of {}", plan.plan.expert, first.plan.expert);
  } else if (plan.plan.tensor != first.plan.tensor) {
    text += fmt::format("; TP {} instead of {}", plan.plan.tensor, first.plan.tensor);
  } else if (plan.plan.micro_batch_size != first.plan.micro_batch_size) {
    text += fmt::format("; mbs {} instead of {}", plan.plan.micro_batch_size,
                        first.plan.micro_batch_size);
  }
  return text + ")";
}

struct Cause {
  Duration difference{};
  std::string text;
};

// The parts that differ in the direction of the whole, largest first.
std::vector<Cause> causes_of(const Side& plan, const Side& first, bool more) {
  const std::string_view longer = more ? "longer" : "shorter";
  std::vector<Cause> causes{{plan.time().busy - first.time().busy, compute_text(plan, first, more)},
                            {plan.waits() - first.waits(),
                             fmt::format("{} waits for other ranks ({} of the step instead of {})",
                                         longer, plan.share_of_waits(), first.share_of_waits())},
                            {plan.time().transfer - first.time().transfer,
                             fmt::format("{} waits for pipeline transfers ({})", longer,
                                         against(plan.time().transfer, first.time().transfer))},
                            {plan.time().barrier - first.time().barrier,
                             fmt::format("{} waits for reductions and the optimizer ({})", longer,
                                         against(plan.time().barrier, first.time().barrier))}};
  for (Cause& cause : causes) {
    if (!more) cause.difference = -cause.difference;
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const Cause& a, const Cause& b) { return a.difference > b.difference; });
  return causes;
}

// The largest cause, and the second where it is at least half as large.
std::string causes_text(const Side& plan, const Side& first, bool more) {
  const std::vector<Cause> causes = causes_of(plan, first, more);
  if (causes[0].difference <= Duration{}) return "";
  std::string text = ": " + causes[0].text;
  if (2 * causes[1].difference >= causes[0].difference) text += ", " + causes[1].text;
  return text;
}

std::string memory_text(const Side& plan, const Side& first) {
  const Bytes more = plan.evaluation.peak_memory() - first.evaluation.peak_memory();
  constexpr std::int64_t kWorthTelling = std::int64_t{100} << 20;
  if (more.count <= -kWorthTelling)
    return fmt::format("; needs {} less", to_text(Bytes{-more.count}));
  if (more.count >= kWorthTelling) return fmt::format("; needs {} more", to_text(more));
  return "";
}

}  // namespace

std::string reason_behind(const Plan& first, const Evaluation& first_evaluation, const Plan& plan,
                          const Evaluation& evaluation) {
  const Side one{first, first_evaluation}, other{plan, evaluation};
  // Plans may differ in their batch: what counts is speed.
  const double ratio = samples_per_second(first, first_evaluation.step_time) /
                       samples_per_second(plan, evaluation.step_time);
  if (evaluation.ranks.empty() || first_evaluation.ranks.empty()) return "";
  if (plan.global_batch != first.global_batch) {
    return fmt::format(
        "answers another question: gbs {} instead of {}; its samples take {} times as long",
        plan.global_batch, first.global_batch, fixed(ratio, 3));
  }
  if (evaluation.step_time == first_evaluation.step_time) {
    return "as fast as plan 1" + memory_text(other, one);
  }
  const bool slower = evaluation.step_time > first_evaluation.step_time;
  return fmt::format("{} {} than plan 1", percent(slower ? ratio - 1.0 : 1.0 - ratio),
                     slower ? "slower" : "faster") +
         causes_text(other, one, slower) + memory_text(other, one);
}

}  // namespace penstock
