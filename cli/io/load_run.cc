// A run is told by what it is: a folder holds traces of PyTorch's profiler, a text with a
// penstock.run/1 header is a log of ours, any other is asked of the trainers' readers. A run of
// another plan is refused unless --any-plan says so.
#include "cli/io/load_run.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/files/own_training.h"
#include "cli/io/text_file.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/traces/read_kineto.h"
#include "trainers/logs/compare_memory.h"

namespace penstock {
namespace {

std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> files;
  std::string packed;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".json")) files.push_back(path);
    if (path.ends_with(".json.gz") && (packed.empty() || path < packed)) packed = path;
  }
  if (!packed.empty()) {
    throw_bad_input(packed + ": a packed trace\nhelp: unpack them first: gunzip " + folder +
                    "/*.json.gz");
  }
  if (files.empty()) {
    throw_bad_input(folder +
                    ": no trace (*.json) is in this folder\nhelp: name the folder that "
                    "holds rank0_trace.json, rank1_trace.json, ...");
  }
  std::sort(files.begin(), files.end());
  return files;
}

LoadedRun from_traces(const std::string& folder, const Loaded<PlanFile>& plan) {
  std::vector<KinetoTrace> traces;
  for (const std::string& file : traces_in(folder)) {
    traces.push_back(read_kineto_trace(parse_json(read_file(file), file), file));
  }
  KinetoRun run = run_of_kineto(plan.value, plan.file.path, traces);
  LoadedRun loaded;
  loaded.log = std::move(run.log);
  loaded.notes = std::move(run.notes);
  loaded.is_traces = true;
  return loaded;
}

LoadedRun from_trainer_log(std::string_view text, const std::string& path,
                           const Loaded<PlanFile>& plan, const LogOptions& options) {
  LoggedRun run = run_of_log(text, path, plan.value, options);
  LoadedRun loaded;
  loaded.log = std::move(run.log);
  loaded.log.header.plan = plan.file.path;
  loaded.notes = std::move(run.notes);
  loaded.is_trainer_log = true;
  loaded.warm_up_steps = run.warm_up_steps;
  loaded.steps_per_mean = run.interval;
  loaded.memory = std::move(run.memory);
  return loaded;
}

// Our own begin with an object. A trainer's may, too, where that logs JSON of its own before.
bool is_own_log(std::string_view text) {
  return text.starts_with('{') && text.find("penstock.run/") < text.find('\n');
}

}  // namespace

void keep_steps_of(const Loaded<PlanFile>& plan, LoadedRun& run, const std::string& path,
                   bool any_plan) {
  if (!run.names_plan()) return;
  RunHeader& header = run.log.header;
  const auto hash_of = [&header](const MeasuredStep& step) {
    return step.plan_hash.empty() ? header.plan_hash : step.plan_hash;
  };
  const auto ran = [&](const std::string& hash) {
    return std::ranges::any_of(run.log.steps,
                               [&](const MeasuredStep& step) { return hash_of(step) == hash; });
  };
  if (header.plan_hash != plan.file.hash && !ran(plan.file.hash) && !any_plan) {
    throw_bad_input(
        fmt::format("{}: it ran a plan with the hash {} ({}), but {} has {}\n"
                    "help: name the plan file that it ran, or compare anyway with --any-plan",
                    path, header.plan_hash, header.plan, plan.file.path, plan.file.hash));
  }
  const std::string kept = ran(plan.file.hash) ? plan.file.hash : header.plan_hash;
  const std::size_t all = run.log.steps.size();
  std::erase_if(run.log.steps, [&](const MeasuredStep& step) { return hash_of(step) != kept; });
  const std::size_t left = run.log.steps.size();
  if (left < all) {
    run.notes.push_back(
        fmt::format("{} of the run's {} steps ran under {}; the others are left out", left, all,
                    kept == plan.file.hash ? "this plan" : header.plan));
  }
}

LoadedRun load_run(const std::string& path, const Loaded<PlanFile>& plan,
                   const LogOptions& options) {
  if (std::filesystem::is_directory(path)) return from_traces(path, plan);
  const std::string text =
      load_text(path,
                "a run is what penstock train --log wrote, a trainer's log or a folder of profiler "
                "traces: penstock validate plan.json train.log");
  if (!is_own_log(text) && trainer_of_log(text)) {
    return from_trainer_log(text, path, plan, options);
  }
  if (text.find("{'loss':") != std::string::npos) {
    throw_bad_input(path + ": a log of Hugging Face's Trainer, which is not read\nhelp: " +
                    help_for_own_training(text));
  }
  if (!text.empty() && !text.starts_with('{')) {
    throw_bad_input(path +
                    ": neither a run of penstock train nor a log with steps of Megatron-LM "
                    "(elapsed time per iteration) or torchtitan (step: .. tps: ..)\n"
                    "help: give the file that penstock train --log wrote, the trainer's log, or a "
                    "folder of profiler traces");
  }
  if (text.starts_with('{') && !is_own_log(text)) {
    throw_bad_input(path +
                    ": this is not the log of a run\nhelp: the plan comes first, then what "
                    "penstock train --log wrote, the trainer's log, or a folder of profiler "
                    "traces: penstock validate plan.json train.log");
  }
  LoadedRun loaded;
  loaded.log = read_run_log(text, path);
  return loaded;
}

Validation compared(const PlanFile& plan, const Timeline& predicted, const LoadedRun& run,
                    const ValidationOptions& settings, const std::string& path) {
  Validation validation = validate(plan, predicted, run.log, settings, path);
  if (!run.is_trainer_log) return validation;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  validation.skipped = static_cast<int>(std::min(run.warm_up_steps, kMost));
  validation.steps_per_mean = run.steps_per_mean;
  validation.memory = compare_memory(plan, run.memory);
  return validation;
}

int warm_up_of(const LoadedRun& run, const std::optional<int>& asked) {
  if (run.is_trainer_log) return 0;
  if (asked) return *asked;
  const int most = run.is_traces ? 1 : ValidationOptions{}.warm_up;
  const auto others = std::ssize(run.log.steps) - 1;
  return static_cast<int>(std::clamp<std::int64_t>(others, 0, most));
}

const MeasuredStep& shown_step(const LoadedRun& run, const std::string& path,
                               const std::optional<std::string>& step) {
  std::vector<const MeasuredStep*> traced;
  for (const MeasuredStep& one : run.log.steps) {
    if (!one.ranks.empty()) traced.push_back(&one);
  }
  if (traced.empty()) {
    throw_bad_input(fmt::format(
        "{}: no step holds when its actions ran\nhelp: {}", path,
        run.is_trainer_log ? "give a folder of profiler traces" : "train with --timeline"));
  }
  if (step) {
    const int number = parse_int("--step", *step, 0);
    for (const MeasuredStep* one : traced) {
      if (one->step == number) return *one;
    }
    bad_option("--step", fmt::format("{} is not among the traced steps of {}", number, path),
               fmt::format("it has {} to {}", traced.front()->step, traced.back()->step));
  }
  const auto counts = [&](const MeasuredStep* one) {
    return one - run.log.steps.data() >= warm_up_of(run);
  };
  // Where only the warm-up was traced, that is what there is to see.
  if (const auto first = std::find_if(traced.begin(), traced.end(), counts);
      first != traced.end()) {
    traced.erase(traced.begin(), first);
  }
  std::stable_sort(traced.begin(), traced.end(), [](const MeasuredStep* a, const MeasuredStep* b) {
    return a->step_time < b->step_time;
  });
  return *traced[(traced.size() - 1) / 2];
}

}  // namespace penstock
