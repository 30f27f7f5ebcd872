// Judges torchtitan's settings, whatever carries them. Each function of a Python file is a job of
// its own; what two recipes share is told once. The version is the one that wrote the file, else
// the default.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "trainers/torchtitan/torchtitan.h"
#include "trainers/torchtitan/torchtitan_judge.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

}  // namespace

const TorchSchedule* find_torch_schedule(const std::string& name) {
  for (const TorchSchedule& schedule : kTorchSchedules) {
    if (lower(schedule.name) == lower(name)) return &schedule;
  }
  return nullptr;
}

std::optional<int> torchtitan_layer(std::string_view name) {
  constexpr std::string_view kStem = "layers.";
  if (!name.starts_with(kStem) || name.size() == kStem.size() || name.size() > 13) return {};
  int number = 0;
  for (const char c : name.substr(kStem.size())) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + (c - '0');
  }
  return number;
}

void TorchtitanJudge::judge() {
  read_sizes();
  read_parts();
  judge_products();
  judge_schedule_name();
  judge_stages();
  judge_modules();
  judge_automatic_split();
  judge_micro_batches();
  judge_groups();
  judge_csv();
  judge_cuda_graphs();
  judge_resume();
  judge_recompute();
  judge_sends();
  judge_names();
  describe();
}

std::string TorchtitanJudge::written(std::string_view key, const std::string& value) const {
  if (file_.carrier == TorchtitanCarrier::kScript) return fmt::format("--{}={}", key, value);
  if (file_.carrier == TorchtitanCarrier::kPython) return fmt::format("config.{} = {}", key, value);
  return fmt::format("{} = {}", key.substr(key.find('.') + 1), value);
}

void TorchtitanJudge::judge_products() {
  for (const Known* part : {&tensor_, &pipeline_, &context_, &replicas_, &shards_}) {
    if (!judgeable("E001", {part})) return;
  }
  judge_gpus();
  judge_local_batch();
  if (is_head()) judge_tokens();
  if (is_head() || !global_.is_known() || *global_ < 1) return;
  if (!local_.is_known() || !data_.is_known()) {
    not_judged("E001", local_.is_known() ? data_.why_not : local_.why_not);
    return;
  }
  const std::int64_t share = product_of({*local_, *data_});
  if (*global_ % share == 0) return;
  broken("E001", {global_.from},
         fmt::format("a global batch of {} is not a multiple of local batch x DP = {} x {} = {}",
                     *global_, *local_, *data_, share),
         kStops,
         written("training.global_batch_size", std::to_string((*global_ / share + 1) * share)));
}

void TorchtitanJudge::judge_gpus() {
  if (!gpus_) {
    not_judged("E001", "the file does not say how many GPUs; say it with --gpus");
    return;
  }
  const std::int64_t others = other_ranks();
  const bool fills = *shards_ < 1;
  const std::int64_t all = fills ? others : product_of({others, *shards_});
  if (fills ? *gpus_ % others == 0 : all == *gpus_) return;
  broken("E001", {shards_.from, pipeline_.from, tensor_.from},
         fmt::format("{} GPUs are not replicas x shards x CP x TP x PP = {} x {} x {} x {} x {}",
                     *gpus_, *replicas_, fills ? "-1" : std::to_string(*shards_), *context_,
                     *tensor_, *pipeline_),
         kStops,
         fills || *gpus_ % others != 0
             ? fmt::format("start {} GPUs", fills ? (*gpus_ / others + 1) * others : all)
             : written(kShards, std::to_string(*gpus_ / others)));
}

void TorchtitanJudge::judge_local_batch() {
  if (is_head() || !local_.is_known() || !micro_batch_.is_known()) return;
  if (*pipeline_ == 1 || *local_ % *micro_batch_ == 0) return;
  broken("E001", {local_.from, micro_batch_.from},
         fmt::format("a local batch of {} is not a multiple of the micro-batch {}", *local_,
                     *micro_batch_),
         kStops,
         written("training.local_batch_size",
                 std::to_string((*local_ / *micro_batch_ + 1) * *micro_batch_)));
}

void TorchtitanJudge::judge_resume() {
  const LaunchSetting* excluded = settings().find("checkpoint.exclude_from_loading");
  bool reshards = false;
  if (excluded != nullptr) {
    for (const std::string& name : names_in(excluded->value)) {
      if (name == "dataloader") reshards = true;
    }
  }
  judge_checkpoint(data_, reshards, shards_.from != nullptr ? shards_.from : replicas_.from,
                   "Weights and optimizer are redistributed; the data loader's place in the "
                   "data is not, and torchtitan stops while loading it.",
                   fmt::format("keep {} replicas; or begin the data anew: {}",
                               request().checkpoint_data_parallel.value_or(1),
                               written("checkpoint.exclude_from_loading", "[\"dataloader\"]")));
}

void TorchtitanJudge::judge_tokens() {
  const Known step = known("training.num_tokens_per_train_step", -1, -1);
  const Known tokens = known(kTokens, 16'384);
  if (step.is_known() && *step < 1) return;
  for (const Known* part :
       std::initializer_list<const Known*>{&step, &tokens, &micro_batches_, &data_}) {
    if (part->is_known()) continue;
    not_judged("E001", part->why_not);
    return;
  }
  const std::int64_t share = product_of({*tokens, *micro_batches_, *data_});
  if (*step % share == 0) return;
  broken(
      "E001", {step.from, tokens.from},
      fmt::format("{} tokens a step are not a multiple of tokens x micro-batches x DP = {} x {} x "
                  "{} = {}",
                  *step, *tokens, *micro_batches_, *data_, share),
      kStops,
      written("training.num_tokens_per_train_step", std::to_string((*step / share + 1) * share)));
}

void TorchtitanJudge::judge_cuda_graphs() {
  if (!is_head() || !judgeable("E014", {&pipeline_})) return;
  const char* key = "training.disable_cuda_graphs";
  const LaunchSetting* setting = settings().find(key);
  if (setting != nullptr && !setting->unresolved.empty()) {
    not_judged("E014", known(key, std::nullopt).why_not);
    return;
  }
  if (*pipeline_ == 1 || settings().on(key)) return;
  broken("E014", {setting, pipeline_.from}, "CUDA graphs are on, and PP is above 1",
         "torchtitan stops: CUDA graphs do not support pipeline parallelism yet.",
         written(key, "True"));
}

namespace {

LintReport begun_report(const TorchtitanFile& read, const LintRequest& request) {
  LintReport report;
  report.version = request.version;
  report.notes = read.not_followed;
  return report;
}

// What two recipes share, because one begins with the other, is told once.
void drop_twins(std::vector<LintFinding>& findings) {
  std::vector<LintFinding> kept;
  for (LintFinding& finding : findings) {
    if (std::find(kept.begin(), kept.end(), finding) == kept.end()) {
      kept.push_back(std::move(finding));
    }
  }
  findings = std::move(kept);
}

// A script that starts a function of a Python file: its settings are Python's.
LintReport lint_started_recipe(const TorchtitanFile& read, const LintRequest& request) {
  if (!read.why_no_recipe.empty() && read.settings.all().empty()) {
    LintReport report =
        nothing_read(request, {"E001", "E010", "E011", "E013", "E014", "E020"}, read.why_no_recipe);
    report.notes = read.not_followed;
    return report;
  }
  TorchtitanFile one = read;
  LintReport report = begun_report(read, request);
  if (read.why_no_recipe.empty()) {
    one.carrier = TorchtitanCarrier::kPython;
  } else {
    one.settings.open("the configuration that --config names");
    report.notes.push_back(read.why_no_recipe);
  }
  TorchtitanJudge(one, request, report).judge();
  return report;
}

// Every function of a Python file is a job of its own.
LintReport lint_recipes(const TorchtitanFile& read, const std::string& file,
                        const LintRequest& request) {
  LintReport report = begun_report(read, request);
  std::vector<std::string> names;
  std::optional<LaunchJob> first, piped;
  for (const TorchtitanRecipe& recipe : read.recipes) {
    if (!is_job(recipe)) continue;
    TorchtitanFile one{TorchtitanCarrier::kPython, recipe.settings, read.gpus, {}, {}};
    report.job = {};
    TorchtitanJudge(one, request, report).judge();
    names.push_back(recipe.name.empty() ? "the file" : recipe.name);
    if (!first) first = report.job;
    if (!piped && report.job.pipeline.value_or(1) > 1) piped = report.job;
  }
  if (names.empty()) {
    throw_bad_input(fmt::format(
        "{}: no ParallelismConfig(..), TrainingConfig(..) or config.<table>.<key> = .. was found "
        "in this file, so nothing of it could be judged\nhelp: name the file whose function "
        "returns the Trainer.Config",
        file));
  }
  drop_twins(report.findings);
  report.job = piped ? *piped : *first;
  if (names.size() > 1) {
    report.notes.push_back(fmt::format("{} recipes were judged, each by itself", names.size()));
  }
  return report;
}

// Python is of the versions that read it; the header of an exported file says for which version it
// was written.
std::string version_of(std::string_view text, const std::string& file, const TorchtitanFile& read) {
  const TrainerRow* row = find_trainer_row("torchtitan");
  const bool is_python = read.starts_recipe || file.ends_with(".py");
  const std::string_view header = text.substr(0, text.find('\n'));
  for (const TrainerVersion& version : row->versions) {
    const std::string mark = fmt::format(" for torchtitan {}, written by penstock", version.name);
    const bool fits = is_python ? torchtitan_version(*version.facts).is_python
                                : header.find(mark) != std::string_view::npos;
    if (fits) return version.name;
  }
  return row->versions.front().name;
}

}  // namespace

LintReport lint_torchtitan(std::string_view text, const std::string& file,
                           const LintRequest& asked) {
  const TorchtitanFile read = read_torchtitan(text, file, asked.beside);
  LintRequest request = asked;
  if (request.version.empty()) request.version = version_of(text, file, read);
  if (read.carrier == TorchtitanCarrier::kPython) return lint_recipes(read, file, request);
  if (read.starts_recipe) return lint_started_recipe(read, request);
  require_settings(read.settings, file, "torchtitan");
  LintReport report = begun_report(read, request);
  TorchtitanJudge(read, request, report).judge();
  return report;
}

}  // namespace penstock
