// `penstock check`: by its content a file is one of ours (judged by core/check or by strict
// reading), a launch file of a trainer (judged by that trainer's rules), or neither, which is said
// before JSON's parser would. Nothing in a file is executed. Findings make the exit code 1 unless
// --exit-zero.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/own_training.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/options/options.h"
#include "cli/reports/check_file.h"
#include "cli/reports/check_folder.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_facts.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"
#include "trainers/lint/lint.h"
#include "trainers/lint/lint_text.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock check plan.json
  penstock check data/profiles/gpt-6.7b.a100-40gb.json
  penstock check launch.sh --gpus 32
  penstock check launch.sh --config config.json --device h100-sxm --format github
  penstock check job
  penstock check ds_config.json --gpus 32 --stages 4 --json
)";

constexpr const char* kNoYaml =
    "configurations in YAML (NeMo's, Hydra's) are not read\nhelp: name the script that starts the "
    "training (Megatron-LM, Megatron-Bridge, verl), a TOML of torchtitan or DeepSpeed's JSON";

bool is_yaml(const std::string& file) { return kind_of_text(file, "").words == "YAML"; }

void refuse_own_training(const std::string& text, const std::string& file) {
  if (!is_own_training(text)) return;
  throw_bad_input(
      fmt::format("{}: no launch file of Megatron-LM, torchtitan, DeepSpeed or verl\nhelp: {}",
                  file, help_for_own_training(text)));
}

// Also one that is not there, so that nobody looks for it in vain.
[[noreturn]] void refuse_yaml(const std::string& file, const LaunchFileOptions& options) {
  std::error_code failed;
  Arguments words{"run.sh"};
  if (options.gpus) words.insert(words.end(), {"--gpus", *options.gpus});
  const bool is_there = std::filesystem::exists(file, failed);
  if (is_there) refuse_own_training(read_file(file), file);
  throw Error(is_there ? ErrorKind::kBadInput : ErrorKind::kMissingResource,
              fmt::format("{}: {}{}: {}", file,
                          is_there ? "" : "cannot read this file: No such file or directory, and ",
                          kNoYaml, command_of("check", words)));
}

// "penstock train --book book.json .." in a script of ours: what it names is judged instead.
void refuse_own_script(const std::string& text, const std::string& file) {
  const bool is_page = file.ends_with(".md") || file.ends_with(".html") || file.ends_with(".txt");
  if (is_page) return;  // it may show any command
  for (const std::string_view verb : {"train", "manage", "morph", "plan"}) {
    const std::size_t at = text.find(fmt::format("penstock {} ", verb));
    if (at == std::string::npos) continue;
    const std::size_t end = text.find_first_of("\n\\", at);
    std::istringstream words(text.substr(at, end - at));
    std::string named;
    for (std::string word; words >> word;) {
      if (named.empty() && word.ends_with(".json")) named = word;
    }
    throw_bad_input(fmt::format(
        "{}: this script starts penstock {}, and no trainer whose launch file is judged\nhelp: {} "
        "judges what it runs; --as names the trainer of another script: megatron, torchtitan, "
        "deepspeed or verl",
        file, verb, command_of("check", {named.empty() ? "plan.json" : named})));
  }
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
  if (first == std::string::npos) {
    throw_bad_input(file +
                    ": this file is empty\nhelp: name the script or the configuration that starts "
                    "the training, or a plan");
  }
  const bool is_printed = text.compare(first, 2, "{'") == 0;  // by Python, which is no JSON
  if ((text[first] == '{' || text[first] == '[') && !is_printed) return;
  refuse_own_script(text, file);
  refuse_own_training(text, file);
  // By its name alone it may be anybody's, and what names end with is judged here.
  const FileAtHand found = file_at_hand(file);
  const bool is_by_content = found.words != kind_of_text(file, "").words || found.words == "a log";
  if (is_by_content && !found.use.empty()) {
    throw_bad_input(
        fmt::format("{}: this is {}, and a plan or a launch file belongs here\nhelp: {}", file,
                    found.words, found.use));
  }
  throw_bad_input(fmt::format(
      "{}: no plan, profile or cluster file of Penstock, and no launch file of Megatron-LM, "
      "torchtitan, DeepSpeed or verl by its content\nhelp: name the file that starts the training, "
      "or say whose it is: --as megatron, torchtitan, deepspeed or verl",
      file));
}

Answer check_own(const std::string& file, bool json, Screen screen) {
  const CheckedFile result = checked_own(file, load_json(file).value, screen);
  const int exit = result.report.findings.empty() ? kYes : kNo;
  if (!json) return report_answer(result.text, exit);
  Json object = answer_json("check");
  object.set("file", file);
  object.set("report", to_json(result.report));
  return json_answer(object, exit);
}

// The options that only launch files are judged by.
std::vector<std::string> given_of_launch(const LaunchFileOptions& options) {
  const LaunchModel& model = options.model;
  std::vector<std::string> names;
  for (const auto& [name, value] : {std::pair{"--gpus", &options.gpus},
                                    {"--stages", &options.stages},
                                    {"--config", &model.config},
                                    {"--profile", &model.profile},
                                    {"--device", &model.device},
                                    {"--cluster", &model.cluster},
                                    {"--precision", &model.precision},
                                    {"--sequence-length", &model.sequence_length}}) {
    if (*value) names.emplace_back(name);
  }
  return names;
}

// "check plan.json --gpus 32": what our own files say themselves.
std::string remark_on_own(const std::string& file, const LaunchFileOptions& options) {
  std::vector<std::string> names = given_of_launch(options);
  const bool is_plan = options.gpus && is_plan_format(format_of_file(file));
  const int gpus = is_plan ? load_plan(file).value.plan.devices() : 0;
  if (is_plan && *options.gpus == std::to_string(gpus)) std::erase(names, "--gpus");
  if (names.empty()) return "";
  const bool is_other = is_plan && names.front() == "--gpus";
  return fmt::format(
      "note: {} {} for launch files, and {} says itself what it is{}\n", joined(names, ", "),
      names.size() == 1 ? "is" : "are", file,
      is_other ? fmt::format(": a plan of {}, not {}; {} writes a launch file of it, and penstock "
                             "plan ... --gpus {} plans for another number",
                             count_of(gpus, "GPU"), *options.gpus,
                             command_of("export", {file, "--to", "megatron", "-o", "job"}),
                             *options.gpus)
               : "");
}

// "check plan.json --device a100-40gb": all clear would read as if it fitted there.
void refuse_other_device(const std::string& file, const LaunchFileOptions& options) {
  const auto& device = options.model.device;
  if (!device || !is_plan_format(format_of_file(file))) return;
  const Plan plan = load_plan(file).value.plan;
  std::vector<std::string> own{plan.device};
  for (int rank = 0; plan.is_mixed() && rank < plan.pipeline; ++rank) {
    if (plan.device_of_rank(rank) != own.back()) own.push_back(plan.device_of_rank(rank));
  }
  if (!device_among(own, *device).empty()) return;
  const std::string command = command_for_its_model("predict", {file, "--device", *device});
  bad_option("--device",
             fmt::format("{} is a plan for {}, and is checked for these", file, joined(own, ", ")),
             command.empty() ? "leave it out" : "whether its layout fits there: " + command);
}

Answer check_launch(const std::string& file, const std::string& text, const TrainerRow& trainer,
                    const LaunchFileOptions& options, const std::string& format, Screen screen) {
  const LintReport report = checked_launch(file, text, trainer, options).report;
  const int exit = report.findings.empty() ? kYes : kNo;
  if (format == "github") return {lint_annotations(report, file), exit};
  if (format == "text") return report_answer(lint_text(report, file, screen), exit);
  Json object = answer_json("check");
  object.set("file", file);
  object.set("report", to_json(report, file));
  return json_answer(object, exit);
}

std::string format_of(const LaunchFileOptions& options, bool json) {
  if (!options.format) return json ? "json" : "text";
  const std::vector<std::string> known{"text", "json", "github"};
  if (std::find(known.begin(), known.end(), *options.format) != known.end()) return *options.format;
  unknown_word("--format", *options.format, known);
}

void declare_launch(Options& options, LaunchFileOptions& launch) {
  options.heading("Launch files of other trainers");
  options.option("--as", "TRAINER",
                 "megatron (script or flags), torchtitan (TOML, script or recipe), deepspeed "
                 "(JSON) or verl (script); default: by its content",
                 launch.as);
  options.choices(linted_trainer_names());
  options.option(
      "--target-version", "V",
      "of the trainer; " + versions_in_words(linted_trainer_names()) + ". The first is the default",
      launch.target_version);
  options.option("--gpus", "N",
                 "number of GPUs of the job, if the file does not say; overrides "
                 "the file",
                 launch.gpus);
  options.option("--stages", "P",
                 "number of stages of DeepSpeed's PipelineModule, which its "
                 "JSON does not contain",
                 launch.stages);
  options.option("--config", "FILE", "the model's config.json, for its layers and for predictions",
                 launch.model.config);
  options.option("--profile", "FILE", "instead of --config: a measured profile of the model",
                 launch.model.profile);
  options.option("--device", "NAME", "with --config: predict memory and balance on this device",
                 launch.model.device);
  options.option("--cluster", "FILE", "predict on this cluster; with --profile it must be given",
                 launch.model.cluster);
  options.option("--precision", "NAME",
                 "precision of the prediction with --config; default: "
                 "bfloat16",
                 launch.model.precision);
  options.choices({"bfloat16", "float16", "tensorfloat32", "float32"});
  options.option("--sequence-length", "S",
                 "tokens per sample of the prediction; default: as in "
                 "the file",
                 launch.model.sequence_length);
  options.option("--checkpoint-data-parallel", "D",
                 "how many replicas wrote the checkpoint that the job resumes",
                 launch.checkpoint_data_parallel);
  options.repeated("--ignore", "CODE,...", "rules to ignore, for example W060,E020",
                   launch.ignored);
}

}  // namespace

Answer run_check(const Arguments& arguments, Screen screen) {
  std::string file;
  LaunchFileOptions launch;
  bool json = false, exit_zero = false;
  Options options(
      "check FILE|FOLDER [OPTIONS]",
      "Judges a plan file independently of the search that made it: structure, order of actions, "
      "memory sums and the replayed step time are computed again by a plain method, and every "
      "difference is a finding. Profiles and clusters are checked by strict reading. Launch "
      "files of Megatron-LM, Megatron-Bridge, NeMo, torchtitan, DeepSpeed and verl are searched "
      "for "
      "mistakes that show only when the GPUs are allocated, or never; nothing in them is executed. "
      "In a folder, all such "
      "files are judged, with one summary. Exit code 1 when there are findings.",
      kExamples);
  options.heading("Options");
  options.positional(
      "FILE",
      "a plan, profile or cluster file; a launch script or configuration; a folder of these", file);
  options.flag("--json", "the findings as one JSON object", json);
  options.option("--format", "text|json|github",
                 "github: a line per finding of a launch file, which GitHub shows in the diff",
                 launch.format);
  options.flag("--exit-zero", "exit code 0 even when there are findings", exit_zero);
  declare_launch(options, launch);
  options.remark({"memory", "mem", "vram", "oom", "fit", "fits", "gpu-memory", "hbm"},
                 "memory is judged where model and device are known: --config config.json --device "
                 "h100-sxm, or --profile and --cluster");
  options.remark({"nodes", "machines"},
                 "a launch file says it; where it does not, write --gpus N, the GPUs of all nodes");
  options.remark({"strict", "werror", "fail", "exit-code", "error"},
                 "leave it out: the exit code is 1 when there are findings");
  options.remark({"r", "recursive", "a", "all"},
                 "leave it out: of a folder all files are judged: penstock check {FOLDER}");
  options.remark({"quiet", "q", "silent"},
                 "leave it out: the exit code says it all (1: findings); >/dev/null hides them");
  options.remark({"rules", "list-rules", "rule", "codes", "list", "explain", "describe"},
                 "docs/checking.md lists the rules; every finding names its own, and --ignore "
                 "CODE,... leaves rules out");
  options.remark({"only", "select", "enable"},
                 "all rules are judged; --ignore CODE,... leaves rules out");
  options.remark({"o", "output", "out", "save", "output-file", "report"},
                 "findings go to stdout: > findings.txt keeps them, --json prints them as data");
  options.remark({"ckpt-dp", "checkpoint-dp", "old-dp", "resume-dp"},
                 "write --checkpoint-data-parallel {D}");
  options.remark({"resume", "resume-from", "checkpoint", "load", "ckpt"},
                 "write --checkpoint-data-parallel D, the replicas that wrote the checkpoint");
  options.remark({"pp", "stages", "pipeline-parallel-size", "pipe-parallel-size"},
                 "a launch file has it already; for a configuration of DeepSpeed, which has not, "
                 "write --stages {P}");
  options.remark({"to", "export"},
                 "--as {TRAINER} says whose launch file it is; a plan's files for a trainer are "
                 "written by penstock export plan.json --to {TRAINER} -o job");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  const std::string format = format_of(launch, json);
  if (launch.gpus)
    static_cast<void>(parse_int("--gpus", *launch.gpus, 1));  // also where no file asks for it
  if (launch.stages) static_cast<void>(parse_int("--stages", *launch.stages, 1));
  if (launch.model.config && launch.model.profile) {
    bad_option("--profile", "cannot be combined with --config", "keep one of them");
  }
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed)) {
    Answer answer = check_folder(file, launch, format, screen);
    if (exit_zero && answer.exit == kNo) answer.exit = kYes;
    return answer;
  }
  if (is_yaml(file) && !std::filesystem::exists(file, failed)) refuse_yaml(file, launch);
  const std::string text = load_text(
      file, "name a launch script, a trainer's configuration or a plan, or a folder of these");
  if (launch.as && !own_format_in(text).empty()) {
    bad_option("--as", fmt::format("{} is a file of Penstock", file), "leave --as out");
  }
  // No trainer's by its content, whatever --as says.
  if (is_yaml(file) && trainer_of({}, text, file) == nullptr) refuse_yaml(file, launch);
  const TrainerRow* trainer = trainer_of(launch, text, file);
  if (trainer == nullptr) require_own(text, file);
  if (trainer == nullptr) refuse_other_device(file, launch);
  Answer answer = trainer != nullptr ? check_launch(file, text, *trainer, launch, format, screen)
                                     : check_own(file, format == "json", screen);
  if (trainer == nullptr && answer.exit == kYes) answer.remark = remark_on_own(file, launch);
  if (exit_zero && answer.exit == kNo) answer.exit = kYes;
  return answer;
}

}  // namespace penstock
