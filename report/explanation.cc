// Says in the order in which a reader asks: what limits the step (compute, waiting, memory), what
// the busiest rank does, which wait is the longest and why, what is near. All numbers come from the
// Evaluation; nothing is replayed here. Compute counts as the limit from nine tenths of the
// makespan on, where no schedule could gain more than the rest.
#include "report/explanation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "report/measures.h"
#include "report/memory_table.h"
#include "report/model_flops.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/screen.h"
#include "report/simulation_report.h"
#include "report/words.h"

namespace penstock {
namespace {

struct Wait {
  std::string_view name;
  Duration time{};
};

Wait longest_wait(const RankTime& time) {
  const std::array<Wait, 6> waits{{{"warm-up", time.warm_up},
                                   {"drain", time.drain},
                                   {"imbalance", time.imbalance},
                                   {"order", time.order},
                                   {"transfers", time.transfer},
                                   {"barriers", time.barrier}}};
  return *std::max_element(waits.begin(), waits.end(),
                           [](const Wait& a, const Wait& b) { return a.time < b.time; });
}

// After the busiest; the first of several.
std::optional<std::size_t> next_busiest(const Evaluation& evaluation) {
  const std::size_t busiest = busiest_rank(evaluation);
  std::optional<std::size_t> next;
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    if (r == busiest) continue;
    if (!next || evaluation.ranks[r].time.busy > evaluation.ranks[*next].time.busy) next = r;
  }
  return next;
}

// Compute, waiting, memory: which of them would have to change for a shorter step. Compute is the
// limit from nine tenths of the makespan on.
std::string limits_of(const PlanFile& file, const Evaluation& evaluation, Screen screen) {
  const std::size_t busiest = busiest_rank(evaluation);
  const RankTime& time = evaluation.ranks.at(busiest).time;
  const Wait wait = longest_wait(time);
  const bool works = time.busy >= evaluation.makespan / 10 * 9;
  std::string verdict =
      fmt::format("{}: rank {}, the busiest, computes {} of {}; its longest wait is {} ({}).",
                  works ? "Compute is the limit" : "Waiting is the limit", busiest,
                  to_text(time.busy), to_text(evaluation.makespan), wait.name, to_text(wait.time));
  if (const auto next = next_busiest(evaluation)) {
    verdict += fmt::format(" Rank {}, the next busiest, computes {}.", *next,
                           to_text(evaluation.ranks[*next].time.busy));
  }
  const RankEvaluation& tight = evaluation.ranks.at(tightest_rank(evaluation));
  const double left = static_cast<double>(headroom(tight).count) /
                      static_cast<double>(std::max<std::int64_t>(1, tight.capacity.count));
  const std::string limit = memory_limit_text(file);
  return wrapped(verdict, screen.width(), "  ", "  ") +
         wrapped(fmt::format("Memory: {}{}. {} of it is free{}.", tightest_rank_text(evaluation),
                             limit.empty() ? "" : "; " + limit, percent(left),
                             left < 0.05 ? ": memory is a limit, too" : ""),
                 screen.width(), "  ", "  ");
}

// "10,236 tokens/s per GPU, 527 TFLOP/s per GPU, MFU 53 % (36 to 58; counts ...)"
std::string speed_of(const PlanFile& file, const Evaluation& evaluation, Screen screen) {
  const Duration step = evaluation.step_time;
  std::string speed = file.plan.sequence_length > 0
                          ? rate(tokens_per_second_and_gpu(file.plan, step)) + " tokens/s per GPU"
                          : rate(samples_per_second(file.plan, step)) + " samples/s";
  if (file.flops) {
    speed += fmt::format(", {}; MFU counts {}", flops_text(*file.flops, file.plan, evaluation),
                         text_of(file.flops->convention));
  }
  return wrapped("Speed: " + speed + ".", screen.width(), "  ", "  ");
}

std::string step_line(const Evaluation& evaluation) {
  return fmt::format("Step {}, between {} and {}\n\n", to_text(evaluation.step_time),
                     to_text(evaluation.step_time_low), to_text(evaluation.step_time_high));
}

}  // namespace

std::string explanation(const PlanFile& file, const Explanation& about, Screen screen) {
  const Evaluation& evaluation = about.evaluation;
  std::string out =
      fmt::format("What limits the step: {}, between {} and {}\n", to_text(evaluation.step_time),
                  to_text(evaluation.step_time_low), to_text(evaluation.step_time_high)) +
      limits_of(file, evaluation, screen) + speed_of(file, evaluation, screen);
  out += "\nPlan\n" + wrapped(title_of(file), screen.width(), "  ", "  ");
  out += fmt::format("\nWhere the time of rank {}, the busiest, goes\n", busiest_rank(evaluation));
  out += step_parts_table(evaluation.step_time, about.parts, screen);
  if (!about.work.terms.empty()) {
    out += fmt::format("\nCompute of rank {} for one micro-batch, all of its stages\n",
                       about.work.rank);
    out += work_terms_table(about.work.terms, screen);
  }
  out += "\nWhat a better balance would gain\n";
  out += what_if_table(evaluation.step_time, about.rearranged, screen);
  out += "\nSensitivity: what one change at a time would gain\n";
  out += sensitivity_text(about.sensitivities, screen);
  out += "\nMemory by rank (GiB)\n" + memory_table(evaluation, file.plan, screen);
  out += "\nSections of each stage\n" + stages_text(file.plan, file.section_names, screen);
  if (recompute_is_divided(file.plan)) {
    out += wrapped("Recompute: " + recompute_in_words(file.plan) + ".", screen.width(), "  ", "  ");
  }
  if (!evaluation.assumptions.empty()) {
    out += "\nAssumptions (share of the busiest rank's compute time)\n" +
           assumptions_text(evaluation.assumptions, screen);
  }
  if (!file.not_searched.empty()) out += "\nNot searched\n" + list_text(file.not_searched, screen);
  return out;
}

std::string why_not_report(const PlanFile& file, const Evaluation& evaluation, const WhyNot& why,
                           Screen screen) {
  return heading_of(file, screen) + step_line(evaluation) +
         why_not_text(why, file.plan, evaluation, screen);
}

}  // namespace penstock
