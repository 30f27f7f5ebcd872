#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "report/trainers/lint/judge.h"
#include "report/trainers/lint/megatron_layout.h"
#include "report/trainers/lint/torchtitan_settings.h"
#include "report/trainers/pipeline_csv.h"

namespace penstock {
namespace {

constexpr const char* kDegree = "parallelism.pipeline_parallel_degree";
constexpr const char* kSchedule = "parallelism.pipeline_parallel_schedule";
constexpr const char* kCsv = "parallelism.pipeline_parallel_schedule_csv";
constexpr const char* kMicroBatch = "parallelism.pipeline_parallel_microbatch_size";
constexpr const char* kLayersPerStage = "parallelism.pipeline_parallel_layers_per_stage";
constexpr const char* kSplitPoints = "parallelism.pipeline_parallel_split_points";
constexpr const char* kModules = "parallelism.module_fqns_per_model_part";
constexpr const char* kMicroBatches = "parallelism.num_pp_microbatches";
constexpr const char* kFirstLess = "parallelism.pipeline_parallel_first_stage_less_layers";
constexpr const char* kLastLess = "parallelism.pipeline_parallel_last_stage_less_layers";
constexpr const char* kReplicas = "parallelism.data_parallel_replicate_degree";
constexpr const char* kShards = "parallelism.data_parallel_shard_degree";
constexpr const char* kRecompute = "activation_checkpoint.mode";
constexpr const char* kStops = "torchtitan stops here after the GPUs are allocated.";

// PyTorch's schedules, by name; what decides how many stages a rank has.
struct Schedule {
  std::string_view name, ours;
  bool many;     // stages per rank
  bool two;      // exactly two, in a V
  bool divides;  // the backward, into I and W
  bool by_name;  // its lists are the schedule's own, not of a CSV
};
constexpr std::array kSchedules{
    Schedule{"1F1B", "1f1b", false, false, false, true},
    Schedule{"GPipe", "gpipe", false, false, false, true},
    Schedule{"PipelineScheduleSingle", "", false, false, false, false},
    Schedule{"Interleaved1F1B", "interleaved", true, false, false, true},
    Schedule{"LoopedBFS", "looped-bfs", true, false, false, true},
    Schedule{"InterleavedZeroBubble", "", true, false, true, true},
    Schedule{"ZBVZeroBubble", "zb-v", true, true, true, true},
    Schedule{"DualPipeV", "dualpipe-v", true, true, true, true},
    Schedule{"PipelineScheduleMulti", "", true, false, false, false},
};

// What versions call the same thing.
struct Renamed {
  std::string_view name;
  std::array<std::string_view, 3> now;  // in 0.1, 0.2 and head; empty: known there
};
constexpr std::array kRenamed{
    Renamed{kSplitPoints, {"", kModules, kModules}},
    Renamed{kModules, {kSplitPoints, "", ""}},
    Renamed{kMicroBatches, {kMicroBatch, kMicroBatch, ""}},
    Renamed{kMicroBatch, {"", "", kMicroBatches}},
    Renamed{kFirstLess, {kSplitPoints, "", ""}},
    Renamed{kLastLess, {kSplitPoints, "", ""}},
    Renamed{"training.local_batch_size",
            {"", "", "training.num_tokens_per_microbatch_per_dp_rank"}},
    Renamed{"training.global_batch_size", {"", "", "training.num_tokens_per_train_step"}},
    Renamed{"training.batch_size",
            {"training.local_batch_size", "training.local_batch_size",
             "training.num_tokens_per_microbatch_per_dp_rank"}},
    Renamed{"experimental.pipeline_parallel_degree", {kDegree, kDegree, kDegree}},
    Renamed{"experimental.pipeline_parallel_schedule", {kSchedule, kSchedule, kSchedule}},
    Renamed{"experimental.pipeline_parallel_microbatches",
            {kMicroBatch, kMicroBatch, kMicroBatches}},
    Renamed{"training.tensor_parallel_degree",
            {"parallelism.tensor_parallel_degree", "parallelism.tensor_parallel_degree",
             "parallelism.tensor_parallel_degree"}},
    Renamed{"training.data_parallel_shard_degree", {kShards, kShards, kShards}},
    Renamed{"training.data_parallel_replicate_degree", {kReplicas, kReplicas, kReplicas}},
};

// Of [parallelism], all versions together.
constexpr std::array<std::string_view, 24> kParallelism{"data_parallel_replicate_degree",
                                                        "enable_compiled_autograd",
                                                        "data_parallel_shard_degree",
                                                        "fsdp_reshard_after_forward",
                                                        "tensor_parallel_degree",
                                                        "disable_loss_parallel",
                                                        "enable_async_tensor_parallel",
                                                        "pipeline_parallel_degree",
                                                        "pipeline_parallel_split_points",
                                                        "pipeline_parallel_layers_per_stage",
                                                        "pipeline_parallel_schedule",
                                                        "pipeline_parallel_schedule_csv",
                                                        "pipeline_parallel_microbatch_size",
                                                        "context_parallel_degree",
                                                        "context_parallel_rotate_method",
                                                        "expert_parallel_degree",
                                                        "expert_tensor_parallel_degree",
                                                        "module_fqns_per_model_part",
                                                        "pipeline_parallel_first_stage_less_layers",
                                                        "pipeline_parallel_last_stage_less_layers",
                                                        "pipeline_parallel_expert_parallel_overlap",
                                                        "num_pp_microbatches",
                                                        "context_parallel_load_balancer",
                                                        "enable_sequence_parallel"};

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

const Schedule* find_schedule_named(const std::string& name) {
  for (const Schedule& schedule : kSchedules) {
    if (lower(std::string(schedule.name)) == lower(name)) return &schedule;
  }
  return nullptr;
}

// "layers.12" -> 12
std::optional<int> layer_number(std::string_view name) {
  constexpr std::string_view kStem = "layers.";
  if (!name.starts_with(kStem) || name.size() == kStem.size() || name.size() > 13) return {};
  int number = 0;
  for (const char c : name.substr(kStem.size())) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + (c - '0');
  }
  return number;
}

class TorchtitanJudge : public Judge {
 public:
  TorchtitanJudge(const TorchtitanFile& file, const LintRequest& request, LintReport& report)
      : Judge(file.settings, request, report), file_(file) {
    version_ = request.version == "0.1" ? 0 : (request.version == "0.2" ? 1 : 2);
  }

  void judge() {
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
    judge_resume();
    judge_recompute();
    judge_sends();
    judge_names();
    describe();
  }

 private:
  [[nodiscard]] bool is_head() const { return version_ == 2; }
  [[nodiscard]] std::string written(std::string_view key, const std::string& value) const {
    if (file_.carrier == TorchtitanCarrier::kScript) return fmt::format("--{}={}", key, value);
    if (file_.carrier == TorchtitanCarrier::kPython)
      return fmt::format("config.{} = {}", key, value);
    return fmt::format("{} = {}", key.substr(key.find('.') + 1), value);
  }

  // --- what the file says

  void read_sizes() {
    tensor_ = known("parallelism.tensor_parallel_degree", 1);
    pipeline_ = known(kDegree, 1);
    context_ = known("parallelism.context_parallel_degree", 1);
    replicas_ = known(kReplicas, 1);
    shards_ = known(kShards, -1, -1);
    local_ = known("training.local_batch_size", 8);
    global_ = known("training.global_batch_size", -1, -1);
    if (request().layers) layers_ = *request().layers;
    if (request().gpus) gpus_ = *request().gpus;
    if (!request().gpus) gpus_ = file_.gpus;
    read_replicas();
    read_micro_batches();
    const auto name = settings().text(kSchedule);
    schedule_ = find_schedule_named(settings().has(kSchedule) ? name.value_or("") : "1F1B");
    has_csv_ = settings().has(kCsv) && settings().text(kCsv).value_or("-") != "";
  }

  [[nodiscard]] std::int64_t other_ranks() const {
    return product_of({*tensor_, *pipeline_, *context_, *replicas_});
  }

  void read_replicas() {
    for (const Known* part : {&tensor_, &pipeline_, &context_, &replicas_, &shards_}) {
      if (!part->is_known()) data_.why_not = part->why_not;
    }
    if (!data_.why_not.empty()) return;
    if (*shards_ >= 1) {
      data_.value = product_of({*replicas_, *shards_});
    } else if (!gpus_) {
      data_.why_not =
          "data_parallel_shard_degree is -1, all that is left; say the GPUs with --gpus";
    } else if (*gpus_ % other_ranks() == 0) {
      data_.value = product_of({*replicas_, *gpus_ / other_ranks()});
    } else {
      data_.why_not = "the GPUs are no multiple of the other degrees (E001)";
    }
  }

  void read_micro_batches() {
    if (is_head()) {
      micro_batches_ = known(kMicroBatches, 1);
      return;
    }
    micro_batch_ = known(kMicroBatch, 1);
    for (const Known* part : {&local_, &micro_batch_}) {
      if (!part->is_known()) micro_batches_.why_not = part->why_not;
    }
    if (!micro_batches_.why_not.empty()) return;
    if (*local_ % *micro_batch_ != 0) {
      micro_batches_.why_not = "the micro-batch does not divide the local batch (E001)";
    } else {
      micro_batches_.value = *local_ / *micro_batch_;
    }
  }

  static std::vector<std::string> names_in(const Json& value) {
    std::vector<std::string> names;
    if (value.kind() == Json::Kind::kString) {
      const std::string& text = value.text();
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (end > at) names.push_back(text.substr(at, end - at));
        at = end + 1;
      }
    }
    for (const Json& element : value.elements()) {
      for (std::string& name : names_in(element)) names.push_back(std::move(name));
    }
    return names;
  }

  void read_parts() {
    const LaunchSetting* modules = settings().find(kModules);
    if (modules != nullptr && modules->unresolved.empty() &&
        modules->value.kind() == Json::Kind::kArray) {
      for (const Json& part : modules->value.elements()) parts_.push_back(names_in(part));
    }
    const LaunchSetting* points = settings().find(kSplitPoints);
    if (points != nullptr && points->unresolved.empty()) split_points_ = names_in(points->value);
    if (version_ > 0) split_points_.clear();
    if (version_ == 0) parts_.clear();
  }

  // S by the lists; nothing without any.
  [[nodiscard]] std::optional<std::int64_t> listed_stages() const {
    if (!parts_.empty()) return static_cast<std::int64_t>(parts_.size());
    if (!split_points_.empty()) return static_cast<std::int64_t>(split_points_.size()) + 1;
    return {};
  }
  [[nodiscard]] const LaunchSetting* list_setting() const {
    return settings().find(parts_.empty() ? kSplitPoints : kModules);
  }

  // --- E001

  void judge_products() {
    for (const Known* part : {&tensor_, &pipeline_, &context_, &replicas_, &shards_}) {
      if (!judgeable("E001", {part})) return;
    }
    judge_gpus();
    judge_local_batch();
    if (is_head() || !global_.is_known() || *global_ < 1) return;
    if (!local_.is_known() || !data_.is_known()) {
      not_judged("E001", local_.is_known() ? data_.why_not : local_.why_not);
      return;
    }
    const std::int64_t share = product_of({*local_, *data_});
    if (*global_ % share == 0) return;
    broken("E001", {global_.from},
           fmt::format("a global batch of {} is no multiple of local batch x D = {} x {} = {}",
                       *global_, *local_, *data_, share),
           kStops,
           written("training.global_batch_size", std::to_string((*global_ / share + 1) * share)));
  }

  void judge_gpus() {
    if (!gpus_) {
      not_judged("E001", "the file does not say how many GPUs; say it with --gpus");
      return;
    }
    const std::int64_t others = other_ranks();
    const bool fills = *shards_ < 1;
    const std::int64_t all = fills ? others : product_of({others, *shards_});
    if (fills ? *gpus_ % others == 0 : all == *gpus_) return;
    broken("E001", {shards_.from, pipeline_.from, tensor_.from},
           fmt::format("{} GPUs are not replicas x shards x C x T x P = {} x {} x {} x {} x {}",
                       *gpus_, *replicas_, fills ? "-1" : std::to_string(*shards_), *context_,
                       *tensor_, *pipeline_),
           kStops,
           fills || *gpus_ % others != 0
               ? fmt::format("start {} GPUs", fills ? (*gpus_ / others + 1) * others : all)
               : written(kShards, std::to_string(*gpus_ / others)));
  }

  void judge_local_batch() {
    if (is_head() || !local_.is_known() || !micro_batch_.is_known()) return;
    if (*pipeline_ == 1 || *local_ % *micro_batch_ == 0) return;
    broken("E001", {local_.from, micro_batch_.from},
           fmt::format("a local batch of {} is no multiple of the micro-batch {}", *local_,
                       *micro_batch_),
           kStops,
           written("training.local_batch_size",
                   std::to_string((*local_ / *micro_batch_ + 1) * *micro_batch_)));
  }

  // --- E011: stages

  void judge_schedule_name() {
    if (schedule_ != nullptr || !settings().has(kSchedule)) return;
    const auto name = settings().text(kSchedule);
    if (!name) {
      not_judged("E011", known(kSchedule, std::nullopt).why_not);
      return;
    }
    std::vector<std::string_view> all;
    all.reserve(kSchedules.size());
    for (const Schedule& schedule : kSchedules) all.push_back(schedule.name);
    // The runtime that a CSV makes torchtitan take is no schedule.
    const bool is_runtime = has_csv_ || name->starts_with('_');
    const auto nearest = is_runtime ? std::nullopt : nearest_name(*name, all);
    broken("W060", {settings().find(kSchedule)},
           fmt::format("'{}' is no schedule that PyTorch finds by name", *name),
           "torchtitan stops at the name, also where a CSV holds the schedule: the name decides "
           "how many stages a rank has.",
           written(kSchedule, fmt::format("\"{}\"", nearest.value_or(plain_name()))));
  }

  // Of the schedules that only say how many stages a rank has.
  [[nodiscard]] std::string plain_name() const {
    const bool many = pipeline_.is_known() && listed_stages().value_or(1) > *pipeline_;
    return many ? "PipelineScheduleMulti" : "1F1B";
  }

  void judge_stages() {
    if (!judgeable("E011", {&pipeline_}) || *pipeline_ == 1) return;
    const auto stages = listed_stages();
    if (!stages || schedule_ == nullptr) return;
    const std::int64_t each = *stages / *pipeline_;
    if (*stages % *pipeline_ != 0) {
      wrong_stages(fmt::format("{} stages are no multiple of the {} ranks", *stages, *pipeline_));
    } else if (!schedule_->many && each != 1) {
      wrong_stages(
          fmt::format("{} has one stage per rank, and the lists make {}", schedule_->name, each));
    } else if (schedule_->two ? each != 2 : schedule_->many && each < 2) {
      wrong_stages(fmt::format("{} has {} stages per rank, and the lists make {}", schedule_->name,
                               schedule_->two ? "two" : "two or more", each));
    } else {
      set_stages();
    }
  }

  void wrong_stages(std::string message) {
    const std::int64_t wanted = *pipeline_ * (schedule_->many ? 2 : 1);
    LintFinding& finding =
        broken("E011", {list_setting(), pipeline_.from}, std::move(message), kStops,
               fmt::format("{} lists, or the schedule of so many stages", wanted));
    const int layers = layers_.value_or(highest_layer() + 1);
    if (wanted > layers) return;
    finding.fix_layers = spread_evenly(layers, static_cast<int>(wanted));
    finding.fix = lists_of(finding.fix_layers);
  }

  // The lists, or split points, with so many layers on every stage.
  [[nodiscard]] std::string lists_of(const std::vector<int>& counts) const {
    std::string text;
    int first = 0;
    for (std::size_t s = 0; s < counts.size(); ++s) {
      std::string names = s == 0 ? "\"tok_embeddings\"" : "";
      for (int i = 0; i < counts[s]; ++i) {
        names += fmt::format("{}\"layers.{}\"", names.empty() ? "" : ", ", first + i);
      }
      if (s + 1 == counts.size()) names += fmt::format(", \"norm\", \"{}\"", head());
      if (version_ > 0) text += fmt::format("{}[{}]", s == 0 ? "" : ", ", names);
      if (version_ == 0 && s > 0) {
        text += fmt::format("{}\"layers.{}\"", s == 1 ? "" : ", ", first);
      }
      first += counts[s];
    }
    return written(version_ == 0 ? kSplitPoints : kModules, '[' + text + ']');
  }
  [[nodiscard]] std::string_view head() const { return is_head() ? "lm_head" : "output"; }

  [[nodiscard]] int highest_layer() const {
    int most = -1;
    for (const auto& part : parts_) {
      for (const std::string& name : part) most = std::max(most, layer_number(name).value_or(-1));
    }
    for (const std::string& name : split_points_) {
      most = std::max(most, layer_number(name).value_or(-1));
    }
    return std::min(most, 10'000);
  }

  void set_stages() {
    std::vector<int> counts;
    if (!parts_.empty()) {
      for (const auto& part : parts_) {
        counts.push_back(
            static_cast<int>(std::count_if(part.begin(), part.end(), [](const std::string& name) {
              return layer_number(name).has_value();
            })));
      }
    }
    if (parts_.empty() && layers_) {
      int before = 0;
      for (const std::string& point : split_points_) {
        const int next = layer_number(point).value_or(before);
        counts.push_back(next - before);
        before = next;
      }
      counts.push_back(*layers_ - before);
    }
    report().job.layers_per_stage = std::move(counts);
  }

  // --- E013

  void judge_modules() {
    const LaunchSetting* setting = settings().find(version_ == 0 ? kSplitPoints : kModules);
    if (setting == nullptr) return;
    if (!setting->unresolved.empty()) {
      not_judged("E013", known(setting->name, std::nullopt).why_not);
      return;
    }
    judged("E013");
    version_ == 0 ? judge_split_points(*setting) : judge_lists(*setting);
  }

  void wrong_modules(const LaunchSetting& setting, std::string message, const std::string& why) {
    LintFinding& finding = broken("E013", {&setting}, std::move(message), why,
                                  "name every module once, in the model's order");
    const int layers = layers_.value_or(highest_layer() + 1);
    const auto stages = static_cast<int>(listed_stages().value_or(1));
    if (stages > layers || layers > 10'000) return;
    finding.fix_layers = spread_evenly(layers, stages);
    finding.fix = lists_of(finding.fix_layers);
  }

  void judge_split_points(const LaunchSetting& setting) {
    int before = 0;
    for (const std::string& point : split_points_) {
      const auto layer = layer_number(point);
      if (!layer) {
        wrong_modules(setting, fmt::format("'{}' is no layer to split in front of", point), kStops);
        return;
      }
      if (*layer <= before) {
        wrong_modules(
            setting,
            fmt::format("{} does not come behind layers.{}: a stage has nothing", point, before),
            "The stage's rank starts without a layer.");
        return;
      }
      before = *layer;
    }
    if (layers_ && before >= *layers_) {
      wrong_modules(setting,
                    fmt::format("the model's last layer is layers.{}, and layers.{} begins a stage",
                                *layers_ - 1, before),
                    "The last stages build no layer.");
    }
    if (!layers_) not_judged("E013", "the model's layers; name it with --config");
  }

  void judge_lists(const LaunchSetting& setting) {
    std::map<std::string, int> times;
    for (const auto& part : parts_) {
      for (const std::string& name : part) ++times[name];
    }
    for (const auto& [name, count] : times) {
      if (count == 1) continue;
      wrong_modules(setting, fmt::format("{} is in {} lists", name, count),
                    "Two stages build it, each with weights of its own; the loss is wrong without "
                    "a word.");
      return;
    }
    if (const std::string other = wrong_head(times); !other.empty()) {
      wrong_modules(setting,
                    fmt::format("torchtitan {} calls the head {}, and the lists have {}",
                                request().version, head(), other),
                    "The last stage is built without a head.");
      return;
    }
    if (const std::string missing = missing_module(times); !missing.empty()) {
      wrong_modules(setting, fmt::format("{} is in no list", missing),
                    "No stage builds it; the model is a smaller one, without a word.");
      return;
    }
    judge_ends(setting);
    if (!layers_) not_judged("E013", "whether there are more layers; name the model with --config");
  }

  [[nodiscard]] std::string wrong_head(const std::map<std::string, int>& times) const {
    const std::string other = is_head() ? "output" : "lm_head";
    return times.contains(other) && !times.contains(std::string(head())) ? other : "";
  }

  [[nodiscard]] std::string missing_module(const std::map<std::string, int>& times) const {
    for (const std::string& name :
         {std::string("tok_embeddings"), std::string("norm"), std::string(head())}) {
      if (!times.contains(name)) return name;
    }
    const int layers = std::min(layers_.value_or(highest_layer() + 1), 100'000);
    for (int i = 0; i < layers; ++i) {
      std::string name = fmt::format("layers.{}", i);
      if (!times.contains(name)) return name;
    }
    return "";
  }

  void judge_ends(const LaunchSetting& setting) {
    const auto has = [](const std::vector<std::string>& part, std::string_view name) {
      return std::find(part.begin(), part.end(), name) != part.end();
    };
    if (!has(parts_.front(), "tok_embeddings") || !has(parts_.back(), head())) {
      wrong_modules(setting,
                    fmt::format("the first list must hold tok_embeddings, the last {}", head()),
                    kStops);
      return;
    }
    int before = -1;
    for (const auto& part : parts_) {
      for (const std::string& name : part) {
        const int layer = layer_number(name).value_or(before);
        if (layer < before) {
          wrong_modules(setting, fmt::format("{} comes behind layers.{}", name, before),
                        "Layers run in another order than the model's, without a word.");
          return;
        }
        before = layer;
      }
    }
    if (!layers_ || highest_layer() < *layers_) return;
    wrong_modules(setting,
                  fmt::format("the model's last layer is layers.{}, and the lists have layers.{}",
                              *layers_ - 1, highest_layer()),
                  kStops);
  }

  // --- E010: the split that torchtitan makes itself

  void judge_automatic_split() {
    if (listed_stages()) {
      judged("E010");
      return;
    }
    if (!judgeable("E010", {&pipeline_}) || *pipeline_ == 1 || schedule_ == nullptr) return;
    if (!layers_) {
      not_judged("E010", "the model's layers; name it with --config");
      return;
    }
    const Known each = known(kLayersPerStage, 0);
    const Known first = known(kFirstLess, version_ == 0 ? 0 : 1, 0);
    const Known last = known(kLastLess, version_ == 0 ? 0 : 1, 0);
    if (!judgeable("E010", {&each, &first, &last})) return;
    const std::int64_t effective = *layers_ + *first + *last;
    const std::int64_t stages = each.from != nullptr ? (effective + *each - 1) / *each
                                                     : *pipeline_ * (schedule_->many ? 2 : 1);
    if (stages % *pipeline_ != 0 || (!schedule_->many && stages != *pipeline_)) {
      uneven(fmt::format("{} layers a stage make {} stages, and {} on {} ranks needs {}", *each,
                         stages, schedule_->name, *pipeline_,
                         schedule_->many ? "a multiple of the ranks" : "as many as ranks"),
             each.from, *pipeline_ * (schedule_->many ? 2 : 1));
    } else if (effective / stages < std::max({*first, *last, std::int64_t{1}})) {
      uneven(fmt::format("{} layers are too few for {} stages, of which the ends hold {} and {} "
                         "less",
                         *layers_, stages, *first, *last),
             pipeline_.from, stages);
    } else if (stages <= 10'000) {
      std::vector<int> counts =
          spread_evenly(static_cast<int>(effective), static_cast<int>(stages));
      counts.front() -= static_cast<int>(*first);
      counts.back() -= static_cast<int>(*last);
      report().job.layers_per_stage = std::move(counts);
    }
  }

  void uneven(std::string message, const LaunchSetting* place, std::int64_t stages) {
    LintFinding& finding = broken("E010", {place, pipeline_.from}, std::move(message), kStops,
                                  fmt::format("at most {} stages", *layers_));
    if (stages > *layers_) return;
    finding.fix_layers = spread_evenly(*layers_, static_cast<int>(stages));
    finding.fix = lists_of(finding.fix_layers);
  }

  // --- E020, E021

  void judge_micro_batches() {
    if (!judgeable("E020", {&pipeline_, &micro_batches_}) || *pipeline_ == 1) return;
    const std::int64_t stages =
        listed_stages().value_or(*pipeline_ * (schedule_ != nullptr && schedule_->many ? 2 : 1));
    const bool dual = schedule_ != nullptr && schedule_->name == "DualPipeV" && !has_csv_;
    const std::int64_t least = dual ? stages : *pipeline_;
    if (*micro_batches_ < least) {
      few_micro_batches(fmt::format("{} micro-batches are fewer than the {} {}", *micro_batches_,
                                    least, dual ? "stages of DualPipeV" : "ranks of the pipeline"),
                        "torchtitan hangs in the first step, or PyTorch stops with a ValueError.",
                        least);
    } else if (*micro_batches_ < stages && !has_csv_) {
      few_micro_batches(
          fmt::format("{} micro-batches are fewer than the {} stages", *micro_batches_, stages),
          "torchtitan warns in the log, and runs with a bubble.", stages)
          .severity = LintSeverity::kWarning;
    }
  }

  LintFinding& few_micro_batches(std::string message, std::string why, std::int64_t least) {
    const std::string fix =
        is_head() ? written(kMicroBatches, std::to_string(least))
                  : written("training.local_batch_size",
                            std::to_string(product_of({least, micro_batch_.value.value_or(1)})));
    return broken("E020", {micro_batches_.from, local_.from, micro_batch_.from, pipeline_.from},
                  std::move(message), std::move(why), fix);
  }

  // PyTorch's rounds: M % max(1, M / P) = 0.
  void judge_groups() {
    const bool rounds =
        schedule_ != nullptr && schedule_->by_name && !has_csv_ &&
        (schedule_->name == "Interleaved1F1B" || schedule_->name == "InterleavedZeroBubble");
    if (!rounds || !judgeable("E021", {&pipeline_, &micro_batches_})) return;
    const std::int64_t groups = std::max<std::int64_t>(1, *micro_batches_ / *pipeline_);
    if (*micro_batches_ % groups == 0) return;
    const std::int64_t fitting = *micro_batches_ / *pipeline_ * *pipeline_;
    broken("E021", {micro_batches_.from, local_.from, micro_batch_.from, pipeline_.from},
           fmt::format("{} micro-batches do not divide into {} rounds of about P = {}",
                       *micro_batches_, groups, *pipeline_),
           "PyTorch stops with a ValueError when the schedule is built.",
           is_head() ? written(kMicroBatches, std::to_string(fitting))
                     : written("training.local_batch_size",
                               std::to_string(fitting * micro_batch_.value.value_or(1))));
  }

  // --- the schedule's file

  void judge_csv() {
    if (!has_csv_) return;
    const auto path = settings().text(kCsv);
    const auto text = path && request().beside ? request().beside(*path) : std::nullopt;
    if (!text) {
      not_judged("E011", fmt::format("{} was not read", path.value_or("the schedule's CSV")));
      return;
    }
    const PipelineCsv csv = read_pipeline_csv(*text, *path);
    csv_divides_ = false;
    for (const auto& list : csv.lists) {
      for (const Action& action : list) {
        if (action.kind == ActionKind::kWeightGradient) csv_divides_ = true;
      }
    }
    const LaunchSetting* place = settings().find(kCsv);
    if (pipeline_.is_known() && csv.ranks() != *pipeline_) {
      broken("E011", {place},
             fmt::format("{} has {} ranks, and the job {}", *path, csv.ranks(), *pipeline_), kStops,
             written(kDegree, std::to_string(csv.ranks())));
    }
    if (micro_batches_.is_known() && csv.micro_batches != *micro_batches_) {
      broken("E011", {place},
             fmt::format("{} has {} micro-batches, and the job {}", *path, csv.micro_batches,
                         *micro_batches_),
             kStops,
             is_head()
                 ? written(kMicroBatches, std::to_string(csv.micro_batches))
                 : written("training.local_batch_size",
                           std::to_string(csv.micro_batches * micro_batch_.value.value_or(1))));
    }
    const auto stages = static_cast<std::int64_t>(csv.rank_of_stage.size());
    if (listed_stages() && *listed_stages() != stages) {
      broken("E011", {place},
             fmt::format("{} has {} stages, and the lists {}", *path, stages, *listed_stages()),
             kStops, "a list per stage of the file");
    }
  }

  // --- E040, W050, W051, W060

  void judge_resume() {
    const LaunchSetting* excluded = settings().find("checkpoint.exclude_from_loading");
    bool reshards = false;
    if (excluded != nullptr) {
      for (const std::string& name : names_in(excluded->value)) {
        if (name == "dataloader") reshards = true;
      }
    }
    judge_checkpoint(data_, reshards, shards_.from != nullptr ? shards_.from : replicas_.from,
                     "Weights and optimizer are dealt out again; the data loader's place in the "
                     "data is not, and torchtitan stops while loading it.",
                     fmt::format("keep {} replicas; or begin the data anew: {}",
                                 request().checkpoint_data_parallel.value_or(1),
                                 written("checkpoint.exclude_from_loading", "[\"dataloader\"]")));
  }

  void judge_recompute() {
    const bool divides =
        has_csv_ ? csv_divides_.value_or(false) : schedule_ != nullptr && schedule_->divides;
    if (has_csv_ && !csv_divides_ && schedule_ != nullptr) {
      not_judged("W050", "whether the CSV divides the backward: it was not read");
      return;
    }
    judged("W050");
    if (!divides || !pipeline_.is_known() || *pipeline_ == 1) return;
    const std::string mode = settings().text(kRecompute).value_or("selective");
    if (mode == "none") return;
    broken("W050", {settings().find(kRecompute), settings().find(kSchedule)},
           fmt::format("the schedule divides the backward, and recompute is {}", mode),
           "The forward is computed again for I and once more for W: the bubble that is saved is "
           "paid for in recompute.",
           written(kRecompute, "\"none\""));
  }

  void judge_sends() {
    if (has_csv_) {
      not_judged("W051",
                 "the order of transfers is that of the CSV's actions; penstock schedule "
                 "simulates it");
      return;
    }
    if (!judgeable("W051", {&pipeline_}) || schedule_ == nullptr || *pipeline_ == 1) return;
    const bool loops = schedule_->many && !schedule_->two;
    if (!loops) return;
    broken(
        "W051", {settings().find(kSchedule)},
        fmt::format("receives of {} stand before sends that are ready", schedule_->name),
        "PyTorch issues a receive where its sender runs; on one stream per rank the sends behind "
        "it wait for a trip round all ranks.",
        written(kSchedule, "\"1F1B\"") + ", or compare both with penstock compare");
  }

  void judge_names() {
    judged("W060");
    if (is_head() && file_.carrier != TorchtitanCarrier::kPython && !settings().all().empty()) {
      broken("W060", {&settings().all().front()},
             "head takes its configuration from a Python function",
             "torchtitan reads no TOML since 2026-02-23, and takes no new flags.",
             "--target-version 0.2 for this file, or penstock export --to torchtitan "
             "--target-version head");
    }
    for (const LaunchSetting& setting : settings().all()) judge_name(setting);
  }

  void judge_name(const LaunchSetting& setting) {
    for (const Renamed& renamed : kRenamed) {
      const std::string_view now = renamed.now[static_cast<std::size_t>(version_)];
      if (renamed.name != setting.name || now.empty()) continue;
      broken("W060", {&setting},
             fmt::format("torchtitan {} has no {}", request().version, setting.name),
             "Other versions have it; this one stops at the key, or passes over it.",
             fmt::format("{} in its place", now));
      return;
    }
    constexpr std::string_view kTable = "parallelism.";
    if (!setting.name.starts_with(kTable)) return;
    const std::string key = setting.name.substr(kTable.size());
    if (std::find(kParallelism.begin(), kParallelism.end(), key) != kParallelism.end()) return;
    if (!tell_unknown_name()) return;
    const auto nearest = nearest_name(key, {kParallelism.begin(), kParallelism.end()});
    broken("W060", {&setting},
           fmt::format("{} is no key of torchtitan that is known here", setting.name),
           "torchtitan stops at a key that it does not know.",
           nearest ? fmt::format("{}{}", kTable, *nearest) : "take it out, or --ignore W060");
  }

  void describe() {
    LaunchJob& job = report().job;
    job.gpus = gpus_;
    job.tensor = as_int(tensor_.value);
    job.pipeline = as_int(pipeline_.value);
    job.context = as_int(context_.value);
    job.expert = as_int(known("parallelism.expert_parallel_degree", 1).value);
    job.data = as_int(data_.value);
    job.micro_batches = as_int(micro_batches_.value);
    job.layers = layers_;
    job.sequence_length = as_int(known("training.seq_len", std::nullopt).value);
    job.micro_batch_size = is_head() ? tokens_as_samples(job) : as_int(micro_batch_.value);
    if (job.micro_batch_size && job.micro_batches && job.data) {
      job.global_batch = as_int(product_of({*job.micro_batch_size, *job.micro_batches, *job.data}));
    }
    if (pipeline_.is_known() && !job.layers_per_stage.empty()) {
      job.chunks =
          static_cast<int>(static_cast<std::int64_t>(job.layers_per_stage.size()) / *pipeline_);
    }
    job.schedule = has_csv_ || schedule_ == nullptr ? "" : schedule_->ours;
    job.recompute = settings().text(kRecompute).value_or("selective");
    job.zero1 = shards_.is_known() && *shards_ != 1;
    const LaunchSetting* place = pipeline_.from != nullptr ? pipeline_.from : local_.from;
    if (place == nullptr) return;
    job.line = place->line;
    job.setting = place->text;
  }

  [[nodiscard]] std::optional<int> tokens_as_samples(const LaunchJob& job) const {
    const Known tokens = known("training.num_tokens_per_microbatch_per_dp_rank", std::nullopt);
    if (!tokens.is_known() || !job.sequence_length) return {};
    if (*tokens % *job.sequence_length != 0) return {};
    return as_int(*tokens / *job.sequence_length);
  }

  const TorchtitanFile& file_;
  int version_ = 1;  // 0.1, 0.2, head
  Known tensor_, pipeline_, context_, replicas_, shards_, local_, global_, micro_batch_,
      micro_batches_, data_;
  std::optional<int> layers_, gpus_;
  const Schedule* schedule_ = nullptr;
  bool has_csv_ = false;
  std::optional<bool> csv_divides_;  // nothing: not read
  std::vector<std::vector<std::string>> parts_;
  std::vector<std::string> split_points_;
};

}  // namespace

LintReport lint_torchtitan(std::string_view text, const std::string& file,
                           const LintRequest& request) {
  const TorchtitanFile read = read_torchtitan(text, file);
  require_settings(read.settings, file, "torchtitan");
  LintReport report;
  report.trainer = LintTrainer::kTorchtitan;
  report.version = request.version;
  report.notes = read.not_followed;
  TorchtitanJudge(read, request, report).judge();
  return report;
}

}  // namespace penstock
