#include "report/trainers/export_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/recompute_sections.h"
#include "core/schedule.h"
#include "report/measures.h"
#include "report/trainers/export_parts.h"
#include "report/trainers/pipeline_csv.h"
#include "report/words.h"

namespace penstock {
namespace {

// "layer" and 12 of "layer.12"; nothing for other names.
std::optional<std::pair<std::string_view, int>> numbered(std::string_view name) {
  const std::size_t dot = name.find_last_of('.');
  if (dot == std::string_view::npos || dot + 1 == name.size() || name.size() - dot > 8) return {};
  int number = 0;
  for (const char c : name.substr(dot + 1)) {
    if (c < '0' || c > '9') return {};
    number = number * 10 + (c - '0');
  }
  return std::pair{name.substr(0, dot), number};
}

// PyTorch's names of 2024.
std::string_view old_name_of(ActionKind kind) {
  if (kind == ActionKind::kInputGradient) return "B";
  return kind == ActionKind::kFusedBackward ? "BW" : name_of(kind);
}

}  // namespace

std::optional<ModelLayers> model_layers(const std::vector<std::string>& sections) {
  ModelLayers model;
  std::string_view stem;
  for (const std::string& name : sections) {
    const auto layer = numbered(name);
    const bool is_next = layer && layer->second == model.layers && model.back == 0 &&
                         (model.layers == 0 || layer->first == stem);
    if (is_next) {
      stem = layer->first;
      ++model.layers;
    } else {
      ++(model.layers == 0 ? model.front : model.back);
    }
  }
  if (model.layers == 0) return {};
  return model;
}

StageLayers layers_of_stage(const ModelLayers& model, const Plan& plan, int stage) {
  const int begin = plan.first_section(stage), end = plan.end_section(stage);
  const auto overlap = [begin, end](int first, int last) {
    return std::max(0, std::min(end, last) - std::max(begin, first));
  };
  const int after = model.front + model.layers;
  StageLayers held;
  held.front = overlap(0, model.front);
  held.count = overlap(model.front, after);
  held.back = overlap(after, after + model.back);
  held.first = std::max(begin, model.front) - model.front;
  return held;
}

std::string header_of(const PlanFile& file, const ExportRequest& request, std::string_view target,
                      std::string_view mark) {
  const Plan& plan = file.plan;
  const Evaluation& prediction = file.prediction;
  std::string text =
      fmt::format("{0}{1} for {2} {3}, written by penstock {4}:\n{0}  {5}\n{0}Plan {6}, {7}.\n",
                  mark, file.model, target, request.version, request.tool_version, request.command,
                  request.plan_path, request.plan_hash);
  text += fmt::format("{}P={} V={} D={} T={} b={} M={}, {}, recompute {}, on {} GPUs ({}).\n", mark,
                      plan.pipeline, plan.chunks, plan.data, plan.tensor, plan.micro_batch_size,
                      micro_batches_of(plan), plan.schedule, recompute_in_short(plan),
                      plan.devices(), device_words(plan));
  text += fmt::format("{}Predicted: a step takes {} ({} to {}); the fullest rank needs {} GiB.\n",
                      mark, to_text(prediction.step_time), to_text(prediction.step_time_low),
                      to_text(prediction.step_time_high), gib(prediction.peak_memory()));
  return text;
}

std::string plan_csv(const PlanFile& plan, bool dialect_of_2024) {
  const Program& program = plan.program;
  const Pipeline& pipeline = program.pipelines.front();
  std::vector<std::vector<ComputeAction>> lists(static_cast<std::size_t>(pipeline.ranks));
  for (const Action& action : program.actions) {
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    const bool is_in_file = is_compute(action.kind) && action.kind != ActionKind::kRecompute &&
                            action.kind != ActionKind::kOptimizer;
    if (rank >= lists.size() || !is_in_file) continue;
    lists[rank].push_back({action.kind, action.overlaps_next, action.stage, action.micro_batch});
  }
  if (dialect_of_2024) {
    std::string text;
    for (const std::vector<ComputeAction>& list : lists) {
      std::string row;
      for (const ComputeAction& action : list) {
        row += fmt::format("{}{}{}{}", row.empty() ? "" : ",", action.stage.value,
                           old_name_of(action.kind), action.micro_batch.value);
      }
      text += row + '\n';
    }
    return text;
  }
  std::vector<int> rank_of_stage;
  rank_of_stage.reserve(static_cast<std::size_t>(plan.plan.stages()));
  for (int s = 0; s < plan.plan.stages(); ++s) rank_of_stage.push_back(plan.plan.rank_of(s));
  return write_pipeline_csv(schedule_of_lists(
      program.schedule, static_cast<int>(pipeline.micro_batches), rank_of_stage, lists));
}

Export refused_divided_recompute(std::string_view trainer, const Plan& plan) {
  Plan whole = plan;
  whole.recompute_sections.clear();
  return refused(
      fmt::format("{} has one recompute mode for all layers, and the plan recomputes {}; plan with "
                  "--for, or with --recompute {}",
                  trainer, recompute_in_words(plan), plan.recompute),
      std::move(whole));
}

Export refused(std::string why, std::optional<Plan> nearest) {
  Export answer;
  answer.why_not = std::move(why);
  answer.nearest = std::move(nearest);
  return answer;
}

std::span<const ExportTarget> export_targets() {
  static const std::array kTargets{
      ExportTarget{"pytorch",
                   "the CSV that torch.distributed.pipelining loads",
                   {"2.6", "2.5"},
                   export_pytorch},
      ExportTarget{"torchtitan",
                   "its TOML, for head a Python configuration, and the CSV",
                   {"0.2", "0.1", "head"},
                   export_torchtitan},
      ExportTarget{
          "megatron", "flags and layout string for Megatron-LM", {"0.20"}, export_megatron},
      ExportTarget{"deepspeed",
                   "ds_config.json and the PipelineModule with the plan's cuts",
                   {"0.19"},
                   export_deepspeed},
      ExportTarget{"varuna",
                   "the arguments of its workers, stage_to_rank_map among them",
                   {"1.0"},
                   export_varuna},
  };
  return kTargets;
}

const ExportTarget* find_export_target(std::string_view name) {
  for (const ExportTarget& target : export_targets()) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

}  // namespace penstock
