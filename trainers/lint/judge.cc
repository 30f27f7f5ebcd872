// What every rule asks: a number with its place, whether a condition in the script leaves it open,
// the nearest known name. A rule whose numbers are not known is reported as not judged; it never
// passes silently.
#include "trainers/lint/judge.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/values/edit_distance.h"
#include "core/values/error.h"

namespace penstock {

Known Judge::known(std::string_view name, std::optional<std::int64_t> otherwise,
                   std::int64_t least) const {
  Known known;
  const LaunchSetting* setting = settings_.find(name);
  known.why_not = settings_.doubt_of(name);
  if (!known.why_not.empty()) {
    known.from = setting;
    return known;
  }
  if (setting == nullptr) {
    known.value = otherwise;
    if (!otherwise) known.why_not = fmt::format("{} is not set", name);
    return known;
  }
  known.from = setting;
  const bool is_elsewhere =
      least >= 0 && setting->value.kind() == Json::Kind::kString && setting->value.text() == "-1";
  if (is_elsewhere) {
    // As scripts that evaluate a checkpoint write it.
    known.why_not = fmt::format("{} is -1 ({})", name, settings_.lines().words(setting->line));
    return known;
  }
  // Hydra's null; no value for a flag, which its parser refuses.
  if (!name.starts_with("--") && setting->value.kind() == Json::Kind::kString &&
      (setting->value.text() == "null" || setting->value.text() == "None")) {
    known.why_not = fmt::format("{} is null ({})", name, settings_.lines().words(setting->line));
    return known;
  }
  if (const auto number = settings_.number(name, least)) {
    known.value = number->value;
  } else if (setting->unresolved.empty()) {
    known.why_not =
        fmt::format("{} has no value ({})", name, settings_.lines().words(setting->line));
  } else {
    known.why_not = fmt::format("{} is not set in this file ({})", setting->unresolved,
                                settings_.lines().words(setting->line));
  }
  return known;
}

void Judge::judged(std::string_view code) {
  std::vector<std::string>& codes = report_.judged;
  const auto at = std::lower_bound(codes.begin(), codes.end(), code);
  if (at == codes.end() || *at != code) codes.emplace(at, code);
}

void Judge::not_judged(std::string_view code, const std::string& why) {
  LintGap gap{std::string(code), why};
  std::vector<LintGap>& gaps = report_.not_judged;
  if (std::find(gaps.begin(), gaps.end(), gap) != gaps.end()) return;
  const auto at =
      std::upper_bound(gaps.begin(), gaps.end(), gap,
                       [](const LintGap& a, const LintGap& b) { return a.code < b.code; });
  gaps.insert(at, std::move(gap));
}

bool Judge::judgeable(std::string_view code, std::initializer_list<const Known*> values) {
  for (const Known* value : values) {
    if (value->is_known()) continue;
    not_judged(code, value->why_not);
    return false;
  }
  judged(code);
  return true;
}

bool Judge::certain(std::string_view code, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string doubt = settings_.doubt_of(name);
    if (doubt.empty()) continue;
    not_judged(code, doubt);
    return false;
  }
  return true;
}

LintFinding& Judge::broken(std::string_view code,
                           std::initializer_list<const LaunchSetting*> places, std::string message,
                           std::string why, std::string fix) {
  judged(code);
  LintFinding finding;
  finding.code = code;
  finding.severity = code.starts_with('W') ? LintSeverity::kWarning : LintSeverity::kError;
  for (const LaunchSetting* place : places) {
    if (place == nullptr || finding.line > 0) continue;
    finding.file = settings_.lines().file_of(place->line);
    finding.line = settings_.lines().line_in_file(place->line);
    finding.setting = place->text;
  }
  finding.message = std::move(message);
  finding.why = std::move(why);
  finding.fix = std::move(fix);
  for (const LintRule& rule : lint_rules()) {
    if (rule.code == code) finding.seen_in = rule.seen_in;
  }
  report_.findings.push_back(std::move(finding));
  return report_.findings.back();
}

bool Judge::tell_unknown_name() {
  constexpr int kMost = 20;
  if (++unknown_names_ == kMost + 1) {
    report_.notes.push_back(
        fmt::format("more than {} names are not known; W060 tells the first", kMost));
  }
  return unknown_names_ <= kMost;
}

void Judge::judge_checkpoint(const Known& data, bool reshards, const LaunchSetting* place,
                             const std::string& why, const std::string& fix) {
  if (!request_.checkpoint_data_parallel) {
    not_judged("E040",
               "say with --checkpoint-data-parallel how many replicas wrote the checkpoint");
    return;
  }
  if (!judgeable("E040", {&data})) return;
  const std::int64_t then = *request_.checkpoint_data_parallel;
  if (*data == then || reshards) return;
  broken("E040", {place},
         fmt::format("the checkpoint was written by {} replicas, and this job has {}", then, *data),
         why, fix);
}

std::string micro_batches_are(std::int64_t count) {
  return fmt::format("{} micro-batch{}", count, count == 1 ? " is" : "es are");
}

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string_view>& known) {
  constexpr std::size_t kLongest = 80;
  if (known.empty() || word.size() > kLongest) return {};
  std::string plain(word);
  std::replace(plain.begin(), plain.end(), '_', '-');
  std::optional<std::string> nearest;
  std::size_t least = std::clamp<std::size_t>(word.size() / 4, 1, 2) + 1;
  for (const std::string_view name : known) {
    const std::size_t longer = std::max(name.size(), plain.size());
    if (longer - std::min(name.size(), plain.size()) >= least) continue;
    std::string other(name);
    std::replace(other.begin(), other.end(), '_', '-');
    const std::size_t distance = edit_distance(plain, other);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

void require_settings(const LaunchSettings& settings, const std::string& file,
                      std::string_view whose) {
  if (!settings.all().empty()) return;
  throw_bad_input(fmt::format(
      "{}: no setting of {} was found in this file\nhelp: name the file that holds them, or the "
      "trainer that it is for with --as",
      file, whose));
}

LintReport nothing_read(const LintRequest& request, std::initializer_list<std::string_view> codes,
                        const std::string& why) {
  LintReport report;
  report.version = request.version;
  for (const std::string_view code : codes) {
    report.not_judged.push_back({std::string(code), why});
  }
  return report;
}

void place_in_file(LintReport& report, const std::string& file) {
  for (LintFinding& finding : report.findings) {
    if (finding.file.empty()) finding.file = file;
  }
  if (report.job.file.empty()) report.job.file = file;
}

std::optional<int> as_int(const std::optional<std::int64_t>& value) {
  if (!value || *value > std::numeric_limits<int>::max()) return {};
  return static_cast<int>(*value);
}

}  // namespace penstock
