// `penstock export`: the exporter answers with files or with a sentence why not. A refusal is an
// answer (exit code 1) and comes with the nearest plan that the trainer can run, searched with the
// plan's own profile and cluster; where that cannot be done the reason is told.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/verbs/trainer_asked.h"
#include "cli/io/export_inputs.h"
#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/shell_word.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/values/json_reader.h"
#include "report/json_array.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/words.h"
#include "studies/nearest_plan.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock export plan.json --to megatron -o job
  penstock export plan.json --to torchtitan --target-version head -o job
  penstock export plan.json --to pytorch
  penstock export plan.json --to deepspeed --nearest other.json
)";

std::string known_targets() {
  std::string text;
  for (const std::string& name : exported_trainer_names()) {
    const TrainerRow& target = *find_trainer_row(name);
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : "; ", target.name, target.exporter->summary);
  }
  return text;
}

// Whether it runs the plan as it is.
bool can_run(const TrainerRow& target, const Loaded<PlanFile>& plan, const std::string& path) {
  ExportRequest request;
  request.version = target.versions.front().name;
  request.plan_path = path;
  request.plan_hash = plan.file.hash;
  ExportInputs inputs = export_inputs(plan.value, path, {});
  request.precision = inputs.precision;
  request.model = std::move(inputs.model);
  return exported(plan.value, target, request).why_not.empty();
}

// "--to ds_config.json", "--format sbatch": the file that is wanted says for whom it is, or the
// plan does.
void refuse_file_as_target(const std::string& name, const std::string& path,
                           const TypedCommand& command) {
  const bool is_started = starts_jobs(name);
  const std::string of_file = trainer_of_file(name);
  if (!is_started && of_file.empty()) return;
  const std::string asked = is_started ? trainer_asked({path}) : of_file;
  const std::string trainer = asked.empty() ? "megatron" : asked;
  const std::string written = command_of_export(path, trainer, command.words);
  const bool is_kubernetes = is_among({"k8s", "kubernetes"}, plain_word(name));
  const std::string what =
      is_kubernetes ? "no Kubernetes manifest is written; run.sh is what every pod of a "
                      "Job or PyTorchJob of yours starts"
      : is_started  ? "it writes job.sbatch (for Slurm), sky.yaml and run.sh beside the "
                      "trainer's files"
                    : "it writes " + trainer + "'s files";
  const bool is_there = find_trainer(trainer) != nullptr;
  const std::string other =
      is_there && !can_run(*find_trainer_row(trainer), load_plan(path), path)
          ? command_for_its_model("plan", {path, "--for", trainer, "-o", trainer + ".json"})
          : "";
  bad_option("--to", fmt::format("unknown target '{}'", name.substr(0, 60)),
             other.empty()
                 ? fmt::format("{}; {}", written, what)
                 : fmt::format("{}{} cannot run this plan; one that it runs: {}; then {}",
                               is_kubernetes ? what + ". And " : "", trainer, other,
                               command_of_export(trainer + ".json", trainer, command.words)));
}

const TrainerRow& target_named(const std::string& name, const std::string& path,
                               const TypedCommand& command) {
  const TrainerRow* target = find_trainer_row(exported_trainer_called(name));
  if (target != nullptr && target->exporter) return *target;
  refuse_file_as_target(name, path, command);
  bad_option("--to", fmt::format("unknown target '{}'", name.substr(0, 60)),
             name.find(',') != std::string::npos
                 ? fmt::format("one target at a time: {}", joined(exported_trainer_names(), ", "))
                 : help_for_trainer("--to", name, exported_trainer_names()));
}

std::string joined_files(const std::vector<NamedText>& files) {
  if (files.size() == 1) return files.front().text;
  std::string text;
  for (const NamedText& file : files) text += fmt::format("==> {} <==\n{}", file.name, file.text);
  return text;
}

// "ds_config.json": several files are written, and into a folder.
bool names_file(const std::string& output) {
  std::error_code error;
  const std::string ending = std::filesystem::path(output).extension().string();
  const bool is_named_so = ending == ".json" || ending == ".sh" || ending == ".yaml" ||
                           ending == ".toml" || ending == ".py" || ending == ".csv";
  const bool is_folder = std::filesystem::is_directory(output, error);
  return !is_folder && (is_named_so || std::filesystem::exists(output, error));
}

constexpr const char* kFolder = "job";

// Whole lines, to be pasted.
std::string commands_for_nearest(const TypedCommand& command, const std::string& plan) {
  const std::string nearest = "nearest.json";
  Arguments writes = command.words, exports = command.words;
  writes.insert(writes.end(), {"--nearest", nearest});
  std::replace(exports.begin(), exports.end(), plan, nearest);
  for (Arguments* words : {&writes, &exports}) {
    const auto output = std::find(words->begin(), words->end(), "-o");
    if (words->end() - output > 1 && names_file(*(output + 1))) *(output + 1) = kFolder;
  }
  return fmt::format("To take it:\n  {}\n  {}\n", command_of("export", writes),
                     command_of("export", exports));
}

std::string refusal_text(const PlanFile& plan, const Export& refusal, const NearestPlan& nearest,
                         const std::string& to_take_it, Screen screen) {
  std::string text = wrapped("refused: " + refusal.why_not, screen.width(), "", "  ");
  if (!nearest.plan) {
    return text + wrapped("the nearest plan was not worked out: " + nearest.why_not, screen.width(),
                          "", "  ");
  }
  const Evaluation& prediction = nearest.plan->prediction;
  const double change = static_cast<double>(prediction.step_time.count()) /
                            static_cast<double>(plan.prediction.step_time.count()) -
                        1.0;
  text += wrapped(fmt::format("nearest plan: {}: step {} ({:+.1f} %), fullest rank {} GiB",
                              layout_line(nearest.plan->plan), to_text(prediction.step_time),
                              100.0 * change, gib(prediction.peak_memory())),
                  screen.width(), "", "  ");
  text += fmt::format("  cuts [{}]\n", fmt::join(nearest.plan->plan.cuts, ", "));
  return text + to_take_it;
}

Json export_json(const TrainerRow& target, const ExportRequest& request, const Export& answer) {
  Json json = answer_json("export");
  json.set("target", std::string(target.name)).set("target_version", request.version);
  json.set("plan", request.plan_path).set("plan_hash", request.plan_hash);
  const auto file_json = [](const NamedText& file) {
    return Json::object().set("name", file.name).set("text", file.text);
  };
  return json.set("files", array_of(answer.files, file_json)).set("notes", strings(answer.notes));
}

void set_refusal(Json& json, const Export& refusal, const NearestPlan& nearest) {
  json.set("why_not", refusal.why_not);
  if (!nearest.plan) {
    json.set("nearest", Json()).set("why_no_nearest", nearest.why_not);
    return;
  }
  json.set("nearest",
           Json::object()
               .set("plan", to_json(nearest.plan->plan))
               .set("prediction", to_json(nearest.plan->prediction, nearest.plan->plan)));
}

// "> ds_config.json": what stdout goes to holds them all.
std::string note_on_printed(const std::vector<NamedText>& files, const TypedCommand& command,
                            Screen screen) {
  if (files.size() < 2 || screen.columns > 0) return "";
  Arguments words = command.words;
  words.insert(words.end(), {"-o", kFolder});
  // A command that is wrapped cannot be pasted.
  return fmt::format(
      "note: all {} files are printed one after another; as files of their own:\n  {}\n",
      files.size(), command_of("export", words));
}

void refuse_file(const std::string& output, const TypedCommand& command) {
  if (!names_file(output)) return;
  Arguments words = command.words;
  std::replace(words.begin(), words.end(), output, std::string(kFolder));
  bad_option("-o", fmt::format("'{}' is a file, and a folder belongs here", output.substr(0, 60)),
             fmt::format("several files are written into it: {}", command_of("export", words)));
}

}  // namespace

Answer run_export(const Arguments& arguments, Screen screen) {
  std::string path;
  std::optional<std::string> to, target_version, output, nearest_path;
  ExportOptions inputs;
  bool json = false;
  Options options(
      "export PLAN --to TARGET [OPTIONS]",
      "Writes the job of a plan for a trainer: flags or configuration, schedule, and the scripts "
      "that "
      "start it (run.sh, job.sbatch, sky.yaml). What the trainer "
      "cannot express is refused in a sentence, with the nearest plan that it can, worked out from "
      "the plan's own profile and cluster; the exit code is then 1.",
      kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", path);
  options.option("--to", "TARGET", known_targets() + "; TARGET@VERSION names both", to);
  options.choices(exported_trainer_names());
  options.option("--target-version", "V",
                 "of the trainer; " + versions_in_words(exported_trainer_names()) +
                     ". The first is the default",
                 target_version);
  options.option(
      "--model", "FILE",
      "the model's config.json, for the flags with its sizes; default: the one that the plan was "
      "made from",
      inputs.model);
  options.option("--precision", "NAME",
                 "bfloat16, float8, float16, tensorfloat32 or float32; default: that of the plan",
                 inputs.precision);
  options.option("-o,--output", "DIR", "write the files into this folder; default: all to stdout",
                 output);
  options.option(
      "--nearest", "FILE",
      "when the plan is refused, write the nearest one that the trainer can run to this file",
      nearest_path);
  options.flag("--json", "files and notes, or the refusal, as one JSON object", json);
  options.remark({"csv", "schedule-csv"},
                 "--to pytorch -o job writes the schedule as PyTorch's CSV");
  options.remark({"slurm", "sbatch", "srun"},
                 "leave it out: -o job writes job.sbatch beside the trainer's own files");
  TypedCommand command;
  options.keep_command(command);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (!to) {
    bad_option("--to", "missing",
               fmt::format("say for which trainer, one of {}: for example {}",
                           joined(exported_trainer_names(), ", "), command.whole()));
  }
  const std::string& asked = *to;
  const std::size_t at = asked.find('@');
  if (at != std::string::npos && !target_version) target_version = asked.substr(at + 1);
  const TrainerRow& target = target_named(asked.substr(0, at), path, command);
  const Loaded<PlanFile> plan = load_plan(path);
  ExportRequest request;
  request.version =
      target_version ? version_called(target, *target_version) : target.versions.front().name;
  request.plan_path = path;
  request.plan_hash = plan.file.hash;
  request.tool_version = version();
  request.command = fmt::format("penstock export {} --to {} --target-version {}", path, target.name,
                                request.version);
  ExportInputs read = export_inputs(plan.value, path, inputs);
  request.precision = read.precision;
  request.model = std::move(read.model);
  Export answer = exported(plan.value, target, request);
  if (plain_word(asked) == "nemo") {
    answer.notes.insert(
        answer.notes.begin(),
        "nemo was read as megatron-bridge; recipes of NeMo 1 and 2 are not written");
  }
  if (!read.note.empty() && target.exporter->tells_precision) answer.notes.push_back(read.note);
  Json object = export_json(target, request, answer);
  if (!answer.why_not.empty()) {
    const PlanQuestion asked_of = asked_again(plan.value, target, request);
    NearestPlan nearest = nearest_plan(plan.value, answer, target, request, asked_of);
    if (nearest.plan) note_question(asked_of.question, *nearest.plan);
    if (nearest_path && nearest.plan) {
      write_output(*nearest_path, to_text(write_plan(*nearest.plan)) + '\n');
    }
    set_refusal(object, answer, nearest);
    if (json) return json_answer(object, kNo);
    return report_answer(refusal_text(plan.value, answer, nearest,
                                      nearest_path ? fmt::format("It is in {}\n", *nearest_path)
                                                   : commands_for_nearest(command, path),
                                      screen),
                         kNo);
  }
  if (output) refuse_file(*output, command);
  std::vector<std::string> written;
  if (output && *output != "-") written = write_into(*output, answer.files);
  if (json) return json_answer(object);
  if (written.empty()) {
    const std::string on_printed = output ? "" : note_on_printed(answer.files, command, screen);
    return {joined_files(answer.files), kYes,
            on_printed + wrapped(answer.notes, screen.width(), "note: ", "      ")};
  }
  std::string text =
      fmt::format("for {} {}: {}\n", target.name, request.version, joined(written, ", "));
  text += wrapped(answer.notes, screen.width(), "note: ", "      ");
  return report_answer(text);
}

}  // namespace penstock
