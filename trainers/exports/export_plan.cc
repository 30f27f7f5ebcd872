// The trainer's version decides whether the plan can be expressed, by the same limits that `plan
// --for` searches under (verdict_of); only then does its exporter write. What all exporters share
// stands below: the heading that every written file begins with, and the schedule as a CSV of
// PyTorch's pipelining, in today's names or those of 2024.
#include "trainers/exports/export_plan.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/expert_grid.h"
#include "core/values/recompute_sections.h"
#include "core/values/schedule.h"
#include "core/values/trainer_limits.h"
#include "report/measures.h"
#include "report/words.h"
#include "trainers/exports/export_parts.h"
#include "trainers/pytorch/pipeline_csv.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// PyTorch's names of 2024.
std::string_view old_name_of(ActionKind kind) {
  if (kind == ActionKind::kInputGradient) return "B";
  return kind == ActionKind::kFusedBackward ? "BW" : name_of(kind);
}

// Names come from files of other people, and behind a line end they would no longer be a comment
// but a command. In YAML three characters beyond ASCII end a line, too.
std::string in_one_line(std::string_view text) {
  constexpr std::string_view kLineEnds[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
  std::string out;
  while (!text.empty()) {
    std::size_t taken = 1;
    bool is_blank = static_cast<unsigned char>(text.front()) < 0x20U || text.front() == 0x7F;
    for (const std::string_view end : kLineEnds) {
      if (!text.starts_with(end)) continue;
      is_blank = true;
      taken = end.size();
    }
    out += is_blank ? ' ' : text.front();
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace

std::string header_of(const PlanFile& file, const ExportRequest& request, std::string_view target,
                      std::string_view mark) {
  const Plan& plan = file.plan;
  const Evaluation& prediction = file.prediction;
  std::string text =
      fmt::format("{0}{1} for {2} {3}, written by penstock {4}:\n{0}  {5}\n{0}Plan {6}, {7}.\n",
                  mark, in_one_line(file.model), target, request.version, request.tool_version,
                  in_one_line(request.command), in_one_line(request.plan_path), request.plan_hash);
  text +=
      fmt::format("{}TP {}{} x PP {} x DP {}, VP {}, mbs {}, {} micro-batches, gbs {}, {},\n", mark,
                  plan.tensor, other_degrees_words(plan), plan.pipeline, plan.data, plan.chunks,
                  plan.micro_batch_size, micro_batches_of(plan), plan.global_batch, plan.schedule);
  text += fmt::format("{}recompute {}, {}, on {} GPUs ({}).\n", mark, recompute_in_short(plan),
                      request.precision, plan.devices(), in_one_line(device_words(plan)));
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

Export refused(std::string why, std::optional<Plan> nearest) {
  Export answer;
  answer.why_not = std::move(why);
  answer.nearest = std::move(nearest);
  return answer;
}

bool is_without_sequence_parallelism(const PlanFile& file) {
  const auto& asked = file.estimate_options;
  return file.plan.tensor > 1 &&
         std::find(asked.begin(), asked.end(), EstimateOption{"sequence-parallelism", "off"}) !=
             asked.end();
}

bool is_sequence_parallel(const PlanFile& file, const ExportRequest& request) {
  const bool has_experts =
      file.plan.expert > 1 || (request.model && request.model->architecture.experts);
  return file.plan.tensor > 1 && (has_experts || !is_without_sequence_parallelism(file));
}

bool sums_gradients_in_32_bits(const PlanFile& plan) {
  if (plan.plan.sharding == Sharding::kFsdp) return true;  // in its shards, whatever is gathered
  // ZeRO-2 divides gradients and leaves the weights whole.
  const std::int64_t parts =
      plan.plan.sharding == Sharding::kGradients ? std::int64_t{plan.plan.shards()} : 1;
  return std::any_of(plan.prices.step.begin(), plan.prices.step.end(),
                     [parts](const StepPrice& stage) {
                       const std::int64_t rounded_up = parts - 1;
                       return stage.gradients.count * parts - rounded_up > stage.parameters.count;
                     });
}

bool has_16_bits(const ExportRequest& request) {
  return request.precision == "bfloat16" || request.precision == "float16" ||
         request.precision == "float8";
}

const Trainer* trainer_of(const TrainerRow& target, std::string_view version) {
  const TrainerVersion* found = find_version(target, version);
  return found == nullptr ? nullptr : found->planned;
}

Export export_plan(const TrainerRow& target, const PlanFile& plan, const ExportRequest& request) {
  const TrainerVersion* version = find_version(target, request.version);
  if (version == nullptr || !target.exporter) {
    throw Error(ErrorKind::kInternal, "an export to a version that is not in the table");
  }
  if (version->planned != nullptr) {
    TrainerVerdict verdict = verdict_of(*version->planned, plan.plan, plan.section_names);
    if (!verdict.why_not.empty()) {
      return refused(std::move(verdict.why_not), std::move(verdict.nearest));
    }
  }
  return target.exporter->write(plan, request, *version->facts);
}

}  // namespace penstock
