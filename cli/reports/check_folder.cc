// The files of a folder are walked by name, so that the answer is the same everywhere. A file that
// another one reads (megatron_args.sh by run.sh) is judged as a part of that one, where its numbers
// of GPUs and ranks are known, and not once more by itself; of files that read each other the first
// stands for itself. A finding that two launch files share is told once. What cannot be read is no
// reason to stop: it is listed with the reader's sentence. A template, whose placeholders somebody
// else fills in, cannot be read and is no fault.
#include "cli/reports/check_folder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/json_array.h"
#include "report/result_json.h"
#include "report/words.h"
#include "trainers/lint/lint_text.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kEndings{".json", ".py",    ".sbatch",
                                                   ".sh",   ".slurm", ".toml"};
constexpr std::uintmax_t kLargestJson = std::uintmax_t{1} << 26, kLargestScript = 1 << 20;
constexpr std::size_t kMostFiles = 20'000;  // that are opened
constexpr int kDeepest = 16;

struct Judged {
  std::string file;
  std::optional<CheckedLaunch> launch;
  std::optional<CheckedFile> own;  // in its place
  std::string what;                // "torchtitan 0.2", "penstock.plan/2"
  std::vector<std::string> with;   // files that were judged as parts of it
};

struct NotRead {
  std::string file, why;
};

struct FolderReport {
  std::vector<Judged> judged;
  std::vector<NotRead> not_read;
  std::vector<std::string> templates;
  std::size_t others = 0;
};

bool is_hidden(const fs::path& path) { return path.filename().generic_string().starts_with('.'); }

// By name; hidden folders and links to folders are passed over.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (is_hidden(at->path()) || at.depth() >= kDeepest) at.disable_recursion_pending();
    std::error_code unknown;
    if (is_hidden(at->path()) || !at->is_regular_file(unknown)) continue;
    files.push_back(at->path().lexically_normal().generic_string());
    if (files.size() > kMostFiles) {
      throw_bad_input(
          fmt::format("{}: more than {} files\nhelp: name a folder within it", folder, kMostFiles));
    }
  }
  if (failed) throw_bad_input(fmt::format("{}: {}", folder, failed.message()));
  std::sort(files.begin(), files.end());
  return files;
}

bool may_be_judged(const std::string& file) {
  const std::string ending = fs::path(file).extension().generic_string();
  if (std::find(kEndings.begin(), kEndings.end(), ending) == kEndings.end()) return false;
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  return !failed && size <= (ending == ".json" ? kLargestJson : kLargestScript);
}

bool is_own(const std::string& format) {
  return format.starts_with("penstock.plan/") || format.starts_with("penstock.profile/") ||
         format.starts_with("penstock.cluster/");
}

// A Python program that only has flags of the same names, a pyproject.toml.
bool is_other_program(const std::string& text, const std::string& file) {
  if (file.ends_with(".py")) return !is_python_recipe(text, file);
  return file.ends_with(".toml") && text.find("[parallelism]") == std::string::npos &&
         text.find("[training]") == std::string::npos;
}

// Nothing for a file that is none of those that are judged.
std::optional<Judged> judged(const std::string& file, const LaunchFileOptions& options,
                             Screen screen) {
  const std::string text = read_file(file);
  if (is_other_program(text, file)) return {};
  Judged one;
  one.file = file;
  if (const TrainerRow* trainer = trainer_of(options, text, file)) {
    one.launch = checked_launch(file, text, *trainer, options);
    one.what = target_text(one.launch->report);
    return one;
  }
  if (!file.ends_with(".json") || own_format_in(text).empty()) return {};
  const Json json = parse_json(text, file);
  one.what = format_of(json);
  if (!is_own(one.what)) return {};
  one.own = checked_own(file, json, screen);
  return one;
}

// "key": CONFIG_BATCH_SIZE, a name where a value belongs.
bool has_bare_name(const std::string& text) {
  constexpr std::string_view kCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::size_t at = text.find_first_of(":="); at != std::string::npos;
       at = text.find_first_of(":=", at + 1)) {
    const std::size_t begin = text.find_first_not_of(" \t", at + 1);
    if (begin == std::string::npos) break;
    const std::size_t end = std::min(text.find_first_not_of(kCapitals, begin), text.size());
    const std::string_view name = std::string_view(text).substr(begin, end - begin);
    if (name.find('_') != std::string_view::npos && name.front() >= 'A') return true;
  }
  return false;
}

// {{ name }}, {% if %} and ${name} have no meaning in JSON and TOML, nor has a value <name>. Asked
// of a file that its reader refused.
bool is_template(const std::string& text, const std::string& file) {
  if (!file.ends_with(".json") && !file.ends_with(".toml")) return false;
  for (const std::string_view mark : {"{{", "{%", "${", ": <", ":<", "= <", "=<", "[<", "[ <"}) {
    if (text.find(mark) != std::string::npos) return true;
  }
  return has_bare_name(text);
}

void judge_all(const std::string& folder, const LaunchFileOptions& options, FolderReport& report,
               Screen screen) {
  for (const std::string& file : files_in(folder)) {
    if (!may_be_judged(file)) {
      ++report.others;
      continue;
    }
    try {
      auto one = judged(file, options, screen);
      if (one) report.judged.push_back(std::move(*one));
      if (!one) ++report.others;
    } catch (const Error& error) {  // of this file, and the others are still to be judged
      if (error.kind() == ErrorKind::kInternal) throw;
      if (error.kind() == ErrorKind::kBadInput && is_template(read_file(file), file)) {
        report.templates.push_back(file);
      } else {
        report.not_read.push_back({file, error.what()});
      }
    }
  }
}

bool reads(const Judged& reader, const std::string& file) {
  if (!reader.launch || reader.file == file) return false;
  const auto& read = reader.launch->read;
  return std::find(read.begin(), read.end(), file) != read.end();
}

// A file that one of the others reads becomes a part of it.
void merge_parts(FolderReport& report) {
  std::vector<Judged>& all = report.judged;
  std::vector<bool> is_part(all.size(), false);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t reader = 0; reader < all.size(); ++reader) {
      if (is_part[reader] || !reads(all[reader], all[i].file)) continue;
      is_part[i] = true;
      all[reader].with.push_back(all[i].file);
    }
  }
  std::vector<Judged> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_part[i]) kept.push_back(std::move(all[i]));
  }
  all = std::move(kept);
}

// Findings name the file they are in; each is told by the first file that has it.
void drop_told_findings(FolderReport& report) {
  std::set<std::tuple<std::string, int, std::string, std::string>> told;
  for (Judged& one : report.judged) {
    if (!one.launch) continue;
    std::erase_if(one.launch->report.findings, [&](const LintFinding& finding) {
      const std::string file = finding.file.empty() ? one.file : finding.file;
      return !told.emplace(file, finding.line, finding.code, finding.message).second;
    });
  }
}

struct Tally {
  std::int64_t errors = 0, warnings = 0, parts = 0;
  std::int64_t unjudged = 0;  // launch files of which no size could be read
};

Tally tally_of(const FolderReport& report) {
  Tally tally;
  for (const Judged& one : report.judged) {
    tally.parts += std::ssize(one.with);
    if (one.own) tally.errors += std::ssize(one.own->report.findings);
    if (!one.launch) continue;
    if (one.launch->report.findings.empty() && !has_sizes(one.launch->report)) ++tally.unjudged;
    for (const LintFinding& finding : one.launch->report.findings) {
      ++(finding.severity == LintSeverity::kError ? tally.errors : tally.warnings);
    }
  }
  return tally;
}

std::string summary_of(const FolderReport& report) {
  const Tally tally = tally_of(report);
  const auto files = [](std::size_t count) {
    return count_of(static_cast<std::int64_t>(count), "file");
  };
  std::string text = fmt::format("{} judged", files(report.judged.size()));
  if (tally.parts > 0) text += fmt::format(", {} as a part of them", tally.parts);
  text +=
      fmt::format(": {}, {}", count_of(tally.errors, "error"), count_of(tally.warnings, "warning"));
  if (tally.unjudged > 0) text += fmt::format("; of {} no size could be read", tally.unjudged);
  if (!report.not_read.empty()) {
    text += fmt::format("; {} could not be read", files(report.not_read.size()));
  }
  if (!report.templates.empty()) {
    text += fmt::format("; {} not judged", count_of(std::ssize(report.templates), "template"));
  }
  return text + fmt::format("; {} of other kinds", files(report.others));
}

// Rules that were not judged in several files are told once, with how many files lack it.
std::string gaps_of(const FolderReport& report, Screen screen) {
  std::vector<std::pair<LintGap, int>> all;
  for (const Judged& one : report.judged) {
    if (!one.launch) continue;
    for (const LintGap& gap : one.launch->report.not_judged) {
      const auto same = std::find_if(all.begin(), all.end(),
                                     [&gap](const auto& known) { return known.first == gap; });
      if (same == all.end()) {
        all.emplace_back(gap, 1);
      } else {
        ++same->second;
      }
    }
  }
  std::vector<LintGap> told;
  told.reserve(all.size());
  for (const auto& [gap, files] : all) {
    told.push_back({gap.code, fmt::format("{} ({})", gap.why, count_of(files, "file"))});
  }
  return gaps_text(told, screen);
}

std::string line_of(const Judged& one, Screen screen) {
  std::string text = fmt::format("{}: ", one.file);
  if (one.launch) text += verdict_text(one.launch->report);
  if (one.own) {
    const auto findings = std::ssize(one.own->report.findings);
    text += findings == 0 ? "no findings" : count_of(findings, "finding");
  }
  std::vector<std::string> parts;
  for (const std::string& part : one.with) {
    parts.push_back(fs::path(part).filename().generic_string());
  }
  text += fmt::format(" ({}{}{})", one.what, parts.empty() ? "" : "; with ", joined(parts, ", "));
  return wrapped(text, screen.width(), "", "  ");
}

std::string text_of(const FolderReport& report, Screen screen) {
  std::string text;
  for (const Judged& one : report.judged) {
    if (one.launch) text += findings_text(one.launch->report.findings, one.file, screen);
    if (one.own && !one.own->report.findings.empty()) text += one.own->text + '\n';
  }
  for (const Judged& one : report.judged) text += line_of(one, screen);
  for (const NotRead& one : report.not_read) {
    std::string why = one.why;
    constexpr std::string_view kHelp = "\nhelp: ";
    if (const std::size_t at = why.find(kHelp); at != std::string::npos) {
      why.replace(at, kHelp.size(), "; ");
    }
    text += wrapped("could not be read: " + why, screen.width(), "", "  ");
  }
  for (const std::string& file : report.templates) {
    text += wrapped(file + ": a template; its placeholders have to be filled in to judge it",
                    screen.width(), "", "  ");
  }
  return text + gaps_of(report, screen) + wrapped(summary_of(report), screen.width(), "", "  ");
}

std::string annotations_of(const FolderReport& report) {
  std::string text;
  for (const Judged& one : report.judged) {
    if (one.launch) text += lint_annotations(one.launch->report, one.file);
  }
  return text;
}

Json json_of(const FolderReport& report, const std::string& folder) {
  const Tally tally = tally_of(report);
  Json files = Json::array(), not_read = Json::array();
  for (const Judged& one : report.judged) {
    Json file = Json::object();
    file.set("file", one.file).set("kind", one.what).set("with", strings(one.with));
    files.push(file.set(
        "report", one.launch ? to_json(one.launch->report, one.file) : to_json(one.own->report)));
  }
  for (const NotRead& one : report.not_read) {
    not_read.push(Json::object().set("file", one.file).set("why", one.why));
  }
  return answer_json("check")
      .set("folder", folder)
      .set("files", std::move(files))
      .set("not_read", std::move(not_read))
      .set("templates", strings(report.templates))
      .set("other_files", static_cast<std::int64_t>(report.others))
      .set("errors", tally.errors)
      .set("warnings", tally.warnings);
}

}  // namespace

Answer check_folder(const std::string& folder, const LaunchFileOptions& options,
                    const std::string& format, Screen screen) {
  require_for_all(options);
  FolderReport report;
  judge_all(folder, options, report, screen);
  if (report.judged.empty() && report.not_read.empty() && report.templates.empty()) {
    throw_bad_input(fmt::format(
        "{}: no launch file, plan, profile or cluster among its {}\nhelp: name the file, or the "
        "folder that holds the script which starts the training",
        folder, count_of(static_cast<std::int64_t>(report.others), "file")));
  }
  merge_parts(report);
  drop_told_findings(report);
  const Tally tally = tally_of(report);
  const bool holds = tally.errors + tally.warnings == 0 && report.not_read.empty();
  const int exit = holds ? kYes : kNo;
  if (format == "github") return {annotations_of(report), exit};
  if (format == "json") return json_answer(json_of(report, folder), exit);
  return report_answer(text_of(report, screen), exit);
}

}  // namespace penstock
