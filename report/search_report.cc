// The long answer of `plan -v`, put together from texts that other files make. Sections stand in a
// fixed order and one without content is left out, title included. Rivals (equal cuts, --baseline)
// are compared by samples per second, so that plans for another batch compare fairly.
#include "report/search_report.h"

#include <fmt/format.h>

#include "core/values/recompute_sections.h"
#include "report/gantt.h"
#include "report/measures.h"
#include "report/memory_table.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/screen.h"
#include "report/time_table.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n{}\n{}", title, body);
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text + ".";
}

std::string why_first(const RankedPlan& best, const SearchReport& about, Screen screen) {
  const Evaluation& evaluation = best.evaluation;
  std::string out =
      wrapped(fmt::format("Step {}, between {} and {}; bubble {} by makespan; ranks idle {} of the "
                          "step on average.",
                          to_text(evaluation.step_time), to_text(evaluation.step_time_low),
                          to_text(evaluation.step_time_high),
                          percent(bubble_rate(evaluation.makespan, evaluation.ideal)),
                          percent(idle_share(best.plan, evaluation))),
              screen.width(), "  ", "  ");
  if (!best.placed.empty()) out += wrapped(sentence(best.placed), screen.width(), "  ", "  ");
  if (recompute_is_divided(best.plan)) {
    out += wrapped(sentence("Recompute: " + recompute_in_words(best.plan)), screen.width(), "  ",
                   "  ");
  }
  out += wrapped(sentence("Memory: " + tightest_rank_text(evaluation)), screen.width(), "  ", "  ");
  out += fmt::format("  Time of rank {}, the busiest, in a step of {}:\n", busiest_rank(evaluation),
                     to_text(evaluation.makespan));
  out += busiest_rank_time(evaluation, screen);
  return out + "  Sections of each stage:\n" + stages_text(best.plan, about.section_names, screen);
}

std::string best_plan_sections(const SearchResult& result, const SearchReport& about,
                               Screen screen) {
  const RankedPlan& best = result.best.front();
  std::string out = plan_table(result.best, screen.width());
  if (const std::string relative = relative_text(result.best); !relative.empty()) {
    out += wrapped(relative, screen.width(), "", "");
  }
  if (const std::string ties = ties_text(result.best); !ties.empty()) {
    out += wrapped(ties, screen.width(), "", "");
  }
  out += section("Plan 1", why_first(best, about, screen));
  out +=
      section("Memory of plan 1 by rank (GiB)", memory_table(best.evaluation, best.plan, screen));
  if (about.program != nullptr && about.timeline != nullptr) {
    out += section("One step of plan 1", gantt(*about.program, *about.timeline, screen));
  }
  if (!about.not_drawn.empty()) {
    out += section("One step of plan 1", wrapped(about.not_drawn, screen.width(), "", ""));
  }
  out += training_text(about.training, screen);
  std::vector<std::string> rivals;
  for (const Rival& rival : about.rivals) {
    rivals.push_back(rival_text(rival, best.plan, best.evaluation) + ".");
  }
  out += section("Compared with", list_text(rivals, screen));
  out += section("Assumptions behind plan 1 (share of the busiest rank's compute time)",
                 assumptions_text(best.evaluation.assumptions, screen));
  out += section("Pareto front", result.pareto.empty() ? "" : pareto_table(result.pareto, screen));
  return out;
}

}  // namespace

std::string nothing_fits_text(const SearchResult& result, std::size_t width) {
  std::string out = result.complete ? "No plan fits.\n" : "No plan was found before the stop.\n";
  if (result.nearest_miss) {
    out += wrapped("Nearest miss: " + reason_text(*result.nearest_miss) + ".", width, "", "  ");
  } else if (!result.rejected.empty()) {
    out +=
        wrapped("Most candidates: " + reason_text(result.rejected.front()) + ".", width, "", "  ");
  }
  return out;
}

std::string rival_text(const Rival& rival, const Plan& best_plan, const Evaluation& best) {
  if (!rival.why_not.empty()) return rival.name + ": cannot run: " + rival.why_not;
  const double ours = samples_per_second(best_plan, best.step_time);
  const double theirs = samples_per_second(rival.plan, rival.evaluation.step_time);
  std::string verdict = "as fast as plan 1";
  if (theirs < ours) {
    verdict = fmt::format("plan 1 is {} times as fast", fixed(ours / theirs, 3));
  } else if (theirs > ours) {
    verdict = fmt::format("plan 1 is slower, {} times as fast", fixed(ours / theirs, 3));
  }
  return fmt::format("{}: step {}, {}", rival.name, to_text(rival.evaluation.step_time), verdict);
}

namespace {

std::string certificate(const SearchResult& result, Screen screen) {
  const std::string text = certificate_text(result);
  return text.empty() ? "" : wrapped(text, screen.width(), "  ", "  ");
}

}  // namespace

std::string search_report(const SearchResult& result, const SearchReport& about, Screen screen) {
  std::string out = wrapped(about.question, screen.width(), "", "  ") +
                    wrapped(about.origin, screen.width(), "", "  ");
  out += '\n';
  out += result.best.empty() ? nothing_fits_text(result, screen.width())
                             : best_plan_sections(result, about, screen);
  out += section("Estimated, not measured", list_text(about.notes, screen));
  out += section("Candidates", wrapped(counts_text(result), screen.width(), "  ", "  ") +
                                   certificate(result, screen) +
                                   rejections_text(result.rejected, screen));
  out += section("Not searched", list_text(result.not_searched, screen));
  return out;
}

}  // namespace penstock
