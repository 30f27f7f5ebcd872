// Each limit of a trainer is one small function that gives the reason, or the nearest plan that the
// trainer could run: layers move between neighbouring stages until every stage has what the trainer
// asks for. A verdict with such a plan is what `export` offers. Layers are counted in the model's
// own blocks (model_layers.h), since embeddings and heads are no layers to a trainer.
#include "core/values/trainer_limits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/values/expert_grid.h"
#include "core/values/model_layers.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"

namespace penstock {
namespace {

std::string text(int number) { return std::to_string(number); }

// Of replicas that differ in their device types only, a trainer need not know.
bool have_unequal_shares(const Plan& plan) {
  return std::any_of(
      plan.replica_kinds.begin(), plan.replica_kinds.end(),
      [&](const ReplicaKind& kind) { return kind.samples != plan.replica_kinds.front().samples; });
}

std::string why_not_interleaved(const Trainer& trainer, const Plan& plan) {
  if (plan.pipeline < 3)
    return "interleaving needs PP >= 3";  // its transfers overlap from there on
  const int m = first_load(plan).micro_batches, group = interleaving_group(plan), rest = m % group;
  if (plan.pipeline <= group && group <= m && (rest == 0 || rest >= plan.pipeline)) return "";
  return trainer.title +
         " interleaves groups of at least PP micro-batches, also the last; here PP = " +
         text(plan.pipeline) + ", and groups of " + text(group) + " divide " + text(m) +
         " micro-batches";
}

std::string why_not_sharded(const Trainer& trainer, const Plan& plan) {
  if (plan.offload_optimizer && !trainer.offloads_optimizer) {
    return trainer.title + " keeps the optimizer's state on its devices";
  }
  // Megatron-FSDP has an optimizer of its own.
  if (plan.offload_optimizer && trainer.has_megatron_groups && plan.sharding != Sharding::kState) {
    return trainer.title + " updates on the host under its distributed optimizer only";
  }
  if (plan.offload_optimizer && !plan.zero1 && plan.weight_copies() > 1 &&
      trainer.schedules != TrainerSchedules::kOwnRuntime) {
    return trainer.title + " updates on the host what ZeRO shards, and the plan shards nothing";
  }
  if (!plan.zero1 || plan.sharding == Sharding::kState) return "";
  const std::vector<Sharding>& known = trainer.shardings;
  if (std::find(known.begin(), known.end(), plan.sharding) == known.end()) {
    return trainer.title + " does not shard as " + sharding_words(plan) + " does";
  }
  return why_no_sharding(plan);
}

std::string why_not_mode(const Trainer& trainer, const std::string& mode) {
  if (mode == "none" || !trainer.recompute_modes) return "";
  const std::vector<std::string>& known = *trainer.recompute_modes;
  if (std::find(known.begin(), known.end(), mode) != known.end()) return "";
  return trainer.why_no_other_mode + " '" + mode + "'";
}

// The same cuts, but what an empty stage would stand for moves to its neighbour: every stage has a
// layer, but for the first and the last where those need none. Nothing with too few layers.
std::optional<Plan> with_a_layer_each(Plan plan, const ModelLayers& model, bool ends_as_well) {
  const int stages = plan.stages(), end = model.front + model.layers;
  const bool last_needs = ends_as_well || model.back == 0;
  const int least_of_first = ends_as_well ? model.front + 1 : std::max(model.front, 1);
  for (int s = 1; s < stages; ++s) {
    const int least = least_of_first + s - 1;
    const int behind = stages - s - (last_needs ? 0 : 1);  // stages that need a layer from here on
    const int most = end - behind;
    if (least > most) return {};
    int& cut = plan.cuts[static_cast<std::size_t>(s)];
    cut = std::clamp(cut, least, most);
  }
  return plan;
}

std::string without_a_layer(const Plan& plan, const ModelLayers& model, bool ends_as_well,
                            const std::string& why) {
  for (int s = 0; s < plan.stages(); ++s) {
    const bool is_end = s == 0 || s + 1 == plan.stages();
    if ((is_end && !ends_as_well) || layers_of_stage(model, plan, s).count > 0) continue;
    return "stage " + text(s) + " has no layer, and " + why;
  }
  return "";
}

TrainerVerdict whole_recompute(const Trainer& trainer, const Plan& plan) {
  Plan whole = plan;
  whole.recompute_sections.clear();
  return {trainer.title + " has one recompute mode for all layers, and the plan recomputes " +
              recompute_in_words(plan) + "; plan with --for, or with --recompute " + plan.recompute,
          std::move(whole)};
}

struct LayerBlocks {
  int layers = 0;
  bool alike = true;  // the plan says the same number for all stages
};

LayerBlocks layer_blocks(const Plan& plan, const ModelLayers& model) {
  LayerBlocks blocks;
  std::vector<std::pair<int, int>> stages;  // recomputed layers, layers
  for (int s = 0; s < plan.stages(); ++s) {
    const StageLayers held = layers_of_stage(model, plan, s);
    const int again = std::clamp(recomputed_sections_of(plan, s) - held.front, 0, held.count);
    stages.emplace_back(again, held.count);
    blocks.layers = std::max(blocks.layers, again);
  }
  blocks.alike = std::all_of(stages.begin(), stages.end(), [&](const auto& stage) {
    return stage.first == std::min(blocks.layers, stage.second);
  });
  return blocks;
}

// So many layers on every stage, and with them what comes before.
Plan with_blocks(const Plan& plan, const ModelLayers& model, int layers) {
  Plan alike = plan;
  std::vector<int> sections;
  for (int s = 0; s < plan.stages(); ++s) {
    const StageLayers held = layers_of_stage(model, plan, s);
    sections.push_back(held.front + std::min(layers, held.count));
  }
  set_recompute_sections(alike, std::move(sections));
  return alike;
}

TrainerVerdict blocks_verdict(const Trainer& trainer, const Plan& plan, const ModelLayers& model) {
  if (!recompute_is_divided(plan)) return {};
  if (plan.recompute != "full") return whole_recompute(trainer, plan);
  const LayerBlocks blocks = layer_blocks(plan, model);
  if (blocks.alike) return {};
  return {
      trainer.title +
          " recomputes the same number of layers on every stage (--recompute-method block), and "
          "the plan recomputes " +
          recompute_in_words(plan) + "; plan with --for " + trainer.name + ", or take " +
          text(blocks.layers) + " for all",
      with_blocks(plan, model, blocks.layers)};
}

std::string splits_the_front(const Trainer& trainer, const Plan& plan, const ModelLayers& model) {
  if (trainer.why_whole_front.empty()) return "";
  if (layers_of_stage(model, plan, 0).front == model.front) return "";
  return "stage 0 holds only a part of what comes before the layers, and " +
         trainer.why_whole_front + " for all of it";
}

std::string why_not_cuts(const Trainer& trainer, const Plan& plan, const ModelLayers& model) {
  if (std::string why = splits_the_front(trainer, plan, model); !why.empty()) return why;
  if (trainer.layer_on == LayerOnStage::kNotNeeded) return "";
  return without_a_layer(plan, model, trainer.layer_on == LayerOnStage::kAllStages,
                         trainer.why_a_layer);
}

TrainerVerdict layers_verdict(const Trainer& trainer, const Plan& plan, const ModelLayers& model) {
  if (trainer.most_behind && model.back > *trainer.most_behind) {
    return {trainer.title + "'s models end in a norm and a head; this one has " + text(model.back) +
                " sections after its layers",
            {}};
  }
  const bool one_number = trainer.divided_recompute == DividedRecompute::kOneNumber;
  std::string why = why_not_cuts(trainer, plan, model);
  if (why.empty()) return one_number ? blocks_verdict(trainer, plan, model) : TrainerVerdict{};
  auto nearest = with_a_layer_each(plan, model, trainer.layer_on == LayerOnStage::kAllStages);
  if (nearest && one_number && recompute_is_divided(*nearest)) {
    *nearest = with_blocks(*nearest, model, layer_blocks(*nearest, model).layers);
  }
  return {std::move(why), std::move(nearest)};
}

}  // namespace

std::string why_not_run(const Trainer& trainer, const Plan& plan) {
  if (plan.tensor > 1 && !trainer.why_no_tensor.empty()) return trainer.why_no_tensor;
  if (plan.context > 1 && !trainer.has_context) {
    return trainer.title + " divides no sequences (CP = " + text(plan.context) + ")";
  }
  const auto& kinds = trainer.context_kinds;
  if (plan.context > 1 && std::find(kinds.begin(), kinds.end(), plan.context_kind) == kinds.end()) {
    return trainer.title + " does not divide sequences like this (" + other_degrees_words(plan) +
           ")";
  }
  if (plan.has_expert_grid() && !trainer.has_experts) {
    return trainer.title + " has no expert parallelism (" + expert_words(plan) + ")";
  }
  if (trainer.equal_replicas) {
    if (have_unequal_shares(plan)) return "it gives every replica the same share of the batch";
    if (!plan.has_even_batch()) return "it takes micro-batches of one shape only";
    if (!has_equal_micro_batches(plan)) return "the batch must be a multiple of DP times mbs";
  }
  if (std::string why = why_not_sharded(trainer, plan); !why.empty()) return why;
  if (std::string why = why_not_mode(trainer, plan.recompute); !why.empty()) return why;
  if (trainer.has_megatron_groups && plan.chunks > 1) return why_not_interleaved(trainer, plan);
  if (trainer.only_two_in_v && plan.stage_map == StageMap::kV && plan.chunks != 2) {
    return trainer.title + " places a V of two stages per rank only";
  }
  const bool is_divided = plan.pipeline > 1 || plan.tensor > 1;
  return plan.data == 1 && is_divided ? trainer.why_no_single_replica : "";
}

TrainerVerdict verdict_of(const Trainer& trainer, const Plan& plan,
                          const std::vector<std::string>& sections) {
  if (std::string why = why_not_run(trainer, plan); !why.empty()) return {std::move(why), {}};
  const auto model = trainer.counts_layers ? model_layers(sections) : std::nullopt;
  if (trainer.counts_layers && !model) {
    return {trainer.title + " counts layers; " + std::string(kNoLayers), {}};
  }
  if (trainer.divided_recompute == DividedRecompute::kRefused && recompute_is_divided(plan)) {
    return whole_recompute(trainer, plan);
  }
  return model ? layers_verdict(trainer, plan, *model) : TrainerVerdict{};
}

int interleaving_group(const Plan& plan) {
  if (plan.group > 0) return plan.group;
  const int m = first_load(plan).micro_batches;
  return m / std::max(1, m / plan.pipeline);
}

int recomputed_layers_of_each_stage(const Plan& plan, const std::vector<std::string>& sections) {
  const auto model = model_layers(sections);
  return model ? layer_blocks(plan, *model).layers : 0;
}

}  // namespace penstock
