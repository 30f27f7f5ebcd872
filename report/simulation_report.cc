// What `simulate` and `check` print about one plan file. A name column of 24 characters holds the
// summary; times and memory by rank are tables, and the step is drawn where its Program was kept.
// MFU is printed only from the FLOP in the plan file; without them the text says where to get it.
#include "report/simulation_report.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/gantt.h"
#include "report/measures.h"
#include "report/memory_table.h"
#include "report/model_flops.h"
#include "report/plan_table.h"
#include "report/screen.h"
#include "report/time_table.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kLongest = 200;  // a line of a file

std::string line(std::string_view name, const std::string& value, Screen screen) {
  return wrapped(value, screen.width(kLongest), fmt::format("{:<24}", name), std::string(24, ' '));
}

std::string speeds(const Plan& plan, Duration step) {
  std::string samples = rate(samples_per_second(plan, step)) + " samples/s";
  if (plan.sequence_length == 0) return samples;
  return fmt::format("{}, {} tokens/s, {} tokens/s per GPU", samples,
                     rate(tokens_per_second(plan, step)),
                     rate(tokens_per_second_and_gpu(plan, step)));
}

std::string flops_of(const ModelFlops& flops, const Plan& plan, const Evaluation& evaluation) {
  return fmt::format("{}; counts {}", flops_text(flops, plan, evaluation),
                     text_of(flops.convention));
}

// Of a model without tokens nobody asks for it.
std::string flops_line(const PlanFile& file, const Evaluation& evaluation, Screen screen) {
  constexpr std::string_view kName = "model FLOP";
  if (file.flops) return line(kName, flops_of(*file.flops, file.plan, evaluation), screen);
  if (!file.plan.has_even_batch()) {
    return line(kName, "not known for micro-batches of different shapes, so there is no MFU",
                screen);
  }
  if (file.plan.sequence_length == 0) return "";
  return line(kName,
              "not in this plan file, so there is no MFU; penstock explain works it out from the "
              "model",
              screen);
}

std::string summary(const PlanFile& file, const Evaluation& evaluation, const std::string& note,
                    Screen screen) {
  std::string out = line("step", to_text(evaluation.step_time) + ", " + note, screen);
  out += line("between",
              fmt::format("{} and {}", to_text(evaluation.step_time_low),
                          to_text(evaluation.step_time_high)),
              screen);
  out += line("speed", speeds(file.plan, evaluation.step_time), screen);
  out += flops_line(file, evaluation, screen);
  out += line("makespan", to_text(evaluation.makespan), screen);
  out += line("longest span of a rank", to_text(evaluation.longest_span), screen);
  out += line("busiest rank computes", to_text(evaluation.ideal), screen);
  out += line("bubble by makespan", percent(bubble_rate(evaluation.makespan, evaluation.ideal)),
              screen);
  out += line("idle, mean of all ranks", percent(idle_share(file.plan, evaluation)), screen);
  if (evaluation.usd_per_step > 0.0) {
    std::string price = "$" + significant(evaluation.usd_per_step, 4) + " per step";
    if (file.plan.sequence_length > 0) {
      price += ", $" + significant(usd_per_million_tokens(file.plan, evaluation), 4) +
               " per million tokens";
    }
    out += line("price", price, screen);
  }
  if (const std::string limit = memory_limit_text(file); !limit.empty()) {
    out += line("memory", limit, screen);
  }
  return out;
}

}  // namespace

std::string title_of(const PlanFile& file) {
  return fmt::format("{} on {}: {}, global batch {}, executor {}", file.model, file.cluster.name,
                     plan_line(file.plan), file.plan.global_batch, file.executor.name);
}

std::string heading_of(const PlanFile& file, Screen screen) {
  return wrapped(title_of(file), screen.width(), "", "  ") + '\n';
}

std::string simulation_report(const PlanFile& file, const Evaluation& evaluation,
                              const Timeline& timeline, const std::string& note, Screen screen) {
  return heading_of(file, screen) + summary(file, evaluation, note, screen) +
         "\nTime by rank (share of the makespan)\n" + time_table(evaluation, file.plan, screen) +
         "\nMemory by rank (GiB)\n" + memory_table(evaluation, file.plan, screen) + "\nOne step\n" +
         (timeline.end.empty() ? not_drawn_text(file.plan)
                               : gantt(file.program, timeline, screen, file.plan.kinds()));
}

std::string not_drawn_text(const Plan& plan) {
  return fmt::format(
      "{} stages times {} micro-batches are too many to draw here; penstock trace "
      "draws the step of the plan file.\n",
      plan.stages(), micro_batches_of(plan));
}

namespace {

std::string fullest_rank(const CheckReport& report) {
  Bytes peak;
  for (const Bytes bytes : report.memory) peak = std::max(peak, bytes);
  return to_text(peak);
}

}  // namespace

std::string rolled_up_check_text(const CheckReport& report, const std::string& file) {
  return fmt::format(
      "{}: no findings; the replay of the rolled-up lists takes {}, its fullest rank {}\n"
      "  (the checker's own replay: of the same plan with fewer micro-batches)\n",
      file, to_text(report.replayed), fullest_rank(report));
}

std::string check_text(const CheckReport& report, const std::string& file, Screen screen) {
  if (report.findings.empty()) {
    return fmt::format("{}: no findings; the checker's own replay takes {}, its fullest rank {}\n",
                       file, to_text(report.replayed), fullest_rank(report));
  }
  std::string out = fmt::format("{}: {}\n", file, count_of(std::ssize(report.findings), "finding"));
  for (const Finding& finding : report.findings) {
    out += wrapped(finding.place + ": " + finding.message, screen.width(), "  ", "    ");
  }
  return out;
}

}  // namespace penstock
