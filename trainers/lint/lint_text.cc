// Three forms of one report: paragraphs for people (finding, place, reason, remedy), JSON, and the
// workflow commands of GitHub with its escapes. There is no all-clear for what could not be judged:
// rules that were skipped are named with the reason, equal reasons once.
#include "trainers/lint/lint_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "report/json_array.h"
#include "report/screen.h"
#include "report/words.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

constexpr std::size_t kCodeColumn = 71;

// What a rule is about, in a few words (docs/checking.md has it in full).
struct RuleWords {
  std::string_view code, words;
};
constexpr std::array kRules{
    RuleWords{"E001", "GPUs and batch"},
    RuleWords{"E010", "split of layers"},
    RuleWords{"E011", "layout"},
    RuleWords{"E012", "first and last stage"},
    RuleWords{"E013", "module lists"},
    RuleWords{"E014", "CUDA graphs"},
    RuleWords{"E015", "attention heads"},
    RuleWords{"E020", "number of micro-batches"},
    RuleWords{"E021", "interleaving"},
    RuleWords{"E030", "memory"},
    RuleWords{"E040", "checkpoint"},
    RuleWords{"W050", "recompute"},
    RuleWords{"W051", "overlap of transfers"},
    RuleWords{"W052", "balance of stages"},
    RuleWords{"W060", "names of settings"},
};

// "E030 (memory)"
std::string with_words(const std::string& code) {
  for (const RuleWords& rule : kRules) {
    if (rule.code == code) return fmt::format("{} ({})", code, rule.words);
  }
  return code;
}

std::string_view word_of(LintSeverity severity) {
  return severity == LintSeverity::kError ? "error" : "warning";
}

std::string title_of(const LintReport& report) {
  return fmt::format("{} {}", report.trainer->linter->title, report.version);
}

// The code stands in a column of its own where the sentence leaves room.
std::string headline(const LintFinding& finding, Screen screen) {
  std::string text = fmt::format("{}: {}", word_of(finding.severity), finding.message);
  if (text.size() + 2 + finding.code.size() + 2 > screen.width()) {
    return wrapped(fmt::format("{} [{}]", text, finding.code), screen.width(), "", "  ");
  }
  const std::size_t last = screen.width() - finding.code.size() - 2;  // where the code may begin
  text.resize(std::max(text.size() + 2, std::min(kCodeColumn, last)), ' ');
  return fmt::format("{}[{}]\n", text, finding.code);
}

std::string paragraph(const LintFinding& finding, const std::string& file, Screen screen) {
  std::string text = headline(finding, screen);
  text += "  --> " + (finding.file.empty() ? file : finding.file);
  if (finding.line > 0) text += fmt::format(":{}", finding.line);
  if (!finding.setting.empty()) text += "  " + finding.setting;
  text += '\n';
  const std::string seen =
      finding.seen_in.empty() ? "" : fmt::format(" Seen in {}.", finding.seen_in);
  text += wrapped(finding.why + seen, screen.width(), "  ", "  ");
  return text + "help: " + finding.fix + "\n\n";
}

std::int64_t count(const LintReport& report, LintSeverity severity) {
  return std::count_if(report.findings.begin(), report.findings.end(),
                       [severity](const LintFinding& f) { return f.severity == severity; });
}

// GitHub's own escapes.
std::string escaped(std::string_view text, bool in_property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (in_property && (c == ':' || c == ',')) {
      out += c == ':' ? "%3A" : "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::vector<std::string> judged_codes(const LintReport& report) {
  std::vector<std::string> codes = report.judged;
  for (std::string& code : codes) {
    const auto is_gap = [&code](const LintGap& gap) { return gap.code == code; };
    if (std::any_of(report.not_judged.begin(), report.not_judged.end(), is_gap)) {
      code += " (in part)";
    }
  }
  return codes;
}

// No all-clear for what was not read: the sizes of the job above all.
std::string without_findings(const LintReport& report) {
  if (!has_sizes(report)) return "nothing could be judged: no size of the job could be read";
  std::vector<std::string> missing;
  for (const char* code : {"E001", "E010", "E011", "E020"}) {
    const auto is_gap = [code](const LintGap& gap) { return gap.code == code; };
    if (std::any_of(report.not_judged.begin(), report.not_judged.end(), is_gap)) {
      missing.emplace_back(code);
    }
  }
  if (missing.empty()) return "no findings";
  return fmt::format("no findings, but {} could not be judged in full", joined(missing, ", "));
}

}  // namespace

std::string gaps_text(const std::vector<LintGap>& gaps, Screen screen) {
  std::string text;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto same = [&gaps, i](const LintGap& gap) { return gap.why == gaps[i].why; };
    const auto at = gaps.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(gaps.begin(), at, same)) continue;
    std::string codes = with_words(gaps[i].code);
    for (auto other = at + 1; other != gaps.end(); ++other) {
      if (same(*other)) codes += ", " + with_words(other->code);
    }
    text +=
        wrapped(fmt::format("not judged: {}: {}", codes, gaps[i].why), screen.width(), "", "  ");
  }
  return text;
}

std::string findings_text(const std::vector<LintFinding>& findings, const std::string& file,
                          Screen screen) {
  std::string text;
  for (const LintFinding& finding : findings) text += paragraph(finding, file, screen);
  return text;
}

std::string verdict_text(const LintReport& report) {
  if (report.findings.empty()) return without_findings(report);
  return fmt::format("{}, {}", count_of(count(report, LintSeverity::kError), "error"),
                     count_of(count(report, LintSeverity::kWarning), "warning"));
}

bool has_sizes(const LintReport& report) {
  const LaunchJob& job = report.job;
  return job.tensor || job.pipeline || job.data || job.micro_batch_size || job.global_batch ||
         job.micro_batches || job.layers;
}

std::string target_text(const LintReport& report) { return title_of(report); }

std::string lint_text(const LintReport& report, const std::string& file, Screen screen) {
  std::string text = findings_text(report.findings, file, screen);
  text += fmt::format("{}: {}\n", file, verdict_text(report));
  const std::string by = joined(judged_codes(report), " ");
  text += wrapped(
      fmt::format("a launch file of {}{}", title_of(report), by.empty() ? "" : ", judged by " + by),
      screen.width(), "", "  ");
  text += gaps_text(report.not_judged, screen);
  text += wrapped(report.notes, screen.width(), "note: ", "  ");
  return text;
}

std::string lint_annotations(const LintReport& report, const std::string& file) {
  std::string text;
  for (const LintFinding& finding : report.findings) {
    text += fmt::format(
        "::{} file={}{},title={}::{}\n", word_of(finding.severity),
        escaped(finding.file.empty() ? file : finding.file, true),
        finding.line > 0 ? fmt::format(",line={}", finding.line) : "", finding.code,
        escaped(fmt::format("{}. {} Fix: {}", finding.message, finding.why, finding.fix), false));
  }
  return text;
}

Json to_json(const LintReport& report, const std::string& file) {
  Json findings = Json::array(), gaps = Json::array();
  for (const LintFinding& finding : report.findings) {
    Json one = Json::object();
    one.set("code", finding.code).set("severity", std::string(word_of(finding.severity)));
    one.set("file", finding.file.empty() ? file : finding.file)
        .set("line", finding.line)
        .set("setting", finding.setting);
    one.set("message", finding.message).set("why", finding.why).set("fix", finding.fix);
    findings.push(one.set("seen_in", finding.seen_in));
  }
  for (const LintGap& gap : report.not_judged) {
    gaps.push(Json::object().set("code", gap.code).set("why", gap.why));
  }
  return Json::object()
      .set("trainer", std::string(report.trainer->name))
      .set("target_version", report.version)
      .set("findings", std::move(findings))
      .set("judged", strings(report.judged))
      .set("not_judged", std::move(gaps))
      .set("notes", strings(report.notes));
}

}  // namespace penstock
