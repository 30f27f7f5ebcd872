#include "report/reasons.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/screen.h"
#include "report/words.h"

namespace penstock {
namespace {

std::string over_text(const Rejection& rejection) {
  if (!rejection.least_over || !rejection.most_over) return "";
  const std::string least = to_text(*rejection.least_over);
  const std::string most = to_text(*rejection.most_over);
  if (least == most) return " by " + least;
  return fmt::format(" by {} to {}", least, most);
}

std::string item(std::string_view text, Screen screen) {
  return wrapped(text, screen.width(), "  ", "    ");
}

}  // namespace

std::string reason_text(const Rejection& rejection) {
  std::string text = rejection.reason + over_text(rejection);
  if (!rejection.remedy.empty()) {
    text += "; would fit with " + rejection.remedy;
  }
  return text;
}

std::string rejection_text(const Rejection& rejection) {
  return count_of(rejection.candidates, "candidate") + ": " + reason_text(rejection);
}

std::string rejections_text(const std::vector<Rejection>& rejections, Screen screen) {
  std::string out;
  for (const Rejection& rejection : rejections) out += item(rejection_text(rejection), screen);
  return out;
}

std::string assumptions_text(const std::vector<Assumption>& assumptions, Screen screen) {
  std::vector<Assumption> sorted = assumptions;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Assumption& a, const Assumption& b) { return a.share > b.share; });
  std::string out;
  for (const Assumption& assumption : sorted) {
    const std::string share = assumption.share > 0.0 ? percent(assumption.share) : "-";
    out += wrapped(assumption.text, screen.width(), fmt::format("  {:>7}  ", share),
                   std::string(11, ' '));
  }
  return out;
}

std::string list_text(const std::vector<std::string>& lines, Screen screen) {
  std::string out;
  for (const std::string& line : lines) out += item(line, screen);
  return out;
}

std::string certificate_text(const SearchResult& result) {
  if (result.least_possible <= Duration{} || result.best.empty()) return "";
  const Duration best = result.best.front().evaluation.step_time;
  if (result.least_possible >= best) {
    return "Proven: no plan of the search space is faster, whatever its cuts.";
  }
  return fmt::format(
      "Proven: no plan of the search space is more than {} faster. None takes less than {}, "
      "whatever its cuts and whatever the order of an automatic schedule.",
      percent(more_speed(best, result.least_possible)), to_text(result.least_possible));
}

std::string counts_text(const SearchResult& result) {
  std::string text = count_of(result.candidates, "candidate") + ": " +
                     with_commas(result.evaluated) + " simulated";
  if (result.bounded > 0) {
    text += fmt::format(", {} ruled out by a lower bound", with_commas(result.bounded));
  }
  std::int64_t rejected = 0;
  for (const Rejection& rejection : result.rejected) rejected += rejection.candidates;
  if (rejected > 0) text += fmt::format(", {} cannot run", with_commas(rejected));
  if (!result.complete) text += "; stopped before the end, so a better plan may exist";
  return text + ".";
}

}  // namespace penstock
