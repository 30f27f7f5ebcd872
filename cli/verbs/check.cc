#include "core/check/check.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/nearest.h"
#include "cli/options/options.h"
#include "cli/options/parse.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/predict_launch.h"
#include "cli/verbs/verbs.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/result_json.h"
#include "report/simulation_report.h"
#include "report/trainers/lint/lint.h"
#include "report/trainers/lint/lint_text.h"
#include "search/check_rolled_up.h"
#include "search/rolled_program.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock check plan.json
  penstock check data/profiles/gpt-6.7b.a100-40gb.json
  penstock check launch.sh --gpus 32
  penstock check launch.sh --config config.json --device h100-sxm --format github
  penstock check ds_config.json --gpus 32 --stages 4 --json
)";

// A row of --help; only launch files are asked about more than their name.
struct LaunchOptions {
  std::optional<std::string> as, target_version, gpus, stages, checkpoint_data_parallel, format;
  std::vector<std::string> ignored;
  LaunchModel model;
};

struct Checked {
  std::string text;  // one line or several
  CheckReport report;
};

// Large files that stay rolled up first, since most have no findings.
Checked checked_plan(const std::string& path, const Json& json) {
  const PlanFile file = read_plan_to_draw(json, path);
  if (is_rolled_up(file)) {
    if (const auto report = check_rolled_up(file)) {
      return {rolled_up_check_text(*report, path), *report};
    }
  }
  const CheckReport report = check(is_rolled_up(file) ? read_plan(json, path) : file);
  return {check_text(report, path), report};
}

// A profile or a cluster is checked by reading it: readers are strict.
Checked checked(const std::string& path, const Json& json) {
  const std::string format = format_of(json);
  if (format == "penstock.profile/1") {
    const ModelProfile profile = read_profile(json, path);
    return {fmt::format("{}: no findings; the profile of {}, {} sections\n", path, profile.name,
                        profile.sections.size()),
            {}};
  }
  if (format == "penstock.cluster/1") {
    const ClusterSpec cluster = read_cluster(json, path);
    return {fmt::format("{}: no findings; the cluster {}, {} devices\n", path, cluster.name,
                        device_count(cluster)),
            {}};
  }
  return checked_plan(path, json);
}

// What begins with no { is none of our files; say so before JSON's parser does.
void require_own(const std::string& text, const std::string& file) {
  if (text.find("\"model_type\"") != std::string::npos && file.ends_with(".json")) {
    throw_bad_input(
        fmt::format("{}: this is a model's config.json, and a plan or a launch file belongs "
                    "here\nhelp: penstock "
                    "plan {} --device h100-sxm --gpus 64 --global-batch 512",
                    file, file));
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '{' || text[first] == '[')) return;
  throw_bad_input(fmt::format(
      "{}: no plan, profile or cluster file of Penstock, and no launch file of Megatron-LM, "
      "torchtitan or "
      "DeepSpeed by its content\nhelp: name the file that starts the training, or say whose it is "
      "with --as",
      file));
}

Answer check_own(const std::string& file, bool json) {
  const Checked result = checked(file, load_json(file).value);
  const int exit = result.report.findings.empty() ? kYes : kNo;
  if (!json) return report_answer(result.text, exit);
  Json object = Json::object();
  object.set("schema_version", kResultSchemaVersion);
  object.set("verb", "check");
  object.set("file", file);
  object.set("report", to_json(result.report));
  return {to_text(object) + '\n', exit};
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

std::optional<LintTrainer> trainer_of(const LaunchOptions& options, const std::string& text,
                                      const std::string& file) {
  if (!options.as) {
    return launch_trainer_of(text, file,
                             [&file](const std::string& path) { return read_beside(file, path); });
  }
  if (const auto trainer = lint_trainer_named(*options.as)) return trainer;
  bad_option("--as", fmt::format("unknown trainer '{}'", *options.as),
             did_you_mean(*options.as, lint_trainer_names()));
}

// "v0.2.1" is judged as 0.2 is.
std::string version_of(LintTrainer trainer, const std::string& asked) {
  const std::string plain = asked.starts_with('v') ? asked.substr(1) : asked;
  const std::vector<std::string> known = versions_of(trainer);
  for (const std::string& version : known) {
    if (plain == version || plain.starts_with(version + '.')) return version;
  }
  bad_option("--target-version",
             fmt::format("'{}' is no version of {} that is known", asked, name_of(trainer)),
             fmt::format("known: {}", fmt::join(known, ", ")));
}

LintRequest request_of(const LaunchOptions& options, LintTrainer trainer, const std::string& file) {
  constexpr int kMostGpus = 1'000'000;
  LintRequest request;
  if (options.target_version) request.version = version_of(trainer, *options.target_version);
  if (options.gpus) request.gpus = parse_int("--gpus", *options.gpus, 1, kMostGpus);
  if (options.stages) request.stages = parse_int("--stages", *options.stages, 1, kMostGpus);
  if (options.checkpoint_data_parallel) {
    request.checkpoint_data_parallel =
        parse_int("--checkpoint-data-parallel", *options.checkpoint_data_parallel, 1, kMostGpus);
  }
  request.layers = layers_of(options.model);
  request.beside = [&file](const std::string& path) { return read_beside(file, path); };
  return request;
}

void drop_ignored(const std::vector<std::string>& lists, LintReport& report) {
  std::vector<std::string> known;
  known.reserve(lint_rules().size());
  for (const LintRule& rule : lint_rules()) known.emplace_back(rule.code);
  for (const std::string& list : lists) {
    for (const std::string& code : parse_list("--ignore", list)) {
      if (std::find(known.begin(), known.end(), code) == known.end()) {
        bad_option("--ignore", fmt::format("unknown rule '{}'", code), did_you_mean(code, known));
      }
      std::erase_if(report.findings, [&code](const LintFinding& f) { return f.code == code; });
      std::erase(report.judged, code);
      std::erase_if(report.not_judged, [&code](const LintGap& gap) { return gap.code == code; });
    }
  }
}

Answer check_launch(const std::string& file, const std::string& text, LintTrainer trainer,
                    const LaunchOptions& options, const std::string& format) {
  LintReport report = lint(text, file, trainer, request_of(options, trainer, file));
  predict_launch(options.model, report);
  drop_ignored(options.ignored, report);
  const int exit = report.findings.empty() ? kYes : kNo;
  if (format == "github") return {lint_annotations(report, file), exit};
  if (format == "text") return report_answer(lint_text(report, file), exit);
  Json object = Json::object();
  object.set("schema_version", kResultSchemaVersion);
  object.set("verb", "check");
  object.set("file", file);
  object.set("report", to_json(report, file));
  return {to_text(object) + '\n', exit};
}

std::string format_of(const LaunchOptions& options, bool json) {
  if (!options.format) return json ? "json" : "text";
  const std::vector<std::string> known{"text", "json", "github"};
  if (std::find(known.begin(), known.end(), *options.format) != known.end()) return *options.format;
  bad_option("--format", fmt::format("unknown '{}'", *options.format),
             did_you_mean(*options.format, known));
}

void declare_launch(Options& options, LaunchOptions& launch) {
  options.heading("Launch files of other trainers");
  options.option("--as", "TRAINER",
                 "megatron (script or flags), torchtitan (TOML, script or recipe) or deepspeed "
                 "(JSON); default: by its content",
                 launch.as);
  options.choices(lint_trainer_names());
  options.option("--target-version", "V",
                 "of the trainer; megatron: 0.20; torchtitan: 0.2, 0.1, head; deepspeed: 0.19. The "
                 "first is the default",
                 launch.target_version);
  options.option("--gpus", "N", "of the job, where the file does not say; wins over the file",
                 launch.gpus);
  options.option("--stages", "P", "of DeepSpeed's PipelineModule, which its JSON does not say",
                 launch.stages);
  options.option("--config", "FILE", "the model's config.json, for its layers and for predictions",
                 launch.model.config);
  options.option("--profile", "FILE", "in its place: what was measured of the model",
                 launch.model.profile);
  options.option("--device", "NAME", "with --config: predict memory and balance on this device",
                 launch.model.device);
  options.option("--cluster", "FILE", "predict on this cluster; with --profile it must be given",
                 launch.model.cluster);
  options.option("--precision", "NAME", "of the prediction by --config; default: bfloat16",
                 launch.model.precision);
  options.choices({"bfloat16", "float16", "tensorfloat32", "float32"});
  options.option("--sequence-length", "S", "of the prediction; default: what the file says",
                 launch.model.sequence_length);
  options.option("--checkpoint-data-parallel", "D",
                 "how many replicas wrote the checkpoint that the job resumes",
                 launch.checkpoint_data_parallel);
  options.repeated("--ignore", "CODES", "rules to ignore, for example W060,E020", launch.ignored);
}

}  // namespace

Answer run_check(const Arguments& arguments) {
  std::string file;
  LaunchOptions launch;
  bool json = false, exit_zero = false;
  Options options(
      "check FILE [OPTIONS]",
      "Judges a plan file without the search that made it: structure, order of actions, "
      "memory sums and the replayed step time are worked out again by the plainest "
      "method there is, and every difference is a finding. Profiles and clusters are "
      "checked by strict reading. Launch files of Megatron-LM, torchtitan and DeepSpeed are "
      "searched for mistakes that show only when the GPUs are allocated, or never; nothing in "
      "them is executed. Exit code 1 when there are findings.",
      kExamples);
  options.heading("Options");
  options.positional("FILE", "a plan, profile or cluster file; a launch script or configuration",
                     file);
  options.flag("--json", "the findings as one JSON object", json);
  options.option("--format", "text|json|github",
                 "github: a line per finding of a launch file, which GitHub shows in the diff",
                 launch.format);
  options.flag("--exit-zero", "exit code 0 also when there are findings", exit_zero);
  declare_launch(options, launch);
  if (auto help = options.parse(arguments)) return help_answer(*help);

  const std::string format = format_of(launch, json);
  if (launch.model.config && launch.model.profile) {
    bad_option("--profile", "does not go with --config", "keep one of them");
  }
  const std::string text = read_file(file);
  const auto trainer = trainer_of(launch, text, file);
  if (!trainer) require_own(text, file);
  Answer answer = trainer ? check_launch(file, text, *trainer, launch, format)
                          : check_own(file, format == "json");
  if (exit_zero && answer.exit == kNo) answer.exit = kYes;
  return answer;
}

}  // namespace penstock
