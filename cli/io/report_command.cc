// A command for one plan is the question as it was typed, without the options that the plan's own
// pins replace, and with these pins. The trainer in the last command
// is the first whose exporter takes the plan, the preferred one before others.
#include "cli/io/report_command.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/verbs/verbs.h"
#include "core/values/plan_words.h"
#include "core/values/recompute_sections.h"
#include "studies/nearest_plan.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// Options of a report that are not of the question, or that the pins of one plan stand for.
constexpr std::array<std::string_view, 12> kLeftOut{
    "-o",         "--output",    "--top",   "--scaling",  "--baseline",  "--pin",
    "--schedule", "--recompute", "--zero1", "--sharding", "--placement", "--run"};
constexpr std::array<std::string_view, 2> kFlagsLeftOut{"--json", "--every-candidate"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Without what is left out, in both ways to give a value.
Arguments kept(const Arguments& arguments) {
  Arguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    if (is_one_of(kFlagsLeftOut, name)) continue;
    if (!is_one_of(kLeftOut, name)) {
      result.push_back(argument);
    } else if (name == argument) {
      ++i;
    }
  }
  return result;
}

}  // namespace

std::string command_for(const Plan& plan, const Arguments& arguments) {
  Arguments all = kept(arguments);
  const auto add = [&all](std::string name, std::string value) {
    all.push_back(std::move(name));
    all.push_back(std::move(value));
  };
  const std::string context = plan.context > 1 ? fmt::format("CP={},", plan.context) : "";
  add("--pin", fmt::format("TP={},{}PP={},DP={},VP={},mbs={}{}", plan.tensor, context,
                           plan.pipeline, plan.data, plan.chunks, plan.micro_batch_size,
                           plan.offload_optimizer ? ",offload=optimizer" : ""));
  add("--schedule", plan.schedule);
  add("--recompute", plan.recompute + (recompute_is_divided(plan) ? ":as-needed" : ""));
  if (plan.data > 1 && plan.sharding == Sharding::kState) {
    add("--zero1", plan.zero1 ? "on" : "off");
  } else if (plan.data > 1) {
    const std::string name(word_of(kShardingWords, plan.sharding));
    add("--sharding", plan.shard_group > 0 ? fmt::format("{}:{}", name, plan.shard_group) : name);
  }
  if (plan.data > 1 && plan.pipeline > 1) {
    add("--placement",
        plan.placement == Placement::kPipelineInner ? "pipeline-inner" : "data-inner");
  }
  add("-o", kPlanFile);
  return command_of("plan", all);
}

std::string apply_command(const PlanFile& plan, const std::string& path,
                          const std::string& preferred) {
  // Whole jobs before a list of actions, which is all that PyTorch's own files say.
  std::vector<std::string> targets = exported_trainer_names();
  std::stable_partition(targets.begin(), targets.end(),
                        [](const std::string& name) { return name != "pytorch"; });
  std::stable_partition(targets.begin(), targets.end(),
                        [&](const std::string& name) { return name == preferred; });
  for (const std::string& name : targets) {
    const TrainerRow& target = *find_trainer_row(name);
    ExportRequest request;
    request.version = target.versions.front().name;
    request.plan_path = path;
    request.tool_version = version();
    if (!exported(plan, target, request).why_not.empty()) continue;
    return fmt::format("penstock export {} --to {} -o job", shell_word(path), target.name);
  }
  return plan.description ? "penstock train " + shell_word(path) : "";
}

}  // namespace penstock
