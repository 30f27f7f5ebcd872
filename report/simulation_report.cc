#include "report/simulation_report.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "report/gantt.h"
#include "report/measures.h"
#include "report/memory_table.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/time_table.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<24}{}\n", name, value);
}

std::string header(const PlanFile& file) {
  return wrapped(fmt::format("{} on {}: {}, global batch {}, executor {}", file.model,
                             file.cluster.name, plan_line(file.plan), file.plan.global_batch,
                             file.executor.name),
                 100, "", "  ") +
         '\n';
}

std::string speeds(const Plan& plan, Duration step) {
  std::string samples = rate(samples_per_second(plan, step)) + " samples/s";
  if (plan.sequence_length == 0) return samples;
  return samples + ", " + rate(tokens_per_second(plan, step)) + " tokens/s";
}

std::string summary(const PlanFile& file, const Evaluation& evaluation, const std::string& note) {
  std::string out = line("step", exact(evaluation.step_time) + ", " + note);
  out += line("between", fmt::format("{} and {}", to_text(evaluation.step_time_low),
                                     to_text(evaluation.step_time_high)));
  out += line("speed", speeds(file.plan, evaluation.step_time));
  out += line("makespan", exact(evaluation.makespan));
  out += line("longest span of a rank", exact(evaluation.longest_span));
  out += line("busiest rank's work", exact(evaluation.ideal));
  out += line("bubble by makespan", percent(bubble_rate(evaluation.makespan, evaluation.ideal)));
  out += line("bubble by longest span",
              percent(bubble_rate(evaluation.longest_span, evaluation.ideal)));
  if (evaluation.usd_per_step > 0.0) {
    std::string price = "$" + significant(evaluation.usd_per_step, 4) + " per step";
    if (file.plan.sequence_length > 0) {
      price += ", $" + significant(usd_per_million_tokens(file.plan, evaluation), 4) +
               " per million tokens";
    }
    out += line("price", price);
  }
  return out;
}

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

// Work, waiting, memory: which of them would have to change for a shorter step. Work binds from
// nine tenths of the makespan on.
std::string binding(const Evaluation& evaluation) {
  const std::size_t busiest = busiest_rank(evaluation);
  const RankTime& time = evaluation.ranks.at(busiest).time;
  const Wait wait = longest_wait(time);
  const bool works = time.busy >= evaluation.makespan / 10 * 9;
  const std::string verdict = fmt::format(
      "{}: rank {}, the busiest, works {} of a makespan of {}; most of its waiting is {} ({}).",
      works ? "Work binds" : "Waiting binds", busiest, to_text(time.busy),
      to_text(evaluation.makespan), wait.name, to_text(wait.time));
  const RankEvaluation& tight = evaluation.ranks.at(tightest_rank(evaluation));
  const double left = static_cast<double>(headroom(tight).count) /
                      static_cast<double>(std::max<std::int64_t>(1, tight.capacity.count));
  return wrapped(verdict, 100, "  ", "  ") +
         wrapped(fmt::format("Memory: {}. {} of its capacity is left{}.",
                             tightest_rank_text(evaluation), percent(left),
                             left < 0.05 ? ": memory binds too" : ""),
                 100, "  ", "  ");
}

}  // namespace

std::string simulation_report(const PlanFile& file, const Evaluation& evaluation,
                              const Timeline& timeline, const std::string& note) {
  return header(file) + summary(file, evaluation, note) +
         "\nTime by rank (share of the makespan)\n" + time_table(evaluation, file.plan) +
         "\nMemory by rank (GiB)\n" + memory_table(evaluation, file.plan) + "\nOne step\n" +
         gantt(file.program, timeline);
}

std::string explanation(const PlanFile& file, const Evaluation& evaluation,
                        const std::vector<WhatIf>& changes) {
  std::string out = header(file);
  out += fmt::format("Step {}, between {} and {}\n\n", exact(evaluation.step_time),
                     to_text(evaluation.step_time_low), to_text(evaluation.step_time_high));
  out += "What binds it\n" + binding(evaluation);
  out += fmt::format("\nWhere the time of the busiest rank ({}) goes\n", busiest_rank(evaluation));
  out += busiest_rank_time(evaluation);
  out += "\nWhat each change would gain (the same plan, replayed)\n";
  out += what_if_table(evaluation.step_time, changes);
  out += "\nMemory by rank (GiB)\n" + memory_table(evaluation, file.plan);
  out += "\nStages and their sections (stage s on rank s mod P)\n" +
         stages_text(file.plan, file.section_names);
  if (!evaluation.assumptions.empty()) {
    out += "\nWhat the prediction rests on (share of the busiest rank's compute time)\n" +
           assumptions_text(evaluation.assumptions);
  }
  if (!file.not_searched.empty()) out += "\nNot searched\n" + list_text(file.not_searched);
  return out;
}

std::string check_text(const CheckReport& report, const std::string& file) {
  if (report.findings.empty()) {
    Bytes peak;
    for (const Bytes bytes : report.memory) peak = std::max(peak, bytes);
    return fmt::format("{}: no findings; the checker's own replay takes {}, its worst rank {}\n",
                       file, exact(report.replayed), to_text(peak));
  }
  std::string out = fmt::format(
      "{}: {}\n", file, count_of(static_cast<std::int64_t>(report.findings.size()), "finding"));
  for (const Finding& finding : report.findings) {
    out += wrapped(finding.place + ": " + finding.message, 100, "  ", "    ");
  }
  return out;
}

}  // namespace penstock
