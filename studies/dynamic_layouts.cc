// Cuts are those of an even batch of micro-batches of the mean length, four for every rank of the
// pipeline, chosen by evaluate() as for any plan: without recompute where that fits, else with the
// least mode that does. How the micro-batches of one step differ moves the balance of stages
// little, since every layer takes as many times as long.
#include "studies/dynamic_layouts.h"

#include <algorithm>
#include <cmath>

#include "core/values/error.h"
#include "costmodel/price_stages.h"
#include "search/candidates.h"
#include "search/choose_cuts.h"
#include "search/device_cluster.h"
#include "search/dynamic/replica_replays.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr int kMicroBatchesPerRank = 4;

std::string device_of(const Question& question) {
  if (question.request.pins.device) return *question.request.pins.device;
  const std::vector<std::string> types = device_types_in_use(question.cluster.value);
  if (types.size() == 1) return types.front();
  throw_bad_input("the cluster has several device types\nhelp: choose one with --device");
}

int whole(double value) { return std::max(1, static_cast<int>(std::lround(value))); }

// So that the cuts can be chosen: an even batch.
Plan with_typical_batch(Plan plan, const TypicalBatch& typical) {
  const int micro_batches = kMicroBatchesPerRank * plan.pipeline;
  const int samples = whole(typical.samples / (plan.data * micro_batches));
  plan.micro_batch_size = samples;
  plan.global_batch = samples * micro_batches * plan.data;
  plan.sequence_length = typical.mean.tokens;
  if (typical.mean.decoder_tokens > 0) {
    const MicroBatchShape shape{samples, typical.mean.tokens, typical.mean.decoder_tokens};
    set_batch(plan, {{shape}, {{plan.data, {{micro_batches, 0}}}}});
  }
  return plan;
}

Plan without_batch(Plan plan) {
  plan.batch = {};
  plan.recompute_sections.clear();
  return plan;
}

struct Cut {
  std::optional<DynamicLayout> layout;
  std::string why_not;
};

// How far off the step time of a plan may be, relative to it.
ErrorBand interval_of(const Evaluation& evaluation) {
  const auto relative = [&](Duration part) {
    const auto whole = static_cast<double>(evaluation.step_time.count());
    return whole > 0.0 ? static_cast<double>(part.count()) / whole : 0.0;
  };
  return {relative(evaluation.step_time - evaluation.step_time_low),
          relative(evaluation.step_time_high - evaluation.step_time)};
}

Cut cut_for(const Question& question, const std::vector<std::string>& modes, Plan plan,
            const TypicalBatch& typical) {
  Cut cut;
  plan = with_typical_batch(std::move(plan), typical);
  plan.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  for (const std::string& mode : modes) {
    plan.recompute = mode;
    const EvaluatedPlan evaluated = evaluate(question.inputs(), plan);
    if (evaluated.plan.cuts.empty()) {
      if (evaluated.why_not) cut.why_not = evaluated.why_not->reason;
      continue;
    }
    cut.layout = DynamicLayout{without_batch(evaluated.plan), interval_of(evaluated.evaluation)};
    if (!evaluated.why_not) return cut;
  }
  // Too much for an even batch; the planner of batches may find smaller micro-batches.
  return cut;
}

// Whether some schedule that may be used suits it.
bool suits(const Question& question, const Plan& plan) {
  const std::vector<std::string>& names = question.request.pins.schedules;
  return names.empty() || !names_that_suit(plan, names).empty();
}

bool admits(const std::optional<int>& pin, int value) { return !pin || *pin == value; }

class Layouts {
 public:
  Layouts(const Question& question, const TypicalBatch& typical)
      : question_(question), typical_(typical) {}

  DynamicLayouts make() {
    const ModelProfile& profile = question_.profile.value;
    result_.device = device_of(question_);
    result_.modes = measured_recompute_modes(profile, result_.device);
    if (const auto& mode = question_.request.pins.recompute) {
      std::erase_if(result_.modes, [&](const std::string& one) { return one != *mode; });
      if (result_.modes.empty()) leave_out("recompute mode '" + *mode + "' was not measured");
    }
    for (const int tensor : measured_tensor_degrees(profile, result_.device)) {
      if (!admits(question_.request.pins.tensor, tensor)) continue;
      if (question_.request.gpus % tensor == 0) add_pipelines(tensor);
    }
    return std::move(result_);
  }

 private:
  void leave_out(const std::string& why) {
    auto& list = result_.left_out;
    if (std::find(list.begin(), list.end(), why) == list.end()) list.push_back(why);
  }

  // Where only schedules of several stages per rank may be used.
  [[nodiscard]] int least_chunks() const {
    Plan of_one_chunk;
    of_one_chunk.pipeline = 2;
    return suits(question_, of_one_chunk) ? 1 : 2;
  }

  void add_pipelines(int tensor) {
    const Pins& pins = question_.request.pins;
    const int more_chunks = pins.chunks.value_or(least_chunks());
    const int ranks = question_.request.gpus / tensor;
    const auto sections = static_cast<int>(question_.profile.value.sections.size());
    for (int pipeline = 1; pipeline <= ranks; ++pipeline) {
      if (ranks % pipeline != 0 || !admits(pins.pipeline, pipeline)) continue;
      // One stage alone suits every schedule.
      const int chunks = pipeline == 1 && !pins.chunks ? 1 : more_chunks;
      if (pipeline * chunks > sections || (pipeline == 1 && chunks > 1)) continue;
      const int data = ranks / pipeline;
      if (!admits(pins.data, data) || data > typical_.samples) continue;
      add(tensor, pipeline, data, chunks);
    }
  }

  void add(int tensor, int pipeline, int data, int chunks) {
    const SearchRequest& request = question_.request;
    Plan plan;
    plan.device = result_.device;
    plan.tensor = tensor;
    plan.pipeline = pipeline;
    plan.data = data;
    plan.chunks = chunks;
    if (!suits(question_, plan)) {
      leave_out("no schedule that --schedule names suits " + std::to_string(pipeline) +
                " pipeline ranks of " + std::to_string(chunks) +
                (chunks == 1 ? " stage each" : " stages each"));
      return;
    }
    const std::vector<ShardingChoice> choices = sharding_choices(request, pipeline, data);
    const auto unsharded = std::find_if(choices.begin(), choices.end(), [](const auto& choice) {
      return choice.sharding == Sharding::kState && !choice.offload;
    });
    if (unsharded == choices.end() || request.pins.context.value_or(1) > 1 ||
        request.pins.expert.value_or(1) > 1) {
      leave_out(
          "batches of different lengths are priced with whole weights, whole sequences, all "
          "experts, and the optimizer's state on the devices");
      return;
    }
    set_sharding(*unsharded, plan);
    // Reductions of small batches weigh so much that the best placement decides between layouts.
    for (const Placement placement : placement_choices(request, {}, pipeline, data)) {
      plan.placement = placement;
      Cut cut = cut_for(question_, result_.modes, plan, typical_);
      if (cut.layout) {
        result_.found.push_back(std::move(*cut.layout));
      } else if (!cut.why_not.empty()) {
        leave_out(cut.why_not);
      }
    }
  }

  const Question& question_;
  const TypicalBatch& typical_;
  DynamicLayouts result_;
};

}  // namespace

TypicalBatch typical_of(const std::vector<LengthBatch>& batches, const LengthRounding& rounding) {
  double samples = 0.0, tokens = 0.0, decoder_tokens = 0.0;
  for (const LengthBatch& batch : batches) {
    for (const SampleLength& sample : batch) {
      const SampleLength fed = fed_of(sample, rounding);
      samples += 1.0;
      tokens += fed.tokens;
      decoder_tokens += fed.decoder_tokens;
    }
  }
  TypicalBatch typical;
  typical.samples = samples / static_cast<double>(batches.size());
  typical.mean.tokens = whole(tokens / samples);
  if (decoder_tokens > 0.0) typical.mean.decoder_tokens = whole(decoder_tokens / samples);
  return typical;
}

DynamicLayouts dynamic_layouts(const Question& question, const TypicalBatch& typical) {
  return Layouts(question, typical).make();
}

std::vector<DynamicLayout> dynamic_variants(const Question& question, const DynamicLayouts& layouts,
                                            const DynamicLayout& of, const TypicalBatch& typical) {
  const SearchRequest& request = question.request;
  const Plan& plan = of.plan;
  const auto sections = static_cast<int>(question.profile.value.sections.size());
  std::vector<DynamicLayout> variants;
  const auto add_equal = [&](DynamicLayout layout) {
    std::vector<int> cuts = equal_cuts(sections, layout.plan.stages_per_copy());
    if (cuts == layout.plan.cuts) return;
    layout.plan.cuts = std::move(cuts);
    variants.push_back(std::move(layout));
  };
  add_equal(of);
  for (const int chunks : {2, 4}) {
    if (request.pins.chunks || plan.pipeline == 1 || plan.pipeline * chunks > sections) continue;
    Plan more = plan;
    more.chunks = chunks;
    more.cuts.clear();
    if (chunks == plan.chunks || !suits(question, more)) continue;
    if (Cut cut = cut_for(question, layouts.modes, std::move(more), typical); cut.layout) {
      variants.push_back(*cut.layout);
      add_equal(std::move(*cut.layout));
    }
  }
  return variants;
}

}  // namespace penstock
