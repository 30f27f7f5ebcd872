// Columns appear only where a plan has something to show in them (prices, tokens, device types),
// and the legend below explains the columns that survived the width of the terminal. Rows keep the
// order of the search. The layout line of a plan is its shortest unambiguous name.
#include "report/plan_table.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "core/values/expert_grid.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "report/measures.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/ties.h"
#include "report/words.h"

namespace penstock {
namespace {

// What the columns have to show, over all rows.
struct Shown {
  bool tokens = false, price = false;
  bool devices = false;  // plans on different devices
  Decisions decisions;
  explicit Shown(const std::vector<RankedPlan>& plans) {
    for (const RankedPlan& ranked : plans) {
      tokens = tokens || ranked.plan.sequence_length > 0;
      price = price || ranked.evaluation.usd_per_step > 0.0;
      decisions.add(ranked.plan);
      devices = devices || ranked.plan.is_mixed() || ranked.plan.device != plans[0].plan.device;
    }
  }
};

std::string speed_text(const Plan& plan, Duration step, const Shown& shown) {
  return rate(shown.tokens ? tokens_per_second(plan, step) : samples_per_second(plan, step));
}

std::string memory_text(const Evaluation& evaluation) {
  const RankEvaluation& rank = evaluation.ranks.at(tightest_rank(evaluation));
  return fmt::format("{}/{}", gib(rank.memory.total()), gib(rank.capacity));
}

std::string mark_text(const RankedPlan& ranked) {
  return fmt::format("{}{}", ranked.tied_with_best ? "=" : "", ranked.on_pareto_front ? "*" : "");
}

// What is next to each other; nothing to choose where there is only one of either.
std::string placement_text(const Plan& plan) {
  if (plan.pipeline == 1 || plan.data == 1) return "-";
  return plan.placement == Placement::kPipelineInner ? "PP" : "DP";
}

void add_price(std::vector<std::string>& cells, const RankedPlan& ranked, const Shown& shown) {
  if (!shown.price) return;
  cells.push_back(significant(ranked.evaluation.usd_per_step, 4));
  if (shown.tokens) {
    cells.push_back(significant(usd_per_million_tokens(ranked.plan, ranked.evaluation), 4));
  }
}

// Where there is room for one: per million tokens if the model has tokens.
std::string one_price(const RankedPlan& ranked, const Shown& shown) {
  return significant(shown.tokens ? usd_per_million_tokens(ranked.plan, ranked.evaluation)
                                  : ranked.evaluation.usd_per_step,
                     4);
}

void add_price_columns(std::vector<Column>& columns, const Shown& shown) {
  if (!shown.price) return;
  columns.push_back({"$/step", false, 1});
  if (shown.tokens) columns.push_back({"$/Mtok", false, 1});
}

std::string marks_line(const std::vector<RankedPlan>& plans, const Shown& shown,
                       const TextTable& table, std::size_t width) {
  std::vector<std::string> parts;
  if (plans.size() > 1) {
    parts.emplace_back("= tied with plan 1 (the difference is within its uncertainty)");
  }
  parts.emplace_back(shown.price ? "* on the Pareto front of step time, memory and price"
                                 : "* on the Pareto front of step time and memory");
  if (table.shows("+-", width)) parts.emplace_back("+-: error of the step time");
  if (table.shows("M", width)) parts.emplace_back("M: micro-batches of a step and DP rank");
  if (table.shows("shards", width)) parts.emplace_back("shards: what the replicas divide");
  if (table.shows("near", width)) parts.emplace_back("near: ranks next to each other");
  parts.emplace_back("GiB: peak of the fullest rank / its capacity");
  if (table.shows("bub%", width)) {
    parts.emplace_back("bub%: bubble by makespan, beyond the work of the busiest rank");
  }
  if (table.shows("idle%", width)) parts.emplace_back("idle%: mean of all ranks");
  if (shown.devices) {
    parts.emplace_back("ranks on: their device type, or how many of them in a row are on which");
  }
  return wrapped(joined(parts, "; ") + ".", width, "", "");
}

// " 3", or " 3, 11" where two copies of the weights have the stage.
std::string numbers_of(const Plan& plan, int stage, int width) {
  std::string text = fmt::format("{:>{}}", stage, width);
  for (int copy = 1; copy < plan.copies(); ++copy) {
    text += fmt::format(", {}", copy * plan.stages_per_copy() + stage);
  }
  return text;
}

int digits(int value) { return static_cast<int>(std::to_string(value).size()); }

template <class Value>
void append(std::vector<Value>& to, const std::vector<Value>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

void Decisions::add(const Plan& plan) {
  context = context || plan.context > 1;
  expert = expert || plan.expert > 1;
}

std::vector<Column> decision_columns(const Decisions& decisions, std::size_t gap) {
  std::vector<Column> columns{{"TP", false, gap}};
  if (decisions.context) columns.push_back({"CP", false, 1});
  if (decisions.expert) columns.push_back({"EP", false, 1});
  append(columns, std::vector<Column>{{"PP", false, 1},
                                      {"DP", false, 1},
                                      {"VP", false, 1},
                                      {"mbs", false, 1},
                                      {"M", false, 1, 8},
                                      {"schedule", true, 1},
                                      {"recompute", true, 1, 6},
                                      {"shards", true, 1, 5}});
  return columns;
}

std::vector<std::string> decision_cells(const Decisions& decisions, const Plan& plan) {
  std::vector<std::string> cells{fmt::format("{}", plan.tensor)};
  if (decisions.context) cells.push_back(fmt::format("{}", plan.context));
  if (decisions.expert) cells.push_back(fmt::format("{}", plan.expert));
  append(cells, std::vector<std::string>{
                    fmt::format("{}", plan.pipeline), fmt::format("{}", plan.data),
                    fmt::format("{}", plan.chunks), micro_batch_size_text(plan),
                    fmt::format("{}", micro_batches_of(plan)),
                    plan.pipeline > 1 ? plan.schedule : "-", recompute_in_short(plan)});
  cells.push_back(sharding_in_short(plan));
  return cells;
}

TextTable plan_rows(const std::vector<RankedPlan>& plans) {
  const Shown shown(plans);
  std::vector<Column> columns{{"#"},
                              {"", true, 0},
                              {"step", false, 1},
                              {"+-", false, 1},
                              {shown.tokens ? "tokens/s" : "samples/s", false, 1, 4}};
  append(columns, decision_columns(shown.decisions, 1));
  append(columns, std::vector<Column>{{"near", true, 1, 14},
                                      {"GPUs", false, 1, 12},
                                      {"GiB", false, 1},
                                      {"bub%", false, 1, 13},
                                      {"idle%", false, 1, 11}});
  if (shown.price) columns.push_back({shown.tokens ? "$/Mtok" : "$/step", false, 1, 7});
  if (shown.devices) columns.push_back({"ranks on", true, 1});
  TextTable table(columns);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i].plan;
    const Evaluation& evaluation = plans[i].evaluation;
    std::vector<std::string> cells{fmt::format("{}", i + 1), mark_text(plans[i]),
                                   aligned(evaluation.step_time), interval_text(evaluation),
                                   speed_text(plan, evaluation.step_time, shown)};
    append(cells, decision_cells(shown.decisions, plan));
    append(cells,
           std::vector<std::string>{
               placement_text(plan), fmt::format("{}", plan.devices()), memory_text(evaluation),
               fixed(100.0 * bubble_rate(evaluation.makespan, evaluation.ideal), 1),
               fixed(100.0 * idle_share(plan, evaluation), 1)});
    if (shown.price) cells.push_back(one_price(plans[i], shown));
    if (shown.devices) cells.push_back(device_words(plan));
    table.add(std::move(cells));
  }
  return table;
}

std::string plan_table(const std::vector<RankedPlan>& plans, std::size_t width) {
  const Shown shown(plans);
  const TextTable table = plan_rows(plans);
  return table.text(width) + marks_line(plans, shown, table, width);
}

namespace {

// "TP 2 x PP 4 x DP 8, VP 2, mbs 1, interleaved, selective 5/34, ZeRO-1, 64 GPUs"
std::string short_line(const Plan& plan) {
  std::vector<std::string> parts{degrees_text(plan)};
  if (plan.chunks > 1) parts.push_back(fmt::format("VP {}", plan.chunks));
  parts.push_back(fmt::format("mbs {}", micro_batch_size_text(plan)));
  if (plan.pipeline > 1) parts.push_back(plan.schedule);
  if (plan.recompute != "none") parts.push_back(recompute_in_short(plan));
  if (says_sharding(plan)) parts.push_back(sharding_in_short(plan));
  parts.push_back(count_of(plan.devices(), "GPU"));
  if (plan.is_mixed()) parts.push_back(device_words(plan));
  return joined(parts, ", ");
}

}  // namespace

std::string pareto_table(const std::vector<RankedPlan>& plans, Screen screen) {
  const Shown shown(plans);
  std::vector<Column> columns{{"step"}, {"", true, 0}, {"GiB"}};
  add_price_columns(columns, shown);
  columns.push_back({"plan", true});
  TextTable table(columns);
  for (const RankedPlan& ranked : plans) {
    std::vector<std::string> cells{aligned(ranked.evaluation.step_time),
                                   ranked.tied_with_best ? "=" : "",
                                   gib(ranked.evaluation.peak_memory())};
    add_price(cells, ranked, shown);
    std::string line = short_line(ranked.plan);
    if (shown.devices && !ranked.plan.is_mixed()) line += " of type " + ranked.plan.device;
    cells.push_back(std::move(line));
    table.add(std::move(cells));
  }
  return table.text(screen.width(120));
}

std::string degrees_text(const Plan& plan) {
  return fmt::format("TP {}{} x PP {} x DP {}", plan.tensor, other_degrees_words(plan),
                     plan.pipeline, plan.data);
}

std::string recompute_text(const Plan& plan) {
  if (plan.recompute == "none") return "no recompute";
  const bool divided = recompute_is_divided(plan) && !plan.cuts.empty();
  return plan.recompute + " recompute" + (divided ? " in " + recompute_places(plan) : "");
}

std::string sharding_in_short(const Plan& plan) {
  if (!says_sharding(plan)) return "-";
  std::string words = sharding_words(plan);
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = words.find(from);
    if (at != std::string::npos) words.replace(at, from.size(), to);
  };
  replace(" in groups ", " ");
  replace(" x ", "x");
  return words;
}

std::string layout_line(const Plan& plan) {
  const std::string chunks = plan.chunks > 1 ? fmt::format(", VP {}", plan.chunks) : "";
  const std::string schedule = plan.pipeline > 1 ? plan.schedule + ", " : "";
  return fmt::format("{}{}, mbs {}, {} micro-batch{}, {}{}{}", degrees_text(plan), chunks,
                     micro_batch_size_text(plan), micro_batches_text(plan),
                     micro_batches_text(plan) == "1" ? "" : "es", schedule, recompute_text(plan),
                     says_sharding(plan) ? ", " + sharding_words(plan) : "");
}

std::string plan_line(const Plan& plan) {
  return fmt::format(
      "{}, {}{}", layout_line(plan), count_of(plan.devices(), "GPU"),
      plan.is_mixed()
          ? (plan.has_unequal_replicas() ? ", replicas " : ", ranks on ") + device_words(plan)
          : "");
}

namespace {

// Of unequal replicas one for every kind, in their order.
std::string devices_of_stage(const Plan& plan, int stage) {
  std::string text;
  for (int rank = plan.rank_of(stage); rank < plan.listed_ranks(); rank += plan.pipeline) {
    text += (text.empty() ? "" : "/") + plan.device_of_rank(rank);
  }
  return text;
}

}  // namespace

std::string stages_text(const Plan& plan, const std::vector<std::string>& section_names,
                        Screen screen) {
  std::string out, line;
  const auto flush = [&] {
    if (!line.empty()) out += "  " + line + '\n';
    line.clear();
  };
  const int width = digits(plan.stages_per_copy() - 1);
  for (int s = 0; s < plan.stages_per_copy(); ++s) {
    const auto first = static_cast<std::size_t>(plan.first_section(s));
    const auto last = static_cast<std::size_t>(plan.end_section(s) - 1);
    std::string name = section_names.at(first);
    if (last != first) name += ".." + section_names.at(last);
    const std::string text =
        fmt::format("{}: {} ({}{}{})", numbers_of(plan, s, width), name, last - first + 1,
                    plan.is_mixed() ? " on " + devices_of_stage(plan, s) : "",
                    recompute_is_divided(plan)
                        ? fmt::format(", {} in {}", plan.recompute, recomputed_sections_of(plan, s))
                        : "");
    if (!line.empty() && line.size() + 3 + text.size() + 4 > screen.width()) flush();
    line += (line.empty() ? "" : " | ") + text;
  }
  flush();
  return out;
}

std::string relative_text(const std::vector<RankedPlan>& plans) {
  if (plans.size() < 2) return "";
  double least = plans[1].against_best, most = least;
  for (std::size_t i = 2; i < plans.size(); ++i) {
    least = std::min(least, plans[i].against_best);
    most = std::max(most, plans[i].against_best);
  }
  const std::string width = percent(least) == percent(most)
                                ? percent(most)
                                : fmt::format("{} to {}", percent(least), percent(most));
  return fmt::format(
      "Plans compare with each other better than +- says: nine of ten measured ratios of step "
      "times "
      "are within +-{} of the predicted ones.",
      width);
}

std::string ties_text(const std::vector<RankedPlan>& plans) {
  std::vector<int> tied;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    if (plans[i].tied_with_best) tied.push_back(static_cast<int>(i) + 1);
  }
  if (tied.empty()) return "";
  return ties_with_first(tied) +
         ": the difference in step time is smaller than that. "
         "Choose among them by memory or price, or measure both.";
}

}  // namespace penstock
