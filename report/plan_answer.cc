// Puts the answer together from the best plans and, where there is little room, leaves out plans,
// how to ask again and the legend (Room); a blank line nearly last, so that answers look alike.
// What was proven and what is not modelled is never left out, since the answer would then say more
// than is known.
#include "report/plan_answer.h"

#include <algorithm>
#include <sstream>
#include <tuple>

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "report/distinct_plans.h"
#include "report/fit_lines.h"
#include "report/measures.h"
#include "report/memory_risk.h"
#include "report/plan_table.h"
#include "report/simpler_plan.h"
#include "report/table.h"
#include "report/ties.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kMostLines = 20;

std::string whole_percent(double share) { return fixed(100.0 * share, 0); }

// "10,236 tokens/s and 533 TFLOP/s per GPU, MFU 54 % (49 to 58)"
std::string speed_text(const Plan& plan, const Evaluation& evaluation,
                       const std::optional<ModelFlops>& model) {
  const Duration step = evaluation.step_time;
  const std::string flops = model ? flops_text(*model, plan, evaluation) : "";
  if (plan.sequence_length <= 0) {
    return rate(samples_per_second(plan, step)) + " samples/s" +
           (flops.empty() ? "" : ", " + flops);
  }
  return rate(tokens_per_second_and_gpu(plan, step)) + " tokens/s" +
         (flops.empty() ? " per GPU" : " and " + flops);
}

std::string price_text(const Plan& plan, const Evaluation& evaluation) {
  if (evaluation.usd_per_step <= 0.0) return "";
  // Said, since the price of a machine is easily given for that of a GPU.
  constexpr double kNsPerHour = 3.6e12;
  const double hours = static_cast<double>(evaluation.step_time.count()) / kNsPerHour;
  const std::string of_gpu = fmt::format(", at ${:.4g} per GPU and hour.",
                                         evaluation.usd_per_step / hours / plan.devices());
  const double per_mtok = usd_per_million_tokens(plan, evaluation);
  if (per_mtok > 0.0) {
    return fmt::format(" ${} per million tokens{}", significant(per_mtok, 3), of_gpu);
  }
  return fmt::format(" ${} per step{}", significant(evaluation.usd_per_step, 3), of_gpu);
}

std::string memory_text(const Evaluation& evaluation, bool is_limited) {
  const RankEvaluation& fullest = evaluation.ranks.at(tightest_rank(evaluation));
  const bool fits = headroom(fullest).count >= 0;
  return fmt::format(
      "The fullest rank {} {} {} {}.", fits ? "holds" : "needs", gib(fullest.memory.total()),
      fits ? "of" : "GiB and has",
      gib(fullest.capacity) + (fits ? " GiB" : "") + (is_limited ? ", the limit" : ""));
}

// What may be left out where there is little room.
struct Room {
  std::size_t plans = 5;
  bool blanks = true, legend = true, rerun = true, simpler = true;
};

// What the columns have to show, over all rows.
struct Shown {
  bool tokens = false, mfu = false, price = false, chunks = false, gpus = false;
  Decisions decisions;
};

Shown shown_of(const SearchResult& result, const std::vector<std::size_t>& rows,
               const PlanAnswer& about) {
  Shown shown;
  const Plan& first = result.best.front().plan;
  for (const std::size_t row : rows) {
    const auto& [plan, evaluation] = std::tie(result.best[row].plan, result.best[row].evaluation);
    shown.tokens = shown.tokens || plan.sequence_length > 0;
    shown.mfu = shown.mfu || (about.flops && mfu(*about.flops, plan, evaluation.step_time));
    shown.price = shown.price || evaluation.usd_per_step > 0.0;
    shown.decisions.add(plan);
    shown.chunks = shown.chunks || plan.chunks > 1;
    shown.gpus = shown.gpus || plan.devices() != first.devices();
  }
  return shown;
}

std::vector<Column> columns_of(const Shown& shown) {
  std::vector<Column> columns{{"#"}, {"step"}};
  columns.push_back({shown.tokens ? "tokens/s/GPU" : "samples/s", false, 2, 4});
  if (shown.mfu) columns.push_back({"MFU%", false, 1, 6});
  columns.push_back({"TP"});
  if (shown.decisions.context) columns.push_back({"CP", false, 1});
  if (shown.decisions.expert) columns.push_back({"EP", false, 1});
  for (const char* name : {"PP", "DP"}) columns.push_back({name, false, 1});
  if (shown.chunks) columns.push_back({"VP", false, 1});
  columns.push_back({"mbs", false, 1});
  columns.push_back({"schedule", true});
  columns.push_back({"recompute", true, 1, 3});
  columns.push_back({"shards", true, 1, 4});
  if (shown.gpus) columns.push_back({"GPUs", false, 1, 7});
  columns.push_back({"GiB", false, 1, 1});
  columns.push_back({"idle%", false, 1, 5});
  if (shown.price) columns.push_back({shown.tokens ? "$/Mtok" : "$/step", false, 1, 2});
  return columns;
}

std::vector<std::string> cells_of(const RankedPlan& ranked, std::size_t number, const Shown& shown,
                                  const PlanAnswer& about) {
  const Plan& plan = ranked.plan;
  const Evaluation& evaluation = ranked.evaluation;
  const Duration step = evaluation.step_time;
  std::vector<std::string> cells{fmt::format("{}", number), rounded(step)};
  cells.push_back(
      rate(shown.tokens ? tokens_per_second_and_gpu(plan, step) : samples_per_second(plan, step)));
  if (shown.mfu) {
    const auto share = mfu(*about.flops, plan, step);
    cells.push_back(share ? whole_percent(*share) : "-");
  }
  cells.push_back(fmt::format("{}", plan.tensor));
  if (shown.decisions.context) cells.push_back(fmt::format("{}", plan.context));
  if (shown.decisions.expert) cells.push_back(fmt::format("{}", plan.expert));
  for (const int degree : {plan.pipeline, plan.data}) cells.push_back(fmt::format("{}", degree));
  if (shown.chunks) cells.push_back(fmt::format("{}", plan.chunks));
  cells.push_back(micro_batch_size_text(plan));
  cells.push_back(plan.pipeline > 1 ? plan.schedule : "-");
  cells.push_back(recompute_in_short(plan));
  cells.push_back(sharding_in_short(plan));
  if (shown.gpus) cells.push_back(fmt::format("{}", plan.devices()));
  cells.push_back(gib(evaluation.ranks.at(tightest_rank(evaluation)).memory.total()));
  cells.push_back(fixed(100.0 * idle_share(plan, evaluation), 1));
  if (shown.price) {
    cells.push_back(significant(
        shown.tokens ? usd_per_million_tokens(plan, evaluation) : evaluation.usd_per_step, 3));
  }
  return cells;
}

TextTable table_of(const SearchResult& result, const std::vector<std::size_t>& rows,
                   const PlanAnswer& about) {
  const Shown shown = shown_of(result, rows, about);
  TextTable table(columns_of(shown));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    table.add(cells_of(result.best[rows[i]], i + 1, shown, about));
  }
  return table;
}

std::string legend_of(const PlanAnswer& about, bool shows_mfu, const TextTable& table) {
  std::string text;
  if (about.flops && shows_mfu) {
    text += fmt::format("MFU counts {}; ", text_of(about.flops->convention));
  }
  text += "GiB: fullest rank";
  return text + (table.shows("idle%", about.width) ? "; idle: mean of all ranks." : ".");
}

std::string ties_of(const SearchResult& result, const std::vector<std::size_t>& rows) {
  std::vector<int> tied;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (result.best[rows[i]].tied_with_best) tied.push_back(static_cast<int>(i) + 1);
  }
  return tied.empty() ? "" : ties_with_first(tied) + ". ";
}

std::string proof_of(const SearchResult& result) {
  if (!result.complete) return "The search was stopped: a better plan may exist.";
  if (result.least_possible <= Duration{}) return "";
  const Duration best = result.best.front().evaluation.step_time;
  if (result.least_possible >= best) return "Proven: no plan that was searched is faster.";
  const double most = more_speed(best, result.least_possible);
  constexpr double kWeak = 0.5;
  return fmt::format("{}no plan of the search is more than {} faster.",
                     most > kWeak ? "Little is proven: " : "Proven: ", percent(most));
}

std::string not_modelled_of(const PlanAnswer& about) {
  if (about.not_modelled.empty()) return "";
  return "Not modelled: " + joined(about.not_modelled, "; ") + ".";
}

// By its number where the table has it.
std::string name_of(const SearchResult& result, const std::vector<std::size_t>& rows,
                    std::size_t place) {
  const auto row = std::find(rows.begin(), rows.end(), place);
  if (row != rows.end()) return fmt::format("plan {}", row - rows.begin() + 1);
  const Plan &plan = result.best[place].plan, &first = result.best.front().plan;
  std::string name =
      fmt::format("{}{}, mbs {}{}", degrees_text(plan),
                  plan.chunks > 1 ? fmt::format(", VP {}", plan.chunks) : "",
                  micro_batch_size_text(plan), plan.pipeline > 1 ? ", " + plan.schedule : "");
  if (recompute_text(plan) != recompute_text(first)) name += ", " + recompute_text(plan);
  if (says_sharding(plan) && sharding_words(plan) != sharding_words(first)) {
    name += ", " + sharding_words(plan);
  }
  return name;
}

// How much longer a step takes than with plan 1.
std::string longer_of(const SearchResult& result, std::size_t place) {
  return percent(more_speed(result.best[place].evaluation.step_time,
                            result.best.front().evaluation.step_time));
}

std::string simpler_of(const SearchResult& result, const std::vector<std::size_t>& rows) {
  const auto place = simpler_plan(result.best);
  if (!place) return "";
  const std::string what =
      fmt::format("{} ({})", name_of(result, rows, *place),
                  simpler_in(result.best[*place].plan, result.best.front().plan));
  const std::string longer = longer_of(result, *place);
  if (longer == percent(0)) return fmt::format("As fast and simpler: {}.", what);
  return fmt::format("Nearly as fast and simpler: {}; a step takes {} longer.", what, longer);
}

// Whether plan 1 has no room for what estimates of memory were too small by.
bool may_not_fit(const SearchResult& result, const PlanAnswer& about) {
  return about.memory_is_estimated && !fits_with_margin(result.best.front().evaluation);
}

// The first plan with such room, if plan 1 has none.
std::optional<std::size_t> roomier_of(const SearchResult& result, const PlanAnswer& about) {
  if (!may_not_fit(result, about)) return {};
  return roomier_plan(result.best);
}

std::string memory_risk_of(const SearchResult& result, const std::vector<std::size_t>& rows,
                           const PlanAnswer& about) {
  if (!may_not_fit(result, about)) return "";
  const auto place = roomier_of(result, about);
  if (!place) {
    return fmt::format("{}; --reserve-gib {} asks for plans with room for that.",
                       memory_risk_words(), reserve_with_margin(result.best.front().evaluation));
  }
  return fmt::format("{}; {} would fit, {} slower.", memory_risk_words(),
                     name_of(result, rows, *place), longer_of(result, *place));
}

// The plans of the table: the fastest that differ, and those that the sentences name in place of
// the last ones.
std::vector<std::size_t> rows_of(const SearchResult& result, const PlanAnswer& about,
                                 const Room& room) {
  std::vector<std::size_t> rows = distinct_plans(result.best, room.plans);
  const auto roomier = roomier_of(result, about);
  const auto simpler = room.simpler ? simpler_plan(result.best) : std::nullopt;
  const auto is_free = [&](std::size_t row) { return row != roomier && row != simpler; };
  for (const auto& named : {roomier, simpler}) {
    if (!named || std::find(rows.begin(), rows.end(), *named) != rows.end()) continue;
    if (rows.size() < room.plans) {
      rows.push_back(*named);
      continue;
    }
    const auto last = std::find_if(rows.rbegin(), rows.rend() - 1, is_free);
    if (last != rows.rend() - 1) *last = *named;
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::string next_of(const PlanAnswer& about, bool is_short) {
  if (about.next.empty()) return "";
  const std::string hint = "add -v for the whole report" + about.hint;
  std::string out;
  if (is_short && !about.rerun.empty()) {
    out = wrapped("Next, after the same command with -o plan.json (" + hint + "):", about.width, "",
                  "");
  } else {
    out = wrapped("Next (" + hint + "):", about.width, "", "");
    if (!about.rerun.empty()) out += command_lines(about.rerun, about.width);
  }
  for (const std::string& command : about.next) out += command_lines(command, about.width);
  return out;
}

std::string rivals_of(const SearchResult& result, const PlanAnswer& about) {
  const RankedPlan& best = result.best.front();
  std::string out;
  for (const Rival& rival : about.rivals) {
    out += wrapped(rival_text(rival, best.plan, best.evaluation) + ".", about.width, "", "  ");
  }
  return out;
}

std::string answer_in(const SearchResult& result, const PlanAnswer& about, const Room& room) {
  const RankedPlan& best = result.best.front();
  const std::vector<std::size_t> rows = rows_of(result, about, room);
  const TextTable table = table_of(result, rows, about);
  const auto text = [&](const std::string& words) {
    return words.empty() ? "" : wrapped(words, about.width, "", "");
  };
  return text(about.question) + '\n' +
         wrapped(plan_sentences(best.plan, best.evaluation, about), about.width, "", "") +
         text(about.doubts) + text(about.faster_otherwise) + text(not_modelled_of(about)) +
         text(memory_risk_of(result, rows, about)) +
         (room.simpler ? text(simpler_of(result, rows)) : "") +
         (about.training ? text(training_sentence(*about.training)) : "") + '\n' +
         table.text(about.width) +
         (room.legend ? text(legend_of(about, shown_of(result, rows, about).mfu, table)) : "") +
         text(ties_of(result, rows) + proof_of(result)) + rivals_of(result, about) +
         (room.blanks && !about.next.empty() ? "\n" : "") + next_of(about, !room.rerun);
}

std::size_t lines_of(const std::string& text, std::size_t width) {
  std::istringstream in(text);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) {
    lines += std::max<std::size_t>(1, (line.size() + width - 1) / width);
  }
  return lines;
}

}  // namespace

std::vector<std::string> layout_sentences(const Plan& plan, const Evaluation& evaluation,
                                          const PlanAnswer& about) {
  const std::string devices =
      plan.devices() == about.gpus
          ? ""
          : fmt::format(" on {} of {}", plan.devices(), count_of(about.gpus, "GPU"));
  return {
      fmt::format("{}{}{}{}, mbs {}, {}{}{}.", degrees_text(plan),
                  plan.chunks > 1 ? fmt::format(", VP {}", plan.chunks) : "",
                  plan.is_mixed() ? " (" + device_words(plan) + ")" : "", devices,
                  micro_batch_size_text(plan), plan.pipeline > 1 ? plan.schedule + ", " : "",
                  recompute_text(plan), says_sharding(plan) ? ", " + sharding_words(plan) : ""),
      fmt::format("A step takes {} ({}): {}. {}{}", rounded(evaluation.step_time),
                  rounded_range(evaluation.step_time_low, evaluation.step_time_high),
                  speed_text(plan, evaluation, about.flops),
                  memory_text(evaluation, about.memory_is_limited), price_text(plan, evaluation))};
}

std::vector<std::string> plan_sentences(const Plan& plan, const Evaluation& evaluation,
                                        const PlanAnswer& about) {
  std::vector<std::string> sentences = layout_sentences(plan, evaluation, about);
  sentences.front() = "Use " + sentences.front();
  return sentences;
}

std::string plan_answer(const SearchResult& result, const PlanAnswer& about) {
  Room room;
  room.plans = about.most_plans;
  std::string text = answer_in(result, about, room);
  if (about.shows_all_plans) return text;
  const auto is_long = [&] { return lines_of(text, about.width) > kMostLines; };
  for (int step = 0; is_long() && step < 3; ++step) {
    if (step == 0) room.plans = std::min<std::size_t>(room.plans, 4);
    if (step == 1) room.rerun = false;
    if (step == 2) room.legend = false;
    text = answer_in(result, about, room);
  }
  while (is_long() && (room.plans > 1 || room.blanks)) {
    // A second plan says more than that a third is simpler, and than a blank line.
    if (room.plans == 2 && room.simpler) {
      room.simpler = false;
    } else if (room.plans <= 2 && room.blanks) {
      room.blanks = false;
    } else {
      --room.plans;
    }
    text = answer_in(result, about, room);
  }
  return text;
}

}  // namespace penstock
