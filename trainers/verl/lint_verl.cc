// What verl 0.8 asserts before the first step: validate_config() in verl/utils/config.py, the
// actor's workers (verl/workers/fsdp_workers.py, megatron_workers.py) and its rollout's mesh. Its
// Megatron engine is judged by the rules of Megatron-LM. What a script does not set is that of
// verl's own YAML where the script names one of these, and not known otherwise.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "report/words.h"
#include "trainers/lint/judge.h"
#include "trainers/lint/launch_script.h"
#include "trainers/lint/overrides.h"
#include "trainers/megatron/megatron.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"
#include "trainers/verl/verl.h"

namespace penstock {
namespace {

constexpr const char* kActor = "actor_rollout_ref.actor.";
constexpr const char* kRollout = "actor_rollout_ref.rollout.";
constexpr const char* kStops = "verl stops here when the job has started, before its first step.";

std::string actor(const char* key) { return std::string(kActor) + key; }
std::string rollout(const char* key) { return std::string(kRollout) + key; }

class VerlJudge : public Judge {
 public:
  VerlJudge(LaunchScript& script, const LintRequest& request, LintReport& report)
      : Judge(script.overrides, request, report), script_(script) {}

  void judge() {
    read_configuration();
    read_gpus();
    if (is_supervised_) {
      judge_degrees("engine.");
      if (!has_megatron()) judgeable("E001", {&ranks_, &gpus_});
      return;
    }
    judge_degrees(actor("megatron."));
    judge_batch();
    judge_rollout();
  }

  [[nodiscard]] bool has_megatron() const { return strategy_ == "megatron"; }
  [[nodiscard]] bool is_supervised() const { return is_supervised_; }

 private:
  // What Hydra takes without a dot.
  void take_choices() {
    for (const char* name : {"engine", "model_engine", "ulysses_sequence_parallel_size"}) {
      if (const LaunchSetting* set = script_.choices.find(name)) script_.overrides.add(*set);
      if (const auto line = script_.choices.condition_of(name)) {
        script_.overrides.add_conditional(name, *line);
      }
    }
  }

  // --config-name X or -cn X; null where the script says neither.
  [[nodiscard]] const LaunchSetting* option(const char* flag, const char* letters) const {
    const LaunchSetting* set = script_.flags.find(flag);
    return set != nullptr ? set : script_.choices.find(letters);
  }

  // The word of an option; empty where the script does not say it.
  static std::string word_of(const LaunchSetting& set) {
    const bool is_list = set.value.kind() == Json::Kind::kArray;
    const Json& word = is_list ? set.value.elements().front() : set.value;
    if (!set.unresolved.empty() || word.kind() != Json::Kind::kString) return "";
    return word.text();
  }

  // Whose defaults hold.
  void read_configuration() {
    take_choices();
    is_supervised_ = script_.program && script_.program->text.find("sft") != std::string::npos;
    const LaunchSetting* name = option("--config-name", "-cn");
    const LaunchSetting* folder = option("--config-path", "-cp");
    // verl's own programs name their folder so: hydra.main(config_path="config").
    if (folder != nullptr && (word_of(*folder) == "config" || word_of(*folder) == "./config")) {
      folder = nullptr;
    }
    if (folder == nullptr) folder = option("--config-dir", "-cd");
    std::string configuration = is_supervised_ ? "sft_trainer_engine" : "ppo_trainer";
    if (name != nullptr) configuration = word_of(*name);
    if (configuration.ends_with(".yaml")) configuration.resize(configuration.size() - 5);
    const Json& facts = *find_trainer_row("verl")->versions.front().facts;
    const bool is_stock = folder == nullptr && has_fact(facts, "configurations", configuration);
    const LaunchSetting* other = name != nullptr ? name : folder;
    if (!is_stock) {
      script_.overrides.open(
          fmt::format("the configuration that the script names ({})",
                      other->unresolved.empty() ? other->text : other->unresolved));
    } else if (!script_.flags.doubt_of("--config-name").empty()) {
      script_.overrides.open("the configuration that the script may name");
    }
    read_strategy(is_stock, configuration.find("megatron") != std::string::npos);
  }

  // Which engine trains.
  void read_strategy(bool is_stock, bool is_megatron) {
    strategy_ = is_megatron ? "megatron" : "fsdp";
    why_no_strategy_.clear();
    if (!is_stock) no_strategy("the configuration that the script names sets the actor's engine");
    if (is_supervised_ && sets_megatron("engine.")) {
      no_strategy("engine= is not set, and degrees of its Megatron engine are");
    }
    bool is_said = false;
    for (const std::string& key : {actor("strategy"), std::string("engine"),
                                   std::string("model_engine"), std::string("engine.strategy")}) {
      const LaunchSetting* set = settings().find(key);
      if (settings().condition_of(key)) {
        no_strategy(settings().doubt_of(key));
        is_said = true;
      } else if (set != nullptr) {
        strategy_ = word_of(*set);
        if (strategy_ == "dp") strategy_ = "fsdp";
        const bool is_known =
            strategy_ == "megatron" || strategy_ == "fsdp" || strategy_ == "fsdp2";
        if (!is_known) no_strategy(fmt::format("{} is none of fsdp and megatron", set->text));
        is_said = true;
      }
    }
    // A script may also say it by what it sets.
    if (!is_said && strategy_.empty() &&
        settings().has(actor("megatron.tensor_model_parallel_size"))) {
      strategy_ = "megatron";
    }
  }

  void no_strategy(const std::string& why) {
    strategy_.clear();
    why_no_strategy_ = why;
  }

  [[nodiscard]] bool sets_megatron(std::string_view part) const {
    constexpr std::string_view kDegree = "model_parallel_size";
    const auto& all = settings().all();
    return std::any_of(all.begin(), all.end(),
                       [&](const LaunchSetting& one) {
                         return one.name.starts_with(part) && one.name.ends_with(kDegree);
                       }) ||
           settings().condition_of(fmt::format("{}tensor_{}", part, kDegree)) ||
           settings().condition_of(fmt::format("{}pipeline_{}", part, kDegree));
  }

  void read_gpus() {
    const Known nodes = known("trainer.nnodes", 1), each = known("trainer.n_gpus_per_node", 8);
    if (request().gpus) {
      gpus_.value = *request().gpus;
    } else if (is_supervised_) {
      if (script_.gpus) gpus_.value = *script_.gpus;
      gpus_.why_not = "the script does not say how many GPUs; say it with --gpus";
    } else if (nodes.is_known() && each.is_known()) {
      gpus_.value = product_of({*nodes, *each});
      gpus_.from = each.from != nullptr ? each.from : nodes.from;
    } else {
      gpus_.why_not = nodes.is_known() ? each.why_not : nodes.why_not;
      gpus_.why_not += "; say the GPUs with --gpus";
    }
    report().job.gpus = as_int(gpus_.value);
    if (gpus_.is_known()) script_.gpus = as_int(gpus_.value);
  }

  // Ranks that hold one copy of the actor, and so DP.
  void judge_degrees(const std::string& part) {
    if (strategy_.empty()) {
      ranks_.why_not = why_no_strategy_;
    } else if (has_megatron()) {
      read_product({part + "tensor_model_parallel_size", part + "pipeline_model_parallel_size",
                    part + "context_parallel_size"});
    } else {
      const bool is_moved = settings().has(actor("fsdp_config.ulysses_sequence_parallel_size"));
      const bool is_plain = settings().has("ulysses_sequence_parallel_size") ||
                            settings().condition_of("ulysses_sequence_parallel_size");
      read_product({is_supervised_ && is_plain ? "ulysses_sequence_parallel_size"
                    : is_supervised_           ? "engine.ulysses_sequence_parallel_size"
                    : is_moved                 ? actor("fsdp_config.ulysses_sequence_parallel_size")
                                               : actor("ulysses_sequence_parallel_size")});
      if (ranks_.is_known() && ranks_.from != nullptr) report().job.context = as_int(ranks_.value);
    }
    if (!ranks_.is_known() || !gpus_.is_known()) {
      data_.why_not = ranks_.is_known() ? gpus_.why_not : ranks_.why_not;
      return;
    }
    if (*gpus_ % *ranks_ == 0) {
      data_.value = *gpus_ / *ranks_;
      report().job.data = as_int(data_.value);
      return;
    }
    data_.why_not = "the GPUs are no multiple of the ranks of a copy (E001)";
    if (has_megatron()) return;  // Megatron-LM's rules say it
    broken("E001", {ranks_.from, gpus_.from},
           fmt::format("{} GPUs are not a multiple of {} ranks that divide a sequence", *gpus_,
                       *ranks_),
           kStops, fmt::format("start {} GPUs", (*gpus_ / *ranks_ + 1) * *ranks_));
  }

  void read_product(const std::vector<std::string>& names) {
    ranks_.value = 1;
    for (const std::string& name : names) {
      const Known one = known(name, 1);
      if (one.from != nullptr) ranks_.from = one.from;
      if (one.is_known() && ranks_.is_known()) {
        ranks_.value = product_of({*ranks_, *one});
      } else {
        ranks_.value.reset();
        if (!one.is_known()) ranks_.why_not = one.why_not;
      }
    }
  }

  // Whether a batch is divided by tokens while the job runs; nothing when that is not known.
  [[nodiscard]] std::optional<bool> is_dynamic() const {
    const std::string name = actor("use_dynamic_bsz");
    const LaunchSetting* set = settings().find(name);
    if (!settings().doubt_of(name).empty() || (set != nullptr && !set->unresolved.empty())) {
      return {};
    }
    return settings().on(name);
  }

  // Other programs of verl share the names and have rules of their own.
  [[nodiscard]] bool is_validated() const {
    const Json& facts = *find_trainer_row("verl")->versions.front().facts;
    return script_.program && has_fact(facts, "programs", script_.program->text);
  }

  void judge_batch() {
    if (!is_validated()) {
      return not_judged("E001", "this program has rules of its own for batches");
    }
    const std::optional<bool> dynamic = is_dynamic();
    if (!dynamic || *dynamic) {
      return not_judged(
          "E001", dynamic ? "batches are divided by tokens (use_dynamic_bsz)"
                          : "whether batches are divided by tokens (use_dynamic_bsz) is not known");
    }
    const Known batch = known("data.train_batch_size", 1024);
    const Known answers = known(rollout("n"), 1), mini = known(actor("ppo_mini_batch_size"), 256);
    if (judgeable("E001", {&batch, &mini}) && *batch < *mini) {
      broken("E001", {mini.from, batch.from},
             fmt::format("mini-batches of {} prompts do not fit a batch of {}", *mini, *batch),
             kStops, fmt::format("{}={}", actor("ppo_mini_batch_size"), *batch));
      return;
    }
    const Known micro = known(actor("ppo_micro_batch_size_per_gpu"), std::nullopt);
    if (has_megatron()) {
      judge_shares(batch, answers, data_, micro);
    } else if (!strategy_.empty()) {
      Known one;
      one.value = 1;
      judge_shares(batch, answers, gpus_, one);
      judge_mini(mini, answers, micro);
    }
  }

  // validate_config(): all answers divide among the replicas' micro-batches.
  void judge_shares(const Known& batch, const Known& answers, const Known& ranks,
                    const Known& micro) {
    if (!judgeable("E001", {&batch, &answers, &ranks, &micro})) return;
    const std::int64_t share = product_of({*ranks, *micro}), all = product_of({*batch, *answers});
    if (all % share == 0) return;
    broken("E001", {batch.from, answers.from, micro.from},
           fmt::format("{} x {} are not a multiple of {} (DP x micro-batch)",
                       count_of(*batch, "prompt"), count_of(*answers, "answer"), share),
           kStops, fmt::format("data.train_batch_size={}", (*batch / share + 1) * share));
  }

  // The FSDP worker's asserts on its own share of a mini-batch.
  void judge_mini(const Known& mini, const Known& answers, const Known& micro) {
    if (settings().has("trainer.use_legacy_worker_impl")) return;  // another worker's rules
    if (!judgeable("E001", {&mini, &answers, &data_})) return;
    const std::int64_t own = product_of({*mini, *answers}) / *data_;
    if (own == 0) {
      broken("E001", {mini.from, gpus_.from},
             fmt::format("a mini-batch of {} x {} leaves none to some of DP = {}",
                         count_of(*mini, "prompt"), count_of(*answers, "answer"), *data_),
             kStops, fmt::format("{}={}", actor("ppo_mini_batch_size"), *data_));
      return;
    }
    if (!judgeable("E001", {&micro}) || own % *micro == 0) return;
    broken("E001", {micro.from, mini.from},
           fmt::format("a rank's {} of a mini-batch {} not a multiple of micro-batches of {}",
                       count_of(own, "answer"), own == 1 ? "is" : "are", *micro),
           kStops, fmt::format("{}={}", actor("ppo_micro_batch_size_per_gpu"), 1));
  }

  // Where the rollout shares the actor's GPUs.
  void judge_rollout() {
    const std::string program = script_.program ? script_.program->text : "";
    if (program != "verl.trainer.main_ppo") return;
    const Known tensor = known(rollout("tensor_model_parallel_size"), 2);
    const Known data = known(rollout("data_parallel_size"), 1);
    const Known pipeline = known(rollout("pipeline_model_parallel_size"), 1);
    if (!judgeable("E001", {&tensor, &data, &pipeline, &gpus_})) return;
    const std::int64_t ranks = product_of({*tensor, *data, *pipeline});
    if (*gpus_ % ranks == 0) return;
    broken(
        "E001", {tensor.from, gpus_.from},
        fmt::format("{} GPUs are not a multiple of the rollout's TP x DP x PP = {}", *gpus_, ranks),
        kStops, smaller_rollout(*tensor, product_of({*data, *pipeline}), ranks));
  }

  [[nodiscard]] std::string smaller_rollout(std::int64_t tensor, std::int64_t others,
                                            std::int64_t ranks) const {
    if (*gpus_ % others != 0) {
      return fmt::format("start {} GPUs", (*gpus_ / ranks + 1) * ranks);
    }
    constexpr std::int64_t kMost = 4096;  // no rollout divides a layer more often
    std::int64_t fitting = 1;
    for (std::int64_t t = 1; t <= std::min({tensor, *gpus_ / others, kMost}); ++t) {
      if (*gpus_ / others % t == 0) fitting = t;
    }
    return fmt::format("{}={}", rollout("tensor_model_parallel_size"), fitting);
  }

  LaunchScript& script_;
  std::string strategy_;  // "megatron", "fsdp", "fsdp2"; empty: not known
  std::string why_no_strategy_;
  bool is_supervised_ = false;
  Known gpus_, ranks_, data_;
};

// The names of the table that the program has: engine.* of supervised training, or the actor's.
Json names_of(const Json& table, bool is_supervised) {
  Json names = Json::object();
  for (const auto& [name, flag] : table.members()) {
    if (name.starts_with("engine.") == is_supervised) names.set(name, flag);
  }
  return names;
}

// verl shards sequences unless told otherwise; another configuration may say otherwise.
void take_default_sharding(const LaunchScript& script, LaunchSettings& flags) {
  constexpr const char* kSerial = "--sequence-parallel";
  const bool is_said = flags.has(kSerial) || flags.is_closed(kSerial) ||
                       flags.condition_of(kSerial) || !script.overrides.more().empty();
  if (!is_said) flags.add({kSerial, Json(true), 0, "", ""});
}

// What Megatron-LM's rules miss, in verl's words; empty where verl's own rules say it.
std::string gap_of_engine(const LintGap& gap) {
  if (gap.why.starts_with("--micro-batch-size ") || gap.why.starts_with("--global-batch-size ")) {
    return gap.code == "E001" ? "" : "micro-batches of verl's engine are not counted";
  }
  if (gap.why.find("--num-layers") != std::string::npos) {
    return "verl's scripts do not say the model's layers; name the model with --config";
  }
  return gap.why;
}

// The actor's engine as a script of Megatron-LM.
void judge_engine(const LaunchScript& script, bool is_supervised, const LintRequest& request,
                  LintReport& report) {
  const Json table =
      names_of(fact(*find_trainer_row("verl")->versions.front().facts, "overrides"), is_supervised);
  LaunchScript engine = script;
  engine.flags = settings_by_table(script, table);
  take_default_sharding(script, engine.flags);
  LintReport found;
  judge_as_megatron(engine, request, found);
  const auto reworded = [&](const std::string& text) { return as_overrides(text, script, table); };
  for (LintFinding& finding : found.findings) {
    finding.message = reworded(finding.message);
    finding.fix = reworded(finding.fix);
    report.findings.push_back(std::move(finding));
  }
  for (LintGap& gap : found.not_judged) {
    gap.why = reworded(gap_of_engine(gap));
    const bool is_told = gap.why.empty() || gap.code == "E040" || gap.code == "W060";
    if (!is_told) report.not_judged.push_back(std::move(gap));
  }
  found.job.gpus = report.job.gpus;
  report.job = found.job;
  report.judged = found.judged;
  std::erase(report.judged, "W060");
}

}  // namespace

LintReport lint_verl(std::string_view text, const std::string& file, const LintRequest& request) {
  LaunchScript script = read_launch_script(text, file, request.beside);
  require_settings(script.overrides, file, "verl");
  LintReport report;
  report.version = request.version;
  report.notes = script.not_followed;
  LintReport own;
  VerlJudge judge(script, request, own);
  judge.judge();
  report.job = own.job;
  if (judge.has_megatron()) judge_engine(script, judge.is_supervised(), request, report);
  for (LintFinding& finding : own.findings) report.findings.push_back(std::move(finding));
  for (LintGap& gap : own.not_judged) {
    if (std::find(report.not_judged.begin(), report.not_judged.end(), gap) ==
        report.not_judged.end()) {
      report.not_judged.push_back(std::move(gap));
    }
  }
  std::stable_sort(report.not_judged.begin(), report.not_judged.end(),
                   [](const LintGap& a, const LintGap& b) { return a.code < b.code; });
  for (const std::string& code : own.judged) {
    const auto at = std::lower_bound(report.judged.begin(), report.judged.end(), code);
    if (at == report.judged.end() || *at != code) report.judged.insert(at, code);
  }
  return report;
}

}  // namespace penstock
