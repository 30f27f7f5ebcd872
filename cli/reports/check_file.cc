// Whose file it is follows from its content (or --as). A rolled-up plan is first checked rolled up;
// only where that finds nothing to say about its lists is it written out in full. Files that a
// launch file names are read from beside it, up to 64 MiB, and those that were read are listed, so
// that a folder is not judged twice.
#include "cli/reports/check_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/reports/large_plans.h"
#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"
#include "report/simulation_report.h"
#include "report/words.h"
#include "search/check_rolled_up.h"
#include "search/rolled_program.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// Large files that stay rolled up first, since most have no findings.
CheckedFile checked_plan(const std::string& path, const Json& json, Screen screen) {
  const PlanFile file = read_plan_to_draw(json, path);
  if (is_rolled_up(file)) {
    if (const auto report = check_rolled_up(file)) {
      return {rolled_up_check_text(*report, path), *report};
    }
  }
  const CheckReport report = check(is_rolled_up(file) ? read_plan(json, path) : file);
  return {check_text(report, path, screen), report};
}

// A file that the launch file names stands beside it, or where the path says.
std::optional<std::string> read_beside(const std::string& file, const std::string& path) {
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / path;
  constexpr std::uintmax_t kLargest = std::uintmax_t{1} << 26;  // bytes
  std::error_code failed;
  if (!std::filesystem::is_regular_file(beside, failed)) return {};
  if (std::filesystem::file_size(beside, failed) > kLargest || failed) return {};
  return read_file(beside.string());
}

LintRequest request_of(const LaunchFileOptions& options, const TrainerRow& trainer) {
  constexpr int kMostGpus = 1'000'000;
  LintRequest request;
  if (options.target_version) request.version = version_called(trainer, *options.target_version);
  if (options.gpus) request.gpus = parse_int("--gpus", *options.gpus, 1, kMostGpus);
  if (options.stages) request.stages = parse_int("--stages", *options.stages, 1, kMostGpus);
  if (options.checkpoint_data_parallel) {
    request.checkpoint_data_parallel =
        parse_int("--checkpoint-data-parallel", *options.checkpoint_data_parallel, 1, kMostGpus);
  }
  request.layers = layers_of(options.model);
  return request;
}

void drop_ignored(const std::vector<std::string>& lists, LintReport& report) {
  std::vector<std::string> known;
  known.reserve(lint_rules().size());
  for (const LintRule& rule : lint_rules()) known.emplace_back(rule.code);
  for (const std::string& list : lists) {
    for (const std::string& code : parse_list("--ignore", list)) {
      if (std::find(known.begin(), known.end(), code) == known.end()) {
        unknown_word("--ignore", code, known, "rule ");
      }
      std::erase_if(report.findings, [&code](const LintFinding& f) { return f.code == code; });
      std::erase(report.judged, code);
      std::erase_if(report.not_judged, [&code](const LintGap& gap) { return gap.code == code; });
    }
  }
}

}  // namespace

const TrainerRow* trainer_of(const LaunchFileOptions& options, const std::string& text,
                             const std::string& file) {
  if (!options.as) {
    return launch_trainer_of(text, file,
                             [&file](const std::string& path) { return read_beside(file, path); });
  }
  // Their recipes are judged by Megatron-LM's rules.
  const std::string called = trainer_called(*options.as);
  const bool is_recipe = called == "nemo" || called.starts_with("megatron-bridge");
  const TrainerRow* trainer = find_trainer_row(is_recipe ? "megatron" : called);
  if (trainer != nullptr && trainer->linter) return trainer;
  const std::vector<std::string> known = linted_trainer_names();
  const std::string help = help_for_trainer("--as", *options.as, known);
  bad_option("--as", fmt::format("unknown trainer '{}'", options.as->substr(0, 60)),
             fmt::format("{}{}", help,
                         help.find("known:") == 0 || help.ends_with('?')
                             ? ""
                             : "; known: " + joined(known, ", ")));
}

void require_for_all(const LaunchFileOptions& options) {
  const auto refuse = [](const char* option) {
    bad_option(option, "it is said of one file, and this is a folder",
               "name the file, or leave the option out: the content of a file tells its trainer");
  };
  if (options.as) refuse("--as");
  if (options.target_version) refuse("--target-version");
  if (options.stages) refuse("--stages");
  static_cast<void>(request_of(options, trainer_table().front()));
  LintReport none;
  drop_ignored(options.ignored, none);
  predict_launch(options.model, none);
}

CheckedLaunch checked_launch(const std::string& file, const std::string& text,
                             const TrainerRow& trainer, const LaunchFileOptions& options) {
  CheckedLaunch checked;
  LintRequest request = request_of(options, trainer);
  request.beside = [&](const std::string& path) {
    std::optional<std::string> found = read_beside(file, path);
    if (found) {
      const std::filesystem::path folder = std::filesystem::path(file).parent_path();
      checked.read.push_back((folder / path).lexically_normal().generic_string());
    }
    return found;
  };
  checked.report = lint(text, file, trainer, request);
  predict_launch(options.model, checked.report);
  drop_ignored(options.ignored, checked.report);
  return checked;
}

namespace {

std::vector<std::string> devices_of(const ModelProfile& profile) {
  std::vector<std::string> devices;
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& each : type.measurements) {
      const bool is_known = std::find(devices.begin(), devices.end(), each.device) != devices.end();
      if (!is_known) devices.push_back(each.device);
    }
  }
  return devices;
}

}  // namespace

// A profile or a cluster is checked by reading it: readers are strict.
CheckedFile checked_own(const std::string& path, const Json& json, Screen screen) {
  const std::string format = format_of(json);
  if (format == "penstock.profile/1") {
    const ModelProfile profile = read_profile(json, path);
    return {
        fmt::format("{}: no findings: it can be read, and nothing in it contradicts itself; the "
                    "profile of {}, {} sections, measured on {}\n",
                    path, profile.name, profile.sections.size(), joined(devices_of(profile), ", ")),
        {}};
  }
  if (format == "penstock.cluster/1") {
    const ClusterSpec cluster = read_cluster(json, path);
    return {
        fmt::format("{}: no findings: it can be read, and nothing in it contradicts itself; the "
                    "cluster {}, {} devices\n",
                    path, cluster.name, device_count(cluster)),
        {}};
  }
  expect_format(json, path, kPlanFormat);
  return checked_plan(path, json, screen);
}

}  // namespace penstock
