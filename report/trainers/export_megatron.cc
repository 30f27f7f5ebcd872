#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/recompute_sections.h"
#include "report/measures.h"
#include "report/trainers/export_parts.h"

namespace penstock {
namespace {

std::string repeated(char letter, int count) {
  if (count == 0) return "";
  return count == 1 ? std::string(1, letter) : fmt::format("{}*{}", letter, count);
}

// Equal pieces in a row are written once, as "(t*2|)*34".
std::string joined_pieces(const std::vector<std::string>& pieces) {
  std::string text;
  for (std::size_t i = 0; i < pieces.size();) {
    std::size_t end = i;
    while (end < pieces.size() && pieces[end] == pieces[i]) ++end;
    // Every repetition ends in a bar, so the last piece of all stays outside.
    const std::size_t times = std::min(end, pieces.size() - 1) - i;
    if (times >= 3) {
      text += fmt::format("({}|)*{}", pieces[i], times);
      i += times;
    } else {
      text += pieces[i] + (i + 1 < pieces.size() ? "|" : "");
      ++i;
    }
  }
  return text;
}

// The same cuts, but every stage has a layer, the embedding is on the first and the head on the
// last: what an empty piece would stand for moves to its neighbour. Nothing with fewer layers than
// stages.
std::optional<Plan> with_a_layer_each(const PlanFile& file, const ModelLayers& model) {
  Plan plan = file.plan;
  const int stages = plan.stages(), sections = static_cast<int>(file.section_names.size());
  if (model.layers < stages) return {};
  for (int s = 1; s < stages; ++s) {
    int& cut = plan.cuts[static_cast<std::size_t>(s)];
    cut = std::max({cut, model.front + s, plan.cuts[static_cast<std::size_t>(s) - 1] + 1});
    cut = std::min(cut, sections - model.back - (stages - s));
  }
  return plan;
}

struct Layout {
  std::string text, why_not;
};

Layout layout_of(const PlanFile& file, const ModelLayers& model) {
  const Plan& plan = file.plan;
  std::vector<std::string> pieces;
  int front = 0;
  for (int s = 0; s < plan.stages(); ++s) {
    const StageLayers held = layers_of_stage(model, plan, s);
    front += held.front;
    const bool last = s + 1 == plan.stages();
    if (s == 0 && front < model.front) {
      return {"",
              "stage 0 holds only a part of what comes before the layers, and Megatron-LM's "
              "layout has one letter for all of it"};
    }
    pieces.push_back(std::string(s == 0 ? "E" : "") + repeated('t', held.count) +
                     (last ? "L" : ""));
    if (pieces.back().empty()) {
      return {"", fmt::format("stage {} has no layer, and Megatron-LM fails at run time on a stage "
                              "without one (its issue 1852)",
                              s)};
    }
  }
  return {joined_pieces(pieces), ""};
}

// Micro-batches per group of an interleaved schedule: what the plan says, or PyTorch's rule, which
// its own schedule follows.
int group_of(const Plan& plan) {
  if (plan.group > 0) return plan.group;
  const int m = micro_batches_of(plan);
  return m / std::max(1, m / plan.pipeline);
}

std::string why_not_interleaved(const Plan& plan) {
  const int m = micro_batches_of(plan), group = group_of(plan), rest = m % group;
  if (plan.pipeline <= group && group <= m && (rest == 0 || rest >= plan.pipeline)) return "";
  return fmt::format(
      "Megatron-LM interleaves groups of P to M micro-batches, the last of them of at least P; "
      "here P "
      "= {}, M = {} and a group has {}",
      plan.pipeline, m, group);
}

// Megatron's "block" recomputes the first so many layers of every virtual stage, the same number
// for all (of a stage that has fewer, all of them): megatron/core/transformer/transformer_block.py.
struct LayerBlocks {
  int layers = 0;
  bool alike = true;  // the plan says the same number for all stages
};

LayerBlocks layer_blocks(const Plan& plan, const ModelLayers& model) {
  std::vector<StageLayers> stages;
  stages.reserve(static_cast<std::size_t>(plan.stages()));
  for (int s = 0; s < plan.stages(); ++s) stages.push_back(layers_of_stage(model, plan, s));
  const auto recomputed = [&](int stage) {
    const StageLayers& held = stages[static_cast<std::size_t>(stage)];
    return std::clamp(recomputed_sections_of(plan, stage) - held.front, 0, held.count);
  };
  LayerBlocks blocks;
  for (int s = 0; s < plan.stages(); ++s) blocks.layers = std::max(blocks.layers, recomputed(s));
  for (int s = 0; s < plan.stages(); ++s) {
    const int all = stages[static_cast<std::size_t>(s)].count;
    blocks.alike = blocks.alike && recomputed(s) == std::min(blocks.layers, all);
  }
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

Export refused_blocks(const Plan& plan, const ModelLayers& model) {
  if (plan.recompute != "full") return refused_divided_recompute("Megatron-LM", plan);
  const int layers = layer_blocks(plan, model).layers;
  return refused(
      fmt::format("Megatron-LM recomputes the same number of layers on every stage "
                  "(--recompute-method block), and the plan recomputes {}; plan with --for "
                  "megatron, or take {} for all",
                  recompute_in_words(plan), layers),
      with_blocks(plan, model, layers));
}

class Flags {
 public:
  void add(const std::string& name) { text_ += "  " + name + '\n'; }
  template <class Value>
  void add(const std::string& name, const Value& value) {
    text_ += fmt::format("  {} {}\n", name, value);
  }
  [[nodiscard]] std::string array() const { return "PENSTOCK_ARGS=(\n" + text_ + ")\n"; }

 private:
  std::string text_;
};

}  // namespace

Export export_megatron(const PlanFile& file, const ExportRequest& request) {
  const Plan& plan = file.plan;
  const auto model = model_layers(file.section_names);
  if (!model) return refused("Megatron-LM counts layers; " + std::string(kNoLayers));
  const Layout layout = layout_of(file, *model);
  if (!layout.why_not.empty()) return refused(layout.why_not, with_a_layer_each(file, *model));
  if (plan.chunks > 1) {
    if (const std::string why = why_not_interleaved(plan); !why.empty()) return refused(why);
  }
  if (plan.recompute != "none" && plan.recompute != "full" && plan.recompute != "selective") {
    return refused(fmt::format("Megatron-LM has no recompute mode '{}'", plan.recompute));
  }
  const bool divided = recompute_is_divided(plan);
  const LayerBlocks blocks = layer_blocks(plan, *model);
  if (divided && (plan.recompute != "full" || !blocks.alike)) return refused_blocks(plan, *model);

  Export answer;
  Flags flags;
  flags.add("--tensor-model-parallel-size", plan.tensor);
  flags.add("--pipeline-model-parallel-size", plan.pipeline);
  if (plan.pipeline > 1) flags.add("--pipeline-model-parallel-layout", '"' + layout.text + '"');
  if (plan.chunks > 1) {
    flags.add("--microbatch-group-size-per-virtual-pipeline-stage", group_of(plan));
  }
  flags.add("--num-layers", model->layers);
  flags.add("--micro-batch-size", plan.micro_batch_size);
  flags.add("--global-batch-size", plan.global_batch);
  if (plan.sequence_length > 0) flags.add("--seq-length", plan.sequence_length);
  if (plan.zero1) flags.add("--use-distributed-optimizer");
  if (plan.recompute == "full") {
    flags.add("--recompute-granularity", "full");
    flags.add("--recompute-method", divided ? "block" : "uniform");
    flags.add("--recompute-num-layers", divided ? blocks.layers : 1);
  }
  if (plan.recompute == "selective") flags.add("--recompute-granularity", "selective");
  // By default the replicas of a stage are side by side.
  const bool pipeline_inner = plan.placement == Placement::kPipelineInner;
  if (pipeline_inner && plan.data > 1 && plan.pipeline > 1) flags.add("--use-tp-pp-dp-mapping");
  answer.files.push_back(
      {"megatron_args.sh",
       header_of(file, request, "Megatron-LM core", "# ") +
           "# source it, then: torchrun ... pretrain_gpt.py \"${PENSTOCK_ARGS[@]}\" ...\n" +
           flags.array()});
  for (int s = 0; s + 1 < plan.stages(); ++s) {
    if (layers_of_stage(*model, plan, s).back == 0) continue;
    answer.notes.push_back(fmt::format(
        "the plan has a section behind the layers on stage {}; Megatron-LM places its final norm "
        "itself",
        s));
  }
  return answer;
}

}  // namespace penstock
