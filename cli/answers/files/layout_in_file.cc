#include "cli/answers/files/layout_in_file.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/io/text_file.h"
#include "cli/reports/check_file.h"
#include "core/values/error.h"
#include "core/values/plan.h"
#include "core/values/seconds.h"
#include "report/words.h"
#include "trainers/lint/lint.h"
#include "trainers/logs/trainer_log.h"
#include "trainers/trainer_row.h"

namespace penstock {
namespace {

// Under fused attention, which estimates suppose, Megatron's selective mode saves nothing, and that
// of an estimate is torchtitan's.
constexpr const char *kSelective = "selective", *kNone = "none";

std::string_view word_of(Sharding sharding) {
  switch (sharding) {
    case Sharding::kState:
      break;
    case Sharding::kGradients:
      return "zero2";
    case Sharding::kParameters:
      return "zero3";
    case Sharding::kFsdp:
      return "fsdp";
  }
  return "zero1";
}

LayoutInFile layout_of(const Plan& plan) {
  std::vector<std::string> pairs;
  const auto add = [&pairs](const char* key, int value) {
    if (value > 1) pairs.push_back(fmt::format("{}={}", key, value));
  };
  pairs.push_back(fmt::format("TP={} PP={} DP={}", plan.tensor, plan.pipeline, plan.data));
  add("CP", plan.context);
  add("EP", plan.expert);
  add("VP", plan.chunks);
  pairs.push_back(fmt::format("mbs={} gbs={}", plan.micro_batch_size, plan.global_batch));
  add("seq", plan.sequence_length);
  if (plan.pipeline > 1 && plan.chunks == 1 && plan.schedule != "1f1b") {
    pairs.push_back("schedule=" + plan.schedule);
  }
  if (plan.recompute != kNone) pairs.push_back("recompute=" + plan.recompute);
  if (plan.zero1) pairs.push_back("sharding=" + std::string(word_of(plan.sharding)));
  return {joined(pairs, " "), plan.devices(), plan.global_batch, plan.sequence_length, ""};
}

// Four digits are what a log's steps differ by.
std::string words_of(Duration time) { return fmt::format("{:.4g}s", to_seconds(time)); }

}  // namespace

std::optional<LayoutInFile> layout_in_script(const std::string& path) {
  if (!is_there(path)) return {};
  try {
    const std::string text = load_text(path, "");
    const LaunchFileOptions options;
    const TrainerRow* trainer = trainer_of(options, text, path);
    if (trainer == nullptr) return {};
    const LaunchJob job = checked_launch(path, text, *trainer, options).report.job;
    if (!job.tensor || !job.pipeline || !job.data || !job.micro_batch_size || !job.global_batch ||
        job.schedule.empty()) {
      return {};
    }
    Plan plan;
    plan.tensor = *job.tensor;
    plan.pipeline = *job.pipeline;
    plan.data = *job.data;
    plan.context = job.context.value_or(1);
    plan.expert = job.expert.value_or(1);
    plan.chunks = job.chunks;
    plan.schedule = job.schedule;
    plan.micro_batch_size = *job.micro_batch_size;
    plan.global_batch = *job.global_batch;
    plan.sequence_length = job.sequence_length.value_or(0);
    const bool saves_nothing =
        trainer->linter->selective_is_attention && job.recompute == kSelective;
    plan.recompute = saves_nothing ? kNone : job.recompute;
    plan.zero1 = job.zero1;
    plan.sharding = job.sharding;
    return layout_of(plan);
  } catch (const Error&) {
    return {};
  }
}

std::optional<LayoutInFile> layout_in_log(const std::string& path) {
  if (!is_there(path)) return {};
  try {
    const std::optional<LoggedJob> job = job_of_log(load_text(path, ""), path);
    if (!job) return {};
    Plan plan = job->plan;
    if (plan.recompute == kSelective) plan.recompute = kNone;  // of Megatron-LM, as in a script
    LayoutInFile ran = layout_of(plan);
    ran.step_time = words_of(job->step_time);
    return ran;
  } catch (const Error&) {
    return {};
  }
}

std::optional<LayoutInFile> step_in_log(const std::string& path) {
  if (!is_there(path)) return {};
  try {
    const std::optional<LoggedStep> step = step_of_log(load_text(path, ""), path);
    if (!step) return {};
    constexpr std::int64_t kExample = 512, kMost = 1 << 20;
    const bool is_said = step->batch > 0 && step->batch <= kMost;
    LayoutInFile ran;
    ran.gpus = 64;
    ran.global_batch = static_cast<int>(is_said ? step->batch : kExample);
    ran.layout = fmt::format("TP=4 PP=4 DP=4 mbs=1 gbs={}", ran.global_batch);
    ran.step_time = words_of(step->step_time);
    return ran;
  } catch (const Error&) {
    return {};
  }
}

std::string command_fitted_to(const LayoutInFile& ran, const std::string& model,
                              const Arguments& words) {
  Arguments command = with_taken("plan", {model}, words);
  const auto add = [&command](const char* option, int value) {
    if (value == 0 || value_of(command, {option})) return;
    command.insert(command.end(), {option, std::to_string(value)});
  };
  if (!value_of(command, {"--cluster", "--nodes"})) add("--gpus", ran.gpus);
  add("--global-batch", ran.global_batch);
  add("--sequence-length", ran.sequence_length);
  command.insert(command.end(), {"--measured", ran.layout + ": " + ran.step_time});
  return whole_command("plan", command);
}

}  // namespace penstock
