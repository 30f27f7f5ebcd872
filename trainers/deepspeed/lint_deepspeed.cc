// DeepSpeed's configuration, flattened into settings with paths (zero_optimization.stage). The
// number of stages stands in the job's Python, so it is asked for with --stages; batch, micro-batch
// and steps follow from each other as in DeepSpeed's own _set_batch_related_parameters().
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/json.h"
#include "trainers/deepspeed/deepspeed.h"
#include "trainers/lint/claims.h"
#include "trainers/lint/judge.h"
#include "trainers/lint/launch_script.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

constexpr const char* kBatch = "train_batch_size";
constexpr const char* kMicroBatch = "train_micro_batch_size_per_gpu";
constexpr const char* kSteps = "gradient_accumulation_steps";
constexpr const char* kStage = "zero_optimization.stage";
constexpr const char* kStages = "pipeline.stages";

// Objects become paths; "auto", which Hugging Face's trainer fills in, is a value nobody knows, and
// so is one of a list that DeepSpeed's autotuner tries.
void flatten(const Json& json, const std::string& path, LaunchSettings& settings) {
  for (const auto& [key, value] : json.members()) {
    std::string name = path;
    if (!path.empty()) name += '.';
    name += key;
    LaunchSetting setting;
    setting.name = name;
    setting.value = value;
    setting.line = value.line();
    const bool is_plain = value.kind() != Json::Kind::kObject && value.kind() != Json::Kind::kArray;
    setting.text = fmt::format("\"{}\"{}", key, is_plain ? ": " + to_text(value) : "");
    if (value.kind() == Json::Kind::kString && value.text() == "auto") setting.unresolved = "auto";
    if (value.kind() == Json::Kind::kArray) setting.unresolved = "the one of the list";
    settings.add(std::move(setting));
    if (value.kind() == Json::Kind::kObject) flatten(value, name, settings);
  }
}

class DeepspeedJudge : public Judge {
 public:
  DeepspeedJudge(const LaunchSettings& settings, const LintRequest& request, LintReport& report)
      : Judge(settings, request, report), facts_(facts_of("deepspeed", request.version)) {}

  void judge() {
    read_sizes();
    judge_product();
    judge_sharding();
    judge_micro_batches();
    judge_resume();
    judge_names();
    describe();
  }

 private:
  [[nodiscard]] bool has_pipeline() const {
    return settings().has("pipeline") || request().stages.has_value();
  }

  void read_sizes() {
    batch_ = known(kBatch, std::nullopt);
    micro_batch_ = known(kMicroBatch, std::nullopt);
    steps_ = known(kSteps, std::nullopt);
    zero_ = known(kStage, 0, 0);
    read_stages();
    read_replicas();
  }

  // P stands in the job's Python; people write it here, too, where nobody reads it.
  void read_stages() {
    if (request().stages) {
      stages_.value = *request().stages;
    } else if (!has_pipeline()) {
      stages_.value = 1;
    } else {
      const LaunchSetting* setting = settings().find(kStages);
      const bool is_number = setting != nullptr && setting->value.kind() == Json::Kind::kNumber;
      if (is_number) stages_ = known(kStages, std::nullopt);
      if (!is_number) {
        stages_.why_not =
            "ds_config.json does not say how many stages PipelineModule has; say it "
            "with --stages";
      }
    }
  }

  void read_replicas() {
    if (request().gpus && stages_.is_known()) {
      if (*request().gpus % *stages_ == 0) {
        data_.value = *request().gpus / *stages_;
      } else {
        data_.why_not = "the GPUs are not a multiple of the stages (E001)";
      }
    } else if (batch_.is_known() && micro_batch_.is_known() && steps_.is_known()) {
      const std::int64_t share = product_of({*micro_batch_, *steps_});
      if (*batch_ % share == 0) data_.value = *batch_ / share;
      if (!data_.is_known()) data_.why_not = "it does not follow from the batch (E001)";
    } else {
      data_.why_not =
          "the number of replicas does not follow from the file; say the GPUs with "
          "--gpus";
    }
    fill_the_third();
  }

  // Of batch, micro-batch and steps DeepSpeed works out the one that is left out.
  void fill_the_third() {
    const bool all_but_steps = batch_.is_known() && micro_batch_.is_known() && data_.is_known();
    if (!settings().has(kSteps) && all_but_steps) {
      const std::int64_t share = product_of({*micro_batch_, *data_});
      if (*batch_ % share == 0) steps_.value = *batch_ / share;
    }
  }

  // --- E001

  void judge_product() {
    if (request().gpus && stages_.is_known() && *request().gpus % *stages_ != 0) {
      broken("E001", {stages_.from, settings().find("pipeline")},
             fmt::format("{} GPUs are not a multiple of {} stages", *request().gpus, *stages_),
             "DeepSpeed stops when it lays out the ranks.",
             fmt::format("start {} GPUs", (*request().gpus / *stages_ + 1) * *stages_));
      return;
    }
    if (batch_.is_known() && !settings().has(kMicroBatch)) {
      judge_without_micro_batch();
      return;
    }
    if (!judgeable("E001", {&batch_, &micro_batch_})) return;
    if (!steps_.is_known()) {
      judge_without_steps();
      return;
    }
    const std::int64_t share = product_of({*micro_batch_, *steps_});
    if (!request().gpus || !data_.is_known()) {
      if (*batch_ % share != 0) {
        wrong_product(fmt::format("a batch of {} is not a multiple of {} x {} = {}", *batch_,
                                  *micro_batch_, *steps_, share),
                      (*batch_ / share + 1) * share);
      }
      if (!request().gpus) not_judged("E001", "say the GPUs with --gpus");
      return;
    }
    const std::int64_t product = product_of({share, *data_});
    if (product == *batch_) return;
    wrong_product(fmt::format("a batch of {} is not mbs x micro-batches x DP = {} x {} x {} = {}",
                              *batch_, *micro_batch_, *steps_, *data_, product),
                  product);
  }

  // DeepSpeed works the micro-batch out: what is left of the batch for a replica and a step.
  void judge_without_micro_batch() {
    Known steps = steps_;
    if (!settings().has(kSteps)) steps.value = 1;
    if (!judgeable("E001", {&batch_, &steps, &data_})) return;
    const std::int64_t share = product_of({*steps, *data_});
    if (*batch_ % share == 0) return;
    wrong_product(
        *batch_ < share
            ? fmt::format(
                  "a batch of {} has less than a sample for each of micro-batches x DP = {} x {}",
                  *batch_, *steps, *data_)
            : fmt::format("a batch of {} is not a multiple of micro-batches x DP = {} x {}",
                          *batch_, *steps, *data_),
        (*batch_ / share + 1) * share);
  }

  void judge_without_steps() {
    const std::int64_t data = data_.value.value_or(1);
    const std::int64_t share = product_of({*micro_batch_, data});
    if (*batch_ % share == 0) return;
    wrong_product(fmt::format("a batch of {} is not a multiple of mbs x DP = {} x {}", *batch_,
                              *micro_batch_, data),
                  (*batch_ / share + 1) * share);
  }

  // Of the three DeepSpeed derives the one that is left out.
  void wrong_product(std::string message, std::int64_t batch) {
    const std::string derived =
        settings().has(kSteps) && settings().has(kMicroBatch)
            ? fmt::format("leave \"{}\" out, which DeepSpeed then derives; or \"{}\": {}", kSteps,
                          kBatch, batch)
            : fmt::format("\"{}\": {}", kBatch, batch);
    broken("E001", {batch_.from}, std::move(message),
           "DeepSpeed asserts the product when the engine is built, after the GPUs are allocated.",
           derived);
  }

  void judge_sharding() {
    if (!has_pipeline() || !zero_.is_known() || *zero_ < 2) return;
    broken("E001", {zero_.from}, fmt::format("ZeRO {} cannot be combined with a pipeline", *zero_),
           "DeepSpeed rejects it: gradients of several micro-batches are held until the step ends.",
           "\"stage\": 1");
  }

  // --- E020, E040, W060

  void judge_micro_batches() {
    if (!judgeable("E020", {&stages_, &steps_}) || *steps_ >= *stages_) return;
    const double idle =
        100.0 * static_cast<double>(*stages_ - 1) / static_cast<double>(*steps_ + *stages_ - 1);
    LintFinding& finding = broken(
        "E020", {steps_.from, batch_.from},
        fmt::format("{} fewer than {} stages", micro_batches_are(*steps_), *stages_),
        fmt::format("DeepSpeed runs it without a warning; ranks are idle for {:.0f} % of the step. "
                    "Other trainers hang here.",
                    idle),
        fmt::format("\"{}\": {}, and {} times DP samples in a batch", kSteps, *stages_,
                    product_of({*stages_, micro_batch_.value.value_or(1)})));
    finding.severity = LintSeverity::kWarning;
  }

  void judge_resume() {
    const bool reshards =
        settings().on("checkpoint.load_universal") || (zero_.is_known() && *zero_ == 0);
    judge_checkpoint(data_, reshards, settings().find(kStage),
                     "DeepSpeed stops while loading: ZeRO's optimizer state is not redistributed.",
                     fmt::format("keep {} replicas; or convert the checkpoint with ds_to_universal "
                                 "and set \"checkpoint\": {{\"load_universal\": true}}",
                                 request().checkpoint_data_parallel.value_or(1)));
  }

  void judge_names() {
    judged("W060");
    for (const LaunchSetting& setting : settings().all()) {
      const std::size_t dot = setting.name.find('.');
      const std::string_view top = std::string_view(setting.name).substr(0, dot);
      if (dot == std::string::npos) {
        judge_key(setting);
      } else if (top == "pipeline" && setting.name.find('.', dot + 1) == std::string::npos) {
        judge_pipeline_key(setting, setting.name.substr(dot + 1));
      }
    }
    if (other_keys_.empty()) return;
    report().notes.push_back(
        fmt::format("DeepSpeed's configuration has no {} as far as is known here, and passes over "
                    "keys that it does not know",
                    fmt::join(other_keys_, ", ")));
  }

  void judge_key(const LaunchSetting& setting) {
    if (has_fact(facts_, "keys", setting.name)) return;
    const auto nearest = nearest_name(setting.name, fact_names(facts_, "keys"));
    if (!nearest) {
      other_keys_.push_back(setting.name);
      return;
    }
    if (!tell_unknown_name()) return;
    broken("W060", {&setting}, fmt::format("{} may be {}, misspelt", setting.name, *nearest),
           "DeepSpeed ignores keys that it does not know, without a warning.",
           fmt::format("\"{}\"", *nearest));
  }

  void judge_pipeline_key(const LaunchSetting& setting, const std::string& key) {
    if (has_fact(facts_, "pipeline_keys", key)) return;
    if (has_fact(facts_, "pipeline_keys_not_read", key)) {
      broken("W060", {&setting}, fmt::format("the engine does not read pipeline.{}", key),
             "It is ignored without a warning; stages and cuts are set in Python.",
             key == "stages"
                 ? fmt::format("PipelineModule(layers=..., num_stages={})", to_text(setting.value))
                 : "PipelineModule(layers=..., partition_method=...)");
      return;
    }
    if (!tell_unknown_name()) return;
    const auto nearest = nearest_name(key, fact_names(facts_, "pipeline_keys"));
    broken("W060", {&setting}, fmt::format("pipeline.{} is not a known key", key),
           "DeepSpeed ignores keys that it does not know, without a warning.",
           nearest ? fmt::format("\"{}\"", *nearest) : "take it out, or --ignore W060");
  }

  void describe() {
    LaunchJob& job = report().job;
    job.gpus = request().gpus;
    job.tensor = job.context = job.expert = 1;
    job.pipeline = as_int(stages_.value);
    job.data = as_int(data_.value);
    job.micro_batch_size = as_int(micro_batch_.value);
    job.global_batch = as_int(batch_.value);
    job.micro_batches = as_int(steps_.value);
    job.layers = request().layers;
    job.zero1 = zero_.is_known() && *zero_ >= 1;
    if (job.zero1 && *zero_ == 2) job.sharding = Sharding::kGradients;
    if (job.zero1 && *zero_ >= 3) job.sharding = Sharding::kParameters;
    const Known interval = known("pipeline.activation_checkpoint_interval", 0, 0);
    if (interval.is_known() && *interval > 0) job.recompute = "full";
    const LaunchSetting* place = micro_batch_.from != nullptr ? micro_batch_.from : batch_.from;
    if (place == nullptr) return;
    job.line = place->line;
    job.setting = place->text;
  }

  Known batch_, micro_batch_, steps_, zero_, stages_, data_;
  std::vector<std::string> other_keys_;
  const Json& facts_;
};

LintReport lint_config(std::string_view text, const std::string& file, const LintRequest& request) {
  const Json json = parse_json(text, file);
  if (json.kind() != Json::Kind::kObject) {
    throw_bad_input(file + ": expected an object\nhelp: a DeepSpeed configuration is {...}");
  }
  LaunchSettings settings(file);
  flatten(json, "", settings);
  require_settings(settings, file, "DeepSpeed");
  LintReport report;
  report.version = request.version;
  DeepspeedJudge(settings, request, report).judge();
  return report;
}

// --deepspeed_config FILE; of Hugging Face's trainer --deepspeed FILE.
const LaunchSetting* config_flag(const LaunchSettings& flags) {
  for (const char* name :
       {"--deepspeed_config", "--deepspeed-config", "--ds_config", "--ds-config", "--deepspeed"}) {
    const LaunchSetting* setting = flags.find(name);
    if (setting != nullptr && setting->value.kind() == Json::Kind::kString) return setting;
  }
  return nullptr;
}

// A script is judged by the configuration that it hands to its program, on the script's GPUs.
LintReport lint_script(std::string_view text, const std::string& file, const LintRequest& request) {
  const LaunchScript script = read_launch_script(text, file, request.beside);
  const auto not_read = [&](const std::string& why) {
    LintReport report = nothing_read(request, {"E001", "E020", "W060"}, why);
    report.notes = script.not_followed;
    return report;
  };
  const LaunchSetting* flag = config_flag(script.flags);
  if (flag == nullptr) {
    return not_read(
        "the script names no configuration with --deepspeed_config: check the JSON file that its "
        "program reads");
  }
  const std::string named = flag->value.text();
  const std::string path = path_beside_script({named, flag->line, flag->unresolved, {}});
  const auto config = path.empty() || !request.beside ? std::nullopt : request.beside(path);
  if (!config) {
    return not_read(fmt::format("{} ({}) was not found beside the script; check that file itself",
                                named, script.lines.words(flag->line)));
  }
  LintRequest asked = request;
  if (!asked.gpus) asked.gpus = script.gpus;
  const std::string shown = file.substr(0, file.find_last_of('/') + 1) + path;
  LintReport report = lint_config(*config, shown, asked);
  place_in_file(report, shown);
  report.notes.insert(report.notes.begin(), script.not_followed.begin(), script.not_followed.end());
  report.notes.push_back(
      fmt::format("{} was read as well ({})", path, script.lines.words(flag->line)));
  return report;
}

}  // namespace

LintReport lint_deepspeed(std::string_view text, const std::string& file,
                          const LintRequest& request) {
  return is_script(file) ? lint_script(text, file, request) : lint_config(text, file, request);
}

}  // namespace penstock
