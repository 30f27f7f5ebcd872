// `penstock train` is the launcher, or one rank, or all ranks as threads. Everything that can be
// known to be wrong beforehand is refused before a rank starts, and said once: by the launcher,
// else by rank 0.
#include <algorithm>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/io/document_run.h"
#include "cli/io/environment.h"
#include "cli/io/files.h"
#include "cli/io/launch_ranks.h"
#include "cli/io/resume_run.h"
#include "cli/io/watched_training.h"
#include "cli/options/options.h"
#include "cli/options/train_settings.h"
#include "cli/parts/checked_job.h"
#include "cli/parts/jobs_run.h"
#include "cli/parts/torch_program.h"
#include "cli/parts/train_request.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "morphing/checkpoint_interval.h"
#include "report/result_json.h"
#include "report/training_report.h"
#include "report/words.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/run_virtual.h"
#include "runtime_bridge/stored_plans.h"
#include "runtime_bridge/surplus_rank.h"
#include "runtime_bridge/torch/train_rank.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock train plan.json --data corpus.txt --steps 50 --log run.jsonl --timeline
  penstock train plan.json --data corpus.txt --steps 1000 --checkpoints ckpt --checkpoint-every 100
  penstock train plan.json --data corpus.txt --steps 1000 --lr-schedule cosine --warmup-steps 50
  penstock train other-plan.json --data corpus.txt --steps 1000 --checkpoints ckpt --resume
  penstock train plan.json --then 500:other-plan.json --data corpus.txt --steps 1000
  penstock train plan.json --data 'tokens/*.bin' --dtype uint16 --steps 1000
  penstock train plan.json --data corpus.txt --steps 1000 --slow-ranks --slow-machines slow.out
  penstock train plan.json --documents docs.jsonl --tokens-per-batch 16384 --steps 1000
  penstock train plan.json --documents docs.jsonl --tokens-per-batch 16384 --plans-from rediss://10.0.0.1 --job gpt-7
  penstock train --jobs jobs.json --ranks 2 --jobs-folder results
  penstock train --spill spilled.json --data corpus.txt --host-gb-per-s 2
  penstock train plan.json --virtual --steps 3 --log run.jsonl --timeline
  torchrun --nnodes 1:4 --no-python penstock train --book book.json --data corpus.txt --checkpoints ckpt --resume-if-any
  torchrun --nnodes 2 --nproc-per-node 4 --no-python penstock train plan.json --data corpus.txt
)";

constexpr const char* kAbout =
    "Trains a model by a plan, with LibTorch: every rank runs exactly the list of actions in the "
    "plan file. The command starts all ranks itself; under torchrun, mpirun or Slurm it is one of "
    "them. Every layout gets the same samples in the same order and the same initial weights. When "
    "a rank dies or hangs, the others stop and name it (exit code 3).";

// "2026-11-22T01:02:03Z"
std::string now_in_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

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

RunHeader header_of(const TrainRequest& request, std::int64_t first_step) {
  RunHeader header;
  header.model = request.plan.value.model;
  header.plan = request.plan.file.path;
  header.plan_hash = request.plan.file.hash;
  header.tool_version = version();
  header.transport =
      name_of(runs_as_threads(request) ? TransportKind::kLoopback : request.options.transport);
  header.host = this_machine().host;
  header.started = now_in_utc();
  header.ranks = request.plan.value.plan.devices();
  header.threads_per_rank = request.options.threads_per_rank;
  header.first_step = first_step;
  return header;
}

// Each plan once.
std::vector<PredictedPlan> predictions_of(const PlanSequence& plans) {
  std::vector<PredictedPlan> predictions;
  for (const PlanFromStep& each : plans) {
    if (std::ranges::find(predictions, each.hash, &PredictedPlan::hash) != predictions.end()) {
      continue;
    }
    predictions.push_back({each.path, each.hash, each.plan->prediction.step_time});
  }
  return predictions;
}

WatchedTraining::Files files_of(const TrainRequest& request) {
  return {request.options.log, request.options.tensorboard, request.settings.slow_watch().file()};
}

// `documents`: where there are any.
Answer answer_of(const TrainRequest& request, const WatchedTraining& watched,
                 const DocumentRun* documents, const RunEnd& end, Screen screen) {
  const RunLog& run = watched.run();
  std::vector<PredictedPlan> predicted = predictions_of(request.plans);
  if (documents != nullptr) predicted.front().step_time = documents->predicted();
  const int exit = end.requested ? kStopped : kYes;
  if (request.json) {
    Json json = answer_json("train");
    set_training(json, run, predicted);
    if (watched.watch()) json.set("slow_ranks", to_json(watched.slow_ranks()));
    return json_answer(json, exit);
  }
  std::string text = training_report(run, predicted);
  if (documents != nullptr) text += documents->text();
  if (watched.watch()) {
    text += slow_ranks_text(watched.slow_ranks(), watched.watch()->windows(), screen);
  }
  if (end.requested) {
    text += fmt::format("stopped on request after step {}{}\n", end.next_step,
                        request.options.checkpoint_folder.empty()
                            ? ""
                            : "; continue with --resume from " + request.options.checkpoint_folder);
  }
  if (!request.options.log.empty() && request.options.timeline && documents == nullptr) {
    text +=
        fmt::format("next: penstock validate {} {}\n", request.plan.file.path, request.options.log);
  }
  return report_answer(text, exit);
}

Answer train_virtual(const TrainRequest& request, TrainingSignals& signals, Screen screen) {
  RunHeader header = header_of(request, 0);
  header.transport = "loopback";
  header.device = "virtual";
  header.library = "none";
  header.precision = "none";
  WatchedTraining watched(header, request.plans, request.options.steps, files_of(request),
                          request.settings.slow_watch().rule());
  signals.keep_interrupts();
  VirtualRunOptions options;
  options.steps = request.options.steps;
  options.timeline = request.options.timeline;
  options.stretch = request.settings.stretch();
  options.jumps = request.settings.jumps();
  options.time_out = request.options.time_out;
  options.slow = request.settings.slow_ranks_to_try();
  options.control = &signals;
  require_one_run(request.plans);
  PlansByStep source(request.plans);
  const std::vector<MeasuredStep> steps = run_virtual(source, options, &watched);
  const auto done = std::ssize(steps);
  return answer_of(request, watched, nullptr, {done, done < request.options.steps}, screen);
}

Answer train_as_rank(const TrainRequest& request, TrainingSignals& signals, Screen screen) {
  const bool first = !request.place || request.place->rank == 0;
  const std::unique_ptr<DocumentPlans> plans = plans_of(request);
  TrainJob job = checked_job(request, plans.get());
  // Its threads begin before ranks bind themselves to processors.
  std::shared_ptr<StoredPlans> stored;
  std::shared_ptr<PlansAhead> ahead;
  if (plans) {
    stored = stored_plans(request, job, *plans, first);
    ahead = plans_ahead(request, job, *plans, stored);
  }
  job.source = ahead;
  RunHeader header = header_of(request, job.first_step);
  header.device = words_of_device(request.options.device);
  header.library = library_words();
  header.precision = name_of(job.plans.front().plan->description->precision);
  TrainHooks hooks;
  hooks.note = say_note;
  hooks.interval = background_interval;
  std::optional<WatchedTraining> watched;
  std::optional<DocumentRun> documents;
  if (first) {
    watched.emplace(header, request.plans, request.options.steps, files_of(request),
                    request.settings.slow_watch().rule());
    if (job.kept_step) watched->add_if_missing(kept_step_of(job));
    hooks.observer = &*watched;
    if (ahead) {
      documents.emplace(*watched, *ahead, *job.data.documents,
                        request.settings.documents().statistics(), job.first_step);
      hooks.observer = &*documents;
    }
  }
  signals.keep_interrupts();
  hooks.control = &signals;
  const RunEnd end =
      runs_as_threads(request) ? train_threads(job, hooks) : train_rank(job, *request.place, hooks);
  if (!first) return {"", end.requested ? kStopped : kYes};
  if (stored && !end.requested) stored->end();  // one that was asked to stop will be resumed
  return answer_of(request, *watched, documents ? &*documents : nullptr, end, screen);
}

// All ranks in this process: where their checkpoint is damaged, there may be one before it.
Answer train_here(const TrainRequest& request, TrainingSignals& signals, Screen screen) {
  for (;;) {
    try {
      return train_as_rank(request, signals, screen);
    } catch (const DamagedCheckpoint& damage) {
      say_note(damage.what());
    }
  }
}

// A rank that has nothing to do ends when the others do.
Answer stay_beside(const TrainRequest& request, TrainingSignals& signals) {
  signals.keep_interrupts();
  SurplusRank options;
  options.ranks = request.place->ranks;
  options.is_stopped = [&signals] { return signals.requested() != RunRequest::kGoOn; };
  switch (stay_beside_ranks(*request.place, request.options.time_out, options)) {
    case SurplusEnd::kFinished:
      return {"", kYes};
    case SurplusEnd::kStopped:
      return {"", kStopped};
    case SurplusEnd::kFailed:
      break;
  }
  return {"", kEnvironment};  // the ranks have said why
}

// Ranks as processes, which do the rest.
Answer start_ranks(const TrainRequest& request, const std::optional<LaunchedPart>& part,
                   const Arguments& arguments, TrainingSignals& signals) {
  const std::unique_ptr<DocumentPlans> plans = plans_of(request);
  TrainJob job = checked_job(request, plans.get());  // said once, not by every rank
  RanksToLaunch ranks;
  ranks.ranks = request.plan.value.plan.devices();
  ranks.part = part;
  ranks.environment = request.environment;
  ranks.arguments = {"train"};
  ranks.arguments.insert(ranks.arguments.end(), arguments.begin(), arguments.end());
  ranks.is_stopped = [&signals] { return signals.requested() != RunRequest::kGoOn; };
  int exit = launch_ranks(ranks, request.options);
  // The ranks have found the checkpoint damaged that they were to go on from: there may be another.
  while (exit == kEnvironment && !part && job.resumes &&
         was_set_aside(job.options.checkpoint_folder + "/" + checkpoint_name(job.first_step))) {
    job = checked_job(request, plans.get());
    exit = launch_ranks(ranks, request.options);
  }
  return {"", exit};
}

// Each in a process of its own.
Answer train_jobs(const TrainRequest& request, bool has_plan, TrainingSignals& signals,
                  Screen screen) {
  JobsToRun jobs;
  jobs.file = *request.settings.jobs();
  if (has_plan) {
    throw_bad_input("--jobs: a plan is given as well\nhelp: leave out one of the two");
  }
  jobs.folder = request.settings.jobs_folder();
  jobs.ranks = request.settings.ranks_of_jobs();
  jobs.json = request.json;
  jobs.is_stopped = [&signals] { return signals.requested() != RunRequest::kGoOn; };
  signals.keep_interrupts();
  return run_jobs_of_file(jobs, screen);
}

}  // namespace

Answer run_train(const Arguments& arguments, Screen screen) {
  TrainRequest request;
  std::optional<std::string> path, book;
  Options options("train PLAN --data FILE [OPTIONS]", kAbout, kExamples);
  options.heading("What runs");
  options.positional_if_any("PLAN", "a plan that was made from a profile of penstock profile",
                            path);
  options.option("--book", "FILE",
                 "instead of PLAN, a book of plans (penstock plan --gpus 1..8 -o book.json): uses "
                 "the plan for the number of ranks",
                 book);
  request.settings.declare(options);
  RanksHereSettings machine;
  machine.declare(options);
  options.flag("--json", "print the run as one JSON object", request.json);
  options.remark({"max-steps", "num-steps", "train-iters", "iterations", "num-iterations"},
                 "write --steps {N}; a step is one global batch of the plan");
  options.remark({"epochs", "hours", "time", "max-time", "duration", "tokens"},
                 "write --steps N; a step is one global batch of the plan");
  options.remark({"gpu", "cuda", "use-gpu", "use-cuda"},
                 "write --device cuda --transport nccl: one GPU for every rank");
  options.remark(
      {"node-rank", "machine-rank", "global-rank", "rdzv-endpoint", "rdzv-backend", "rdzv-id"},
      "every rank is told by --rank N --master HOST:PORT, or is started by torchrun, "
      "mpirun or srun, whose variables are read");
  options.remark({"config-file", "main-process-port", "main-process-ip", "script", "module",
                  "deepspeed-config", "hostfile"},
                 "leave it out: no script is launched, a plan is trained here: penstock train "
                 "plan.json --data FILE; for a trainer of your own penstock export plan.json --to "
                 "deepspeed (or megatron, torchtitan, pytorch) -o job writes the files");
  options.remark({"tokenizer", "tokenizer-path", "tokenizer-type", "tokenizer-name"},
                 "leave it out: --data takes token ids (.npy, or integers with --dtype uint16); of "
                 "a text file the bytes are the tokens");
  options.remark({"resume-from", "resume-from-checkpoint", "load-checkpoint", "init-from", "load"},
                 "write --checkpoints {FOLDER} --resume, which goes on from the newest checkpoint "
                 "in that folder");
  options.remark({"num-workers", "dataloader-num-workers", "prefetch", "prefetch-factor"},
                 "leave it out: every rank reads its own samples, with no process for it");
  options.remark({"log-dir", "logdir", "logging-dir"},
                 "write --tensorboard {FOLDER} for event files; --log FILE writes a line per step");
  options.remark({"batch", "batch-size", "bs", "local-batch-size", "per-device-batch-size", "gbs",
                  "mbs", "global-batch", "micro-batch-size"},
                 "the plan has the batch: penstock plan ... --global-batch N --pin mbs=N");
  options.remark(
      {"gpus", "n-gpus", "num-gpus", "nodes", "nnodes", "np", "nproc", "nproc-per-node"},
      "leave it out: the plan says how many ranks there are, and penstock train plan.json "
      "--data FILE starts them (with --book, --ranks N chooses the plan for N of them); "
      "for another trainer penstock export plan.json --to megatron -o job writes the "
      "files");
  options.remark({"model", "model-name", "model-path", "config"},
                 "the plan names the model, by the profile that it was made from");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (request.settings.jobs()) {
    TrainingSignals signals;
    return train_jobs(request, path.has_value() || book, signals, screen);
  }
  request.options = request.settings.train_options();
  if (path.has_value() == book.has_value()) {
    throw_bad_input(path ? "--book: a plan file is given as well\nhelp: leave out one of the two"
                         : "PLAN: missing\nhelp: usage: penstock train PLAN --data FILE [OPTIONS]");
  }
  if (!book && !request.settings.ranks_of_types().empty()) {
    bad_option("--ranks-of", "a plan file says on which types its ranks are",
               "leave it out, or give a --book that counts device types");
  }
  const bool sleeps = request.settings.sleeps();
  if (sleeps && !book) request.settings.refuse_number_of_ranks();
  if (!sleeps) go_on_with_torch();
  TrainingSignals signals;
  request.environment = process_environment();
  request.plan = book ? plan_for_ranks(request, *book) : load_plan(*path);
  if (!sleeps) find_archive_of(request.plan.value, path ? *path : *book);
  request.plans = {{0, std::make_shared<const PlanFile>(request.plan.value), request.plan.file.path,
                    request.plan.file.hash}};
  add_later_plans(request.settings.later_plans(), request.plans);
  if (request.settings.spills() && !request.plan.value.program.has_slots()) {
    throw_bad_input(
        "--spill: " + request.plan.file.path +
        " is not a plan of plan --spill: it keeps all weights on the devices\nhelp: make one with "
        "penstock plan --gpus 1 --spill -o plan.json, or leave out --spill");
  }
  const std::optional<LaunchedPart> part = machine.part(request.plan.value.plan.devices());
  // A launcher among several is no rank, whatever the environment of who started it says.
  const bool launches = part && !has_launcher(request.environment);
  if (!launches) request.place = read_place(request, book.has_value());
  if (book && request.place) leave_out_surplus(request);
  if (sleeps || request.options.transport == TransportKind::kLoopback) {
    machine.refuse("the ranks are threads of one process");
    request.settings.refuse_other_ranks(request.place);
    request.place.reset();
  }
  if (sleeps) return train_virtual(request, signals, screen);
  if (request.place) {
    request.has_launcher = end_with_launcher(request.environment);
    if (!request.has_launcher && request.place->rank == 0) say_who_is_believed(*request.place);
  }
  if (request.surplus) return stay_beside(request, signals);
  if (request.place) return train_as_rank(request, signals, screen);
  if (!launches && runs_as_threads(request)) return train_here(request, signals, screen);
  return start_ranks(request, part, arguments, signals);
}

}  // namespace penstock
