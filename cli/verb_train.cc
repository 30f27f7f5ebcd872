#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/environment.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/train_settings.h"
#include "cli/verbs.h"
#include "cli/watched_training.h"
#include "core/error.h"
#include "report/result_json.h"
#include "report/training_report.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/run_virtual.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock train plan.json --data corpus.txt --steps 50 --log run.jsonl --timeline
  penstock train plan.json --data corpus.txt --steps 1000 --checkpoints ckpt --checkpoint-every 100
  penstock train other-plan.json --data corpus.txt --steps 1000 --checkpoints ckpt --resume
  penstock train plan.json --virtual --steps 3 --log run.jsonl --timeline
  torchrun --nnodes 2 --nproc-per-node 4 --no-python penstock train plan.json --data corpus.txt
)";

constexpr const char* kAbout =
    "Runs the plan: every rank carries out the very list of actions that the plan file holds, on "
    "LibTorch. Starts the ranks itself, or is one of them under torchrun, mpirun or Slurm. Every "
    "layout sees the same samples in the same order, and starts with the same weights. When a rank "
    "dies or hangs, the others stop and name it (exit code 3).";

// "2026-11-22T01:02:03Z"
std::string now_in_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

struct Request {
  Loaded<PlanFile> plan;
  TrainSettings settings;
  TrainOptions options;
  bool json = false;
};

std::string name_of(TransportKind kind) {
  switch (kind) {
    case TransportKind::kGloo:
      return "gloo";
    case TransportKind::kNccl:
      return "nccl";
    case TransportKind::kLoopback:
      return "loopback";
  }
  return "";
}

RunHeader header_of(const Request& request, std::int64_t first_step) {
  RunHeader header;
  header.model = request.plan.value.model;
  header.plan = request.plan.file.path;
  header.plan_hash = request.plan.file.hash;
  header.tool_version = version();
  header.transport = name_of(request.options.transport);
  header.host = this_machine().host;
  header.started = now_in_utc();
  header.ranks = request.plan.value.plan.devices();
  header.threads_per_rank = request.options.threads_per_rank;
  header.first_step = first_step;
  return header;
}

Answer answer_of(const Request& request, const RunLog& run, const RunEnd& end) {
  const Duration predicted = request.plan.value.prediction.step_time;
  const int exit = end.requested ? kStopped : kYes;
  if (request.json) {
    Json json = Json::object();
    json.set("schema_version", kResultSchemaVersion);
    json.set("verb", "train");
    set_training(json, run, predicted);
    return {to_text(json) + '\n', exit};
  }
  std::string text = training_report(run, predicted);
  if (end.requested) {
    text += fmt::format("stopped on request after step {}{}\n", end.next_step,
                        request.options.checkpoint_folder.empty()
                            ? ""
                            : "; go on with --resume from " + request.options.checkpoint_folder);
  }
  if (!request.options.log.empty() && request.options.timeline) {
    text +=
        fmt::format("next: penstock validate {} {}\n", request.plan.file.path, request.options.log);
  }
  return {text, exit};
}

Answer train_virtual(const Request& request) {
  RunHeader header = header_of(request, 0);
  header.transport = "loopback";
  header.device = "virtual";
  header.library = "none";
  header.precision = "none";
  WatchedTraining watched(header, request.options.steps, request.options.log);
  TrainingSignals signals;
  VirtualRunOptions options;
  options.steps = request.options.steps;
  options.timeline = request.options.timeline;
  options.stretch = request.settings.stretch();
  options.time_out = request.options.time_out;
  options.control = &signals;
  const auto plan = std::make_shared<const PlanFile>(request.plan.value);
  const std::vector<MeasuredStep> steps = run_virtual(plan, options, &watched);
  const auto done = static_cast<std::int64_t>(steps.size());
  return answer_of(request, watched.run(), {done, done < request.options.steps});
}

// The step to go on with: that of the newest complete checkpoint.
std::int64_t first_step_of(const TrainOptions& options, const TrainHooks& hooks) {
  if (!options.resume) return 0;
  const NewestCheckpoint newest = newest_checkpoint(options.checkpoint_folder);
  if (hooks.note) {
    for (const std::string& what : newest.passed_over) hooks.note("passed over: " + what);
  }
  if (!newest.checkpoint) {
    throw_bad_input("--resume: there is no complete checkpoint in " + options.checkpoint_folder +
                    "\nhelp: leave out --resume to begin at step 0");
  }
  return newest.checkpoint->manifest.info.step;
}

void say(const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }

// What runs, after everything that can be known to be wrong beforehand has been refused.
TrainJob checked_job(const Request& request, const TrainHooks& hooks) {
  TrainJob job;
  job.plan = std::make_shared<const PlanFile>(request.plan.value);
  job.plan_hash = request.plan.file.hash;
  job.options = request.options;
  job.first_step = first_step_of(request.options, hooks);
  if (job.first_step >= request.options.steps) {
    throw_bad_input(
        fmt::format("--steps: the checkpoint in {} is of step {} already, and the run "
                    "ends at step {}\nhelp: train for more steps",
                    request.options.checkpoint_folder, job.first_step, request.options.steps));
  }
  check_training(job);
  return job;
}

Answer train_as_rank(const Request& request, const std::optional<LaunchEnvironment>& place) {
  const bool first = !place || place->rank == 0;
  TrainHooks hooks;
  if (first) hooks.note = say;
  const TrainJob job = checked_job(request, hooks);
  RunHeader header = header_of(request, job.first_step);
  header.device = words_of_device(request.options.device);
  header.library = library_words();
  header.precision = name_of(job.plan->description->precision);
  std::optional<WatchedTraining> watched;
  if (first) {
    watched.emplace(header, request.options.steps, request.options.log);
    hooks.observer = &*watched;
    if (job.first_step > 0) say(fmt::format("going on at step {}", job.first_step));
  }
  TrainingSignals signals;
  hooks.control = &signals;
  const RunEnd end = place ? train_rank(job, *place, hooks) : train_threads(job, hooks);
  if (!first) return {"", end.requested ? kStopped : kYes};
  return answer_of(request, watched->run(), end);
}

// All ranks of the plan as processes of this machine, which do the rest.
Answer start_ranks(const Request& request, const Arguments& arguments,
                   const Environment& environment) {
  static_cast<void>(checked_job(request, {}));  // so that it is said once, not by every rank
  Arguments rank_arguments{"train"};
  rank_arguments.insert(rank_arguments.end(), arguments.begin(), arguments.end());
  LaunchOptions options;
  options.ranks = request.plan.value.plan.devices();
  options.environment = environment;
  options.serve = serve_job_store;
  options.start = start_program("/proc/self/exe", rank_arguments);
  const LaunchResult result = launch(options);
  const std::optional<RankEnd> failure = result.first_failure();
  if (!failure) return {};
  if (failure->signal != 0) {
    throw Error(ErrorKind::kMissingResource,
                words_of(*failure) +
                    ", and the run with it\nhelp: go on with --resume from the "
                    "newest checkpoint, if there is one");
  }
  return {"", failure->exit_code};  // the rank has said why
}

}  // namespace

Answer run_train(const Arguments& arguments) {
  Request request;
  std::string path;
  Options options("train PLAN --data FILE [OPTIONS]", kAbout, kExamples);
  options.heading("What runs");
  options.positional("PLAN", "a plan file whose profile penstock profile made", path);
  request.settings.declare(options);
  options.flag("--json", "the run as one JSON object", request.json);
  if (auto help = options.parse(arguments)) return {*help};

  request.options = request.settings.train_options();
  request.plan = load_plan(path);
  if (request.settings.sleeps()) return train_virtual(request);
  static_cast<void>(request.settings.stretch());
  const Environment environment = process_environment();
  const std::optional<LaunchEnvironment> place =
      read_launch_environment(environment, request.settings.launch_flags());
  if (request.options.transport == TransportKind::kLoopback) return train_as_rank(request, {});
  if (place) {
    end_with_launcher(environment);
    return train_as_rank(request, place);
  }
  if (request.plan.value.plan.devices() == 1) return train_as_rank(request, {});
  return start_ranks(request, arguments, environment);
}

}  // namespace penstock
