#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "report/trainers/lint/judge.h"
#include "report/trainers/lint/launch_script.h"
#include "report/trainers/lint/megatron_flags.h"
#include "report/trainers/lint/megatron_layout.h"

namespace penstock {
namespace {

constexpr const char* kPipeline = "--pipeline-model-parallel-size";
constexpr const char* kLayers = "--num-layers";
constexpr const char* kLayout = "--pipeline-model-parallel-layout";
constexpr const char* kPerVirtualStage = "--num-layers-per-virtual-pipeline-stage";
constexpr const char* kVirtualStages = "--num-virtual-stages-per-pipeline-rank";
constexpr const char* kFirst = "--decoder-first-pipeline-num-layers";
constexpr const char* kLast = "--decoder-last-pipeline-num-layers";
constexpr const char* kGroup = "--microbatch-group-size-per-virtual-pipeline-stage";
constexpr const char* kGlobalBatch = "--global-batch-size";
constexpr const char* kMicroBatch = "--micro-batch-size";
constexpr const char* kNoOverlap = "--no-overlap-p2p-communication";
constexpr const char* kHybrid = "--hybrid-layer-pattern";
constexpr const char* kStops = "Megatron-LM stops here after the GPUs are allocated.";

// No model has more, so that a layout can be written out.
constexpr std::int64_t kMostLayers = 10'000;

class MegatronJudge : public Judge {
 public:
  MegatronJudge(const LaunchScript& script, const LintRequest& request, LintReport& report)
      : Judge(script.flags, request, report), script_(script) {}

  void judge() {
    read_sizes();
    judge_products();
    judge_first_and_last();
    judge_layers();
    judge_layout();
    judge_micro_batches();
    judge_groups();
    judge_resume();
    judge_recompute();
    judge_overlap();
    judge_names();
    describe();
  }

 private:
  // --- what the script says

  void read_sizes() {
    tensor_ = known("--tensor-model-parallel-size", 1);
    pipeline_ = known(kPipeline, 1);
    context_ = known("--context-parallel-size", 1);
    micro_batch_ = known(kMicroBatch, std::nullopt);
    layers_ = known(settings().has(kLayers) ? kLayers : "--decoder-num-layers", std::nullopt);
    if (!settings().has(kLayers) && !settings().has("--decoder-num-layers")) {
      layers_.why_not = "--num-layers is not set; name the model with --config";
      if (request().layers) layers_.value = std::min<std::int64_t>(*request().layers, kMostLayers);
    }
    if (layers_.from != nullptr && layers_.is_known() && *layers_ > kMostLayers) {
      settings().refuse(*layers_.from, fmt::format("{} layers are no model", *layers_),
                        fmt::format("at most {}", kMostLayers));
    }
    if (request().gpus) {
      gpus_.value = *request().gpus;
    } else if (script_.gpus) {
      gpus_.value = *script_.gpus;
    } else {
      gpus_.why_not = script_.why_no_gpus.empty() ? "the script does not say how many GPUs"
                                                  : script_.why_no_gpus;
      gpus_.why_not += "; say it with --gpus";
    }
    read_replicas();
    read_micro_batches();
    read_chunks();
  }

  [[nodiscard]] std::int64_t model_ranks() const {
    return product_of({*tensor_, *pipeline_, *context_});
  }

  void read_replicas() {
    for (const Known* part : {&tensor_, &pipeline_, &context_, &gpus_}) {
      if (!part->is_known()) {
        data_.why_not = part->why_not;
        return;
      }
    }
    if (*gpus_ % model_ranks() != 0) {
      data_.why_not = "the GPUs are no multiple of T x P x C (E001)";
    } else {
      data_.value = *gpus_ / model_ranks();
    }
  }

  void read_micro_batches() {
    const LaunchSetting* global = settings().find(kGlobalBatch);
    global_batch_ = known(kGlobalBatch, std::nullopt);
    for (const Known* part : {&data_, &micro_batch_}) {
      if (!part->is_known()) micro_batches_.why_not = part->why_not;
    }
    if (global == nullptr && micro_batches_.why_not.empty()) {
      // Megatron-LM takes b x D, one micro-batch.
      global_batch_.value = product_of({*micro_batch_, *data_});
      global_batch_.why_not.clear();
    }
    if (!global_batch_.is_known()) micro_batches_.why_not = global_batch_.why_not;
    if (!micro_batches_.why_not.empty()) return;
    const std::int64_t share = product_of({*micro_batch_, *data_});
    if (*global_batch_ % share != 0) {
      micro_batches_.why_not = "b x D does not divide the global batch (E001)";
    } else {
      micro_batches_.value = *global_batch_ / share;
    }
  }

  // V, as far as the flags say it without the layers being right.
  void read_chunks() {
    chunks_ = known(kVirtualStages, 1);
    if (settings().has(kPerVirtualStage)) {
      const Known each = known(kPerVirtualStage, std::nullopt);
      chunks_ = {};
      for (const Known* part : std::initializer_list<const Known*>{&each, &layers_, &pipeline_}) {
        if (!part->is_known()) chunks_.why_not = part->why_not;
      }
      if (!chunks_.why_not.empty()) return;
      const std::int64_t all = product_of({*each, *pipeline_});
      if (split_layers() % all == 0) {
        chunks_.value = split_layers() / all;
      } else {
        chunks_.why_not = "V does not follow from the layers (E010)";
      }
    }
    if (const auto text = settings().text(kLayout)) {
      const MegatronLayout layout = read_megatron_layout(*text);
      chunks_ = {};
      const auto pieces = static_cast<std::int64_t>(layout.stages.size());
      if (!pipeline_.is_known()) {
        chunks_.why_not = pipeline_.why_not;
      } else if (!layout.why_not.empty() || pieces % *pipeline_ != 0) {
        chunks_.why_not = "V does not follow from the layout (E011)";
      } else {
        chunks_.value = pieces / *pipeline_;
      }
    }
  }

  // Layers as the split counts them.
  [[nodiscard]] int accounted() const {
    return (settings().on("--account-for-embedding-in-pipeline-split") ? 1 : 0) +
           (settings().on("--account-for-loss-in-pipeline-split") ? 1 : 0);
  }
  [[nodiscard]] std::int64_t split_layers() const { return *layers_ + accounted(); }
  [[nodiscard]] bool has_hybrid_pipes() const {
    const auto pattern = settings().text(kHybrid);
    return pattern && pattern->find('|') != std::string::npos;
  }

  // --- E001

  void judge_products() {
    if (!judgeable("E001", {&tensor_, &pipeline_, &context_})) return;
    if (gpus_.is_known() && *gpus_ % model_ranks() != 0) {
      const std::int64_t more = (*gpus_ / model_ranks() + 1) * model_ranks();
      broken("E001", {pipeline_.from, tensor_.from, context_.from},
             fmt::format("{} GPUs are no multiple of T x P x C = {} x {} x {} = {}", *gpus_,
                         *tensor_, *pipeline_, *context_, model_ranks()),
             kStops, fmt::format("start {} GPUs{}", more, smaller_pipeline()));
      return;
    }
    if (gpus_.is_known()) judge_experts();
    judge_batch();
    if (!gpus_.is_known()) not_judged("E001", gpus_.why_not);
  }

  [[nodiscard]] std::string smaller_pipeline() const {
    const std::int64_t others = product_of({*tensor_, *context_});
    if (*gpus_ % others != 0) return "";
    for (std::int64_t p = std::min(*pipeline_, *gpus_ / others); p >= 1; --p) {
      if (*gpus_ / others % p == 0) return fmt::format(", or write {} {}", kPipeline, p);
    }
    return "";
  }

  void judge_experts() {
    const Known experts = known("--expert-model-parallel-size", 1);
    const Known within = known("--expert-tensor-parallel-size", *tensor_);
    if (!experts.is_known() || !within.is_known() || experts.from == nullptr) return;
    const std::int64_t ranks = product_of({*experts, *within, *pipeline_});
    if (*gpus_ % ranks == 0) return;
    broken("E001", {experts.from},
           fmt::format("{} GPUs are no multiple of the experts' T x E x P = {} x {} x {} = {}",
                       *gpus_, *within, *experts, *pipeline_, ranks),
           kStops,
           fmt::format("--expert-model-parallel-size {}",
                       std::gcd(*experts, std::max<std::int64_t>(
                                              1, *gpus_ / product_of({*within, *pipeline_})))));
  }

  void judge_batch() {
    if (!micro_batch_.is_known() || !global_batch_.is_known()) {
      not_judged("E001", micro_batch_.is_known() ? global_batch_.why_not : micro_batch_.why_not);
      return;
    }
    if (settings().has("--rampup-batch-size") || settings().on("--decrease-batch-size-if-needed")) {
      not_judged("E001", "the batch changes while the job runs");
      return;
    }
    // Without D the micro-batches alone must fit.
    const std::int64_t data = data_.value.value_or(1);
    const std::int64_t share = product_of({*micro_batch_, data});
    if (*global_batch_ % share == 0) return;
    const std::int64_t fitting = (*global_batch_ / share + 1) * share;
    broken(
        "E001", {global_batch_.from, micro_batch_.from},
        fmt::format("a global batch of {} is no multiple of b x D = {} x {} = {}", *global_batch_,
                    *micro_batch_, data_.is_known() ? fmt::format("{}", data) : "D", share),
        kStops, fmt::format("{} {}", kGlobalBatch, fitting));
  }

  // --- E012

  void judge_first_and_last() {
    if (!judgeable("E012", {&pipeline_}) || *pipeline_ > 1) return;
    for (const char* flag : {kFirst, kLast}) {
      const LaunchSetting* setting = settings().find(flag);
      if (setting == nullptr) continue;
      const Known kept = known(flag, std::nullopt);
      if (kept.is_known() && layers_.is_known() && *kept == *layers_) continue;
      broken("E012", {setting},
             fmt::format("{} with P = 1 builds {} layers{}", flag,
                         kept.is_known() ? fmt::format("{}", *kept) : "that many",
                         layers_.is_known() ? fmt::format(", not {}", *layers_) : ""),
             "Megatron-LM says nothing, and reports TFLOP/s and parameters as if all layers of "
             "--num-layers were there.",
             fmt::format("leave {} out", flag));
    }
  }

  // --- E010

  void judge_layers() {
    if (has_hybrid_pipes()) {
      judge_hybrid();
      return;
    }
    if (!judge_exclusive()) return;
    if (settings().has(kLayout)) {
      judged("E010");
      return;
    }
    const Known each = known(kPerVirtualStage, 1), virtual_stages = known(kVirtualStages, 1);
    if (!judgeable("E010", {&pipeline_, &layers_, &each, &virtual_stages})) return;
    if (*pipeline_ == 1) {
      set_stages({static_cast<int>(*layers_)});
    } else if (settings().has(kFirst) || settings().has(kLast)) {
      judge_uneven(*virtual_stages);
    } else {
      judge_even(*each, *virtual_stages);
    }
  }

  void judge_hybrid() {
    const LaunchSetting* other = nullptr;
    for (const char* flag : {kFirst, kLast, kPerVirtualStage, kVirtualStages, kLayout}) {
      if (other == nullptr) other = settings().find(flag);
    }
    if (other != nullptr) {
      broken("E010", {other},
             fmt::format("{} splits the layers by its own |, and {} splits them again", kHybrid,
                         other->name),
             kStops, fmt::format("leave {} out", other->name));
    }
    not_judged("E010", fmt::format("{} has the split in itself", kHybrid));
  }

  bool judge_exclusive() {
    const LaunchSetting* first = nullptr;
    for (const char* flag : {kLayout, kVirtualStages, kPerVirtualStage}) {
      const LaunchSetting* setting = settings().find(flag);
      if (setting != nullptr && first != nullptr) {
        broken("E010", {setting},
               fmt::format("{} and {} split the layers twice", first->name, flag), kStops,
               fmt::format("leave {} out", flag));
        return false;
      }
      if (setting != nullptr) first = setting;
    }
    for (const char* flag : {kFirst, kLast}) {
      const LaunchSetting* setting = settings().find(flag);
      const bool clashes = first != nullptr && first->name != kVirtualStages;
      if (setting == nullptr || !clashes) continue;
      broken("E010", {setting}, fmt::format("{} does not go with {}", flag, first->name), kStops,
             fmt::format("leave {} out", flag));
      return false;
    }
    return true;
  }

  void judge_even(std::int64_t each, std::int64_t virtual_stages) {
    const std::int64_t all = split_layers(), per_rank = all / *pipeline_;
    const std::string what =
        accounted() == 0
            ? fmt::format("{} layers", *layers_)
            : fmt::format("{} layers and {} for embedding or loss", *layers_, accounted());
    if (all % *pipeline_ != 0) {
      uneven(fmt::format("{} cannot be split evenly over {} stages", what, *pipeline_),
             *pipeline_ * virtual_stages, pipeline_.from);
      return;
    }
    if (per_rank % each != 0) {
      uneven(fmt::format("{} layers of a rank are no multiple of {} per virtual stage", per_rank,
                         each),
             *pipeline_ * std::max<std::int64_t>(1, per_rank / each),
             settings().find(kPerVirtualStage));
      return;
    }
    if (per_rank % virtual_stages != 0) {
      uneven(fmt::format("{} layers of a rank cannot be split evenly over {} virtual stages",
                         per_rank, virtual_stages),
             *pipeline_ * virtual_stages, settings().find(kVirtualStages));
      return;
    }
    const std::int64_t stages =
        *pipeline_ * (settings().has(kPerVirtualStage) ? per_rank / each : virtual_stages);
    if (stages > kMostLayers) return;
    std::vector<int> counts = spread_evenly(static_cast<int>(all), static_cast<int>(stages));
    if (settings().on("--account-for-embedding-in-pipeline-split")) --counts.front();
    if (settings().on("--account-for-loss-in-pipeline-split")) --counts.back();
    set_stages(std::move(counts));
  }

  void judge_uneven(std::int64_t virtual_stages) {
    const Known first = known(kFirst, 0, 0), last = known(kLast, 0, 0);
    if (!judgeable("E010", {&first, &last})) return;
    if (accounted() > 0) {
      not_judged("E010", "set first and last stages and accounting for embedding or loss together");
      return;
    }
    const int ends = (settings().has(kFirst) ? 1 : 0) + (settings().has(kLast) ? 1 : 0);
    const std::int64_t middle = *layers_ - *first - *last, ranks = *pipeline_ - ends;
    const LaunchSetting* place = first.from != nullptr ? first.from : last.from;
    const bool divides = ranks == 0 ? middle == 0 : middle >= 0 && middle % ranks == 0;
    if (!divides) {
      uneven(fmt::format("{} layers are left between the first and the last, for {} stages", middle,
                         ranks),
             *pipeline_ * virtual_stages, place);
      return;
    }
    const std::int64_t each = ranks == 0 ? 0 : middle / ranks;
    if (*first % virtual_stages != 0 || *last % virtual_stages != 0 || each % virtual_stages != 0) {
      uneven(fmt::format("ranks of {}, {} and {} layers do not divide into {} virtual stages",
                         *first, each, *last, virtual_stages),
             *pipeline_ * virtual_stages, place);
      return;
    }
    if (*pipeline_ * virtual_stages > kMostLayers) return;
    std::vector<int> counts;
    for (std::int64_t s = 0; s < *pipeline_ * virtual_stages; ++s) {
      std::int64_t held = each;
      if (s % *pipeline_ == 0 && settings().has(kFirst)) held = *first;
      if (s % *pipeline_ == *pipeline_ - 1 && settings().has(kLast)) held = *last;
      counts.push_back(static_cast<int>(held / virtual_stages));
    }
    set_stages(std::move(counts));
  }

  // A layout for as many stages, or fewer stages where there are not enough layers.
  void uneven(std::string message, std::int64_t stages, const LaunchSetting* place) {
    LintFinding& finding =
        broken("E010", {place, pipeline_.from, layers_.from}, std::move(message), kStops, "");
    const bool has_ends = settings().has(kFirst) || settings().has(kLast);
    if (!has_ends && stages <= *layers_) {
      finding.why = fmt::format(
          "Megatron-LM stops here after the GPUs are allocated; older versions silently built {} "
          "layers.",
          *layers_ / stages * stages);
    }
    if (stages <= *layers_) {
      finding.fix_layers = spread_evenly(static_cast<int>(*layers_), static_cast<int>(stages));
      finding.fix = layout_flag(finding.fix_layers);
      if (settings().has(kVirtualStages) || settings().has(kPerVirtualStage) || has_ends) {
        finding.fix += " in place of the other flags that split";
      }
    } else {
      finding.fix = fmt::format("at most as many stages as layers: {} {}", kPipeline,
                                std::gcd(*layers_, *pipeline_));
    }
  }

  [[nodiscard]] std::string layout_flag(const std::vector<int>& counts) const {
    return fmt::format("{} \"{}\"", kLayout, write_megatron_layout(counts, mtp()));
  }
  [[nodiscard]] int mtp() const {
    const Known layers = known("--mtp-num-layers", 0, 0);
    return static_cast<int>(std::min(layers.value.value_or(0), kMostLayers));
  }

  void set_stages(std::vector<int> counts) { report().job.layers_per_stage = std::move(counts); }

  // --- E011

  void judge_layout() {
    const LaunchSetting* setting = settings().find(kLayout);
    if (setting == nullptr) return;
    const auto text = settings().text(kLayout);
    if (!text) {
      const Known layout = known(kLayout, std::nullopt);
      not_judged("E011", layout.why_not);
      return;
    }
    const MegatronLayout layout = read_megatron_layout(*text);
    judged("E011");
    if (!layout.why_not.empty()) {
      wrong_layout("the layout cannot be read: " + layout.why_not, 0);
      return;
    }
    const auto pieces = static_cast<std::int64_t>(layout.stages.size());
    if (pipeline_.is_known() && pieces % *pipeline_ != 0) {
      wrong_layout(
          fmt::format("the layout has {} stages, no multiple of P = {}", pieces, *pipeline_),
          pieces);
    }
    judge_letters(layout);
    judge_empty_pieces(layout);
    std::vector<int> counts;
    counts.reserve(layout.stages.size());
    for (const std::string& stage : layout.stages) {
      counts.push_back(static_cast<int>(std::count(stage.begin(), stage.end(), 't')));
    }
    if (pipeline_.is_known() && pieces % *pipeline_ == 0) set_stages(std::move(counts));
  }

  void wrong_layout(std::string message, std::int64_t pieces) {
    LintFinding& finding = broken("E011", {settings().find(kLayout)}, std::move(message), kStops,
                                  "write one piece per stage, E first and L last");
    if (!layers_.is_known() || !pipeline_.is_known()) return;
    const std::int64_t stages = *pipeline_ * std::max<std::int64_t>(1, pieces / *pipeline_);
    const std::int64_t fitting = stages <= *layers_ ? stages : *pipeline_;
    if (fitting > *layers_) return;
    finding.fix_layers = spread_evenly(static_cast<int>(*layers_), static_cast<int>(fitting));
    finding.fix = layout_flag(finding.fix_layers);
  }

  void judge_letters(const MegatronLayout& layout) {
    std::string all;
    for (const std::string& stage : layout.stages) all += stage;
    const auto pieces = static_cast<std::int64_t>(layout.stages.size());
    const auto count = [&all](char letter) { return std::count(all.begin(), all.end(), letter); };
    if (all.empty() || count('E') != 1 || all.front() != 'E') {
      wrong_layout("the layout must begin with its only E", pieces);
    }
    if (all.empty() || count('L') != 1 || all.back() != 'L') {
      wrong_layout("the layout must end with its only L", pieces);
    }
    if (layers_.is_known() && count('t') != *layers_) {
      wrong_layout(fmt::format("the layout has {} layers, and the model {}", count('t'), *layers_),
                   pieces);
    } else if (!layers_.is_known()) {
      not_judged("E011", layers_.why_not);
    }
    judge_mtp(layout, all, count('m'));
  }

  void judge_mtp(const MegatronLayout& layout, const std::string& all, std::int64_t count) {
    const auto pieces = static_cast<std::int64_t>(layout.stages.size());
    const Known wanted = known("--mtp-num-layers", 0, 0);
    if (wanted.is_known() && *wanted != count) {
      wrong_layout(fmt::format("the layout has {} m, and --mtp-num-layers is {}", count, *wanted),
                   pieces);
      return;
    }
    if (count == 0) return;
    const std::size_t first = all.find('m');
    const auto holds = [](const std::string& stage) {
      return stage.find('m') != std::string::npos;
    };
    const auto holders = std::count_if(layout.stages.begin(), layout.stages.end(), holds);
    const auto holder = std::find_if(layout.stages.begin(), layout.stages.end(), holds);
    const bool in_last_chunk = !pipeline_.is_known() || layout.stages.end() - holder <= *pipeline_;
    if (all.find('t', first) != std::string::npos || holders > 1 || !in_last_chunk) {
      wrong_layout(
          "all m stand behind all t, in one stage, and that is the last virtual stage of its rank",
          pieces);
    }
  }

  void judge_empty_pieces(const MegatronLayout& layout) {
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
      if (!layout.stages[s].empty()) continue;
      wrong_layout(fmt::format("stage {} of the layout is empty", s),
                   static_cast<std::int64_t>(layout.stages.size()));
      report().findings.back().why =
          "Megatron-LM reads the layout, and fails while the first step runs.";
      return;
    }
  }

  // --- E020, E021

  void judge_micro_batches() {
    if (!judgeable("E020", {&pipeline_, &micro_batches_})) return;
    if (*micro_batches_ >= *pipeline_) return;
    const bool interleaved = chunks_.value.value_or(1) > 1;
    const double idle = 100.0 * static_cast<double>(*pipeline_ - 1) /
                        static_cast<double>(*micro_batches_ + *pipeline_ - 1);
    const std::string why =
        interleaved ? "Megatron-LM stops: a group of an interleaved schedule has P to M of them."
                    : fmt::format(
                          "Megatron-LM runs it without a word; ranks are idle for {:.0f} % "
                          "of the step. Other trainers hang here.",
                          idle);
    broken("E020", {global_batch_.from, micro_batch_.from, pipeline_.from},
           fmt::format("{} micro-batches are fewer than the {} ranks of the pipeline",
                       *micro_batches_, *pipeline_),
           why,
           fmt::format("{} {}", kGlobalBatch, product_of({*micro_batch_, *data_, *pipeline_})));
  }

  void judge_groups() {
    if (!judgeable("E021", {&chunks_, &pipeline_})) return;
    if (*chunks_ == 1) return;
    const LaunchSetting* split = settings().find(kVirtualStages);
    if (split == nullptr) split = settings().find(kPerVirtualStage);
    const bool overlaps = !settings().on(kNoOverlap);
    if (*pipeline_ == 1 || (*pipeline_ == 2 && !overlaps)) {
      broken("E021", {split, settings().find(kLayout)},
             fmt::format("V = {} needs P > {}", *chunks_, overlaps ? 1 : 2), kStops,
             *pipeline_ == 1 ? "leave the virtual stages out"
                             : fmt::format("leave {} out", kNoOverlap));
      return;
    }
    const Known group = known(kGroup, *pipeline_);
    if (!judgeable("E021", {&group, &micro_batches_}) || *micro_batches_ < *pipeline_) return;
    const std::int64_t rest = *micro_batches_ % *group;
    const bool in_range = *pipeline_ <= *group && *group <= *micro_batches_;
    if (in_range && (rest == 0 || rest >= *pipeline_)) return;
    broken("E021", {group.from, global_batch_.from, split},
           in_range ? fmt::format("{} micro-batches in groups of {} leave a last group of {}, less "
                                  "than P = {}",
                                  *micro_batches_, *group, rest, *pipeline_)
                    : fmt::format("a group of {} micro-batches is not within P = {} and M = {}",
                                  *group, *pipeline_, *micro_batches_),
           "Megatron-LM stops with \"The number of contiguous micro-batches in a virtual pipeline "
           "stage should range in [PP, M]\", or leaves bubbles between groups.",
           fmt::format("{} {}", kGroup, fitting_group(*group)));
  }

  // The nearest size of a group that is allowed; M itself always is.
  [[nodiscard]] std::int64_t fitting_group(std::int64_t wanted) const {
    const std::int64_t most = std::min(*micro_batches_, *pipeline_ + 100'000);
    std::int64_t best = *micro_batches_;
    for (std::int64_t g = *pipeline_; g <= most; ++g) {
      const std::int64_t rest = *micro_batches_ % g;
      const bool fits = rest == 0 || rest >= *pipeline_;
      if (fits && std::abs(g - wanted) < std::abs(best - wanted)) best = g;
    }
    return best;
  }

  // --- E040, W050, W051, W060

  void judge_resume() {
    const std::string format = settings().text("--ckpt-format").value_or("torch_dist");
    const bool is_sharded = settings().on("--use-distributed-optimizer");
    // torch_dist keeps the optimizer so that any D can read it; each rank's own file does not.
    const bool reshards =
        !is_sharded || (format != "torch" && !settings().on("--no-ckpt-fully-parallel-save"));
    const LaunchSetting* place = settings().find("--ckpt-format");
    if (place == nullptr) place = settings().find("--no-ckpt-fully-parallel-save");
    if (place == nullptr) place = settings().find("--load");
    judge_checkpoint(data_, reshards, place,
                     "Megatron-LM cannot deal the distributed optimizer's state of this format "
                     "out to another number of replicas: it stops while loading.",
                     fmt::format("keep {} replicas; or save with --ckpt-format torch_dist and "
                                 "without --no-ckpt-fully-parallel-save",
                                 request().checkpoint_data_parallel.value_or(1)));
  }

  [[nodiscard]] const LaunchSetting* recompute() const {
    for (const char* flag :
         {"--recompute-granularity", "--recompute-activations", "--checkpoint-activations"}) {
      if (settings().on(flag)) return settings().find(flag);
    }
    return nullptr;
  }

  void judge_recompute() {
    judged("W050");
    const LaunchSetting* divided = nullptr;
    for (const char* flag : {"--enable-zero-bubble", "--zero-bubble-v-schedule"}) {
      if (divided == nullptr && settings().on(flag)) divided = settings().find(flag);
    }
    if (divided == nullptr || recompute() == nullptr) return;
    broken("W050", {recompute()},
           fmt::format("{} divides the backward, and activations are recomputed", divided->name),
           "The forward is computed again for I and once more for W: the bubble that is saved is "
           "paid for in recompute.",
           fmt::format("leave {} out, or {}", recompute()->name, divided->name));
  }

  void judge_overlap() {
    judged("W051");
    if (!settings().on(kNoOverlap) || chunks_.value.value_or(1) == 1) return;
    broken("W051", {settings().find(kNoOverlap)},
           "transfers of the interleaved schedule wait in the way of the computation",
           "Every send and receive is waited for where it is issued; with V stages a rank has V "
           "times as many.",
           fmt::format("leave {} out", kNoOverlap));
  }

  void judge_names() {
    judged("W060");
    for (const LaunchSetting& setting : settings().all()) {
      if (!setting.name.starts_with("--") || setting.name.find('$') != std::string::npos) continue;
      const std::string name = setting.name.substr(2);
      const std::vector<std::string_view>& all = megatron_flags();
      if (const RenamedFlag* renamed = find_renamed_megatron_flag(name)) {
        broken("W060", {&setting}, fmt::format("{} is no longer the flag's name", setting.name),
               fmt::format("Megatron-LM {}.", renamed->what), fmt::format("{}", renamed->now));
      } else if (!std::binary_search(all.begin(), all.end(), std::string_view(name))) {
        if (tell_unknown_name()) unknown_flag(setting, nearest_name(name, all));
      }
    }
  }

  void unknown_flag(const LaunchSetting& setting, const std::optional<std::string>& nearest) {
    broken("W060", {&setting},
           fmt::format("{} is none of the {} flags of Megatron-LM that are known here",
                       setting.name, megatron_flags().size()),
           "Megatron-LM stops at a flag that it does not know, unless your script adds it.",
           nearest ? fmt::format("--{}", *nearest) : "if your script adds it: --ignore W060");
  }

  // --- what a prediction needs

  void describe() {
    LaunchJob& job = report().job;
    job.gpus = as_int(gpus_.value);
    job.tensor = as_int(tensor_.value);
    job.pipeline = as_int(pipeline_.value);
    job.context = as_int(context_.value);
    job.expert = as_int(known("--expert-model-parallel-size", 1).value);
    job.data = as_int(data_.value);
    job.chunks = as_int(chunks_.value).value_or(1);
    job.micro_batch_size = as_int(micro_batch_.value);
    job.global_batch = as_int(global_batch_.value);
    job.micro_batches = as_int(micro_batches_.value);
    job.sequence_length = as_int(known("--seq-length", std::nullopt).value);
    job.layers = as_int(layers_.value);
    job.zero1 = settings().on("--use-distributed-optimizer");
    job.schedule = job.chunks > 1 ? "interleaved" : "1f1b";
    const auto granularity = settings().text("--recompute-granularity");
    if (granularity) job.recompute = *granularity;
    if (!granularity && recompute() != nullptr) {
      job.recompute = settings().on("--recompute-activations") ? "selective" : "full";
    }
    const LaunchSetting* place = pipeline_.from != nullptr ? pipeline_.from : layers_.from;
    if (place == nullptr) return;
    job.line = place->line;
    job.setting = place->text;
  }

  const LaunchScript& script_;
  Known tensor_, pipeline_, context_, gpus_, data_, micro_batch_, global_batch_, micro_batches_,
      layers_, chunks_;
};

}  // namespace

LintReport lint_megatron(std::string_view text, const std::string& file,
                         const LintRequest& request) {
  const LaunchScript script = read_launch_script(text, file);
  require_settings(script.flags, file, "Megatron-LM");
  LintReport report;
  report.trainer = LintTrainer::kMegatron;
  report.version = request.version;
  report.notes = script.not_followed;
  MegatronJudge(script, request, report).judge();
  return report;
}

}  // namespace penstock
