// `penstock train` is the launcher, or one rank, or all ranks as threads. Everything that can be
// known to be wrong beforehand is refused before a rank starts, and said once: by the launcher,
// else by rank 0.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/io/document_run.h"
#include "cli/io/documents_job.h"
#include "cli/io/environment.h"
#include "cli/io/files.h"
#include "cli/io/launch_ranks.h"
#include "cli/io/resume_run.h"
#include "cli/io/watched_training.h"
#include "cli/options/options.h"
#include "cli/options/train_settings.h"
#include "cli/parts/book_plan.h"
#include "cli/parts/document_plans.h"
#include "cli/parts/jobs_run.h"
#include "cli/parts/open_plan_store.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "morphing/checkpoint_interval.h"
#include "report/result_json.h"
#include "report/training_report.h"
#include "report/words.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "runtime_bridge/find_archive.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/launcher.h"
#include "runtime_bridge/plan_message.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/run_virtual.h"
#include "runtime_bridge/stored_plans.h"
#include "runtime_bridge/surplus_rank.h"
#include "runtime_bridge/torch/train_rank.h"
#include "runtime_bridge/training_data.h"

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

struct Request {
  Loaded<PlanFile> plan;  // the first
  PlanSequence plans;
  TrainSettings settings;
  TrainOptions options;
  Environment environment;
  std::optional<LaunchEnvironment> place;  // of this rank, if it is one of several
  bool has_launcher = false;               // of ours, which has checked the job and said all notes
  bool surplus = false;                    // a rank that the plan of a book has no use for
  bool json = false;
};

// Whether all ranks are threads of this process: nothing moves between processes then.
bool runs_as_threads(const Request& request) {
  return request.options.transport == TransportKind::kLoopback ||
         (!request.place && request.plan.value.plan.devices() == 1);
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

RunHeader header_of(const Request& request, std::int64_t first_step) {
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

WatchedTraining::Files files_of(const Request& request) {
  return {request.options.log, request.options.tensorboard, request.settings.slow_watch().file()};
}

// `documents`: where there are any.
Answer answer_of(const Request& request, const WatchedTraining& watched,
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

Answer train_virtual(const Request& request, TrainingSignals& signals, Screen screen) {
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

void say(const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }
void say_note(const std::string& what) { say("note: " + what); }
void say_nothing(const std::string& /*what*/) {}

// Several launchers may have left their variables.
void say_who_is_believed(const LaunchEnvironment& place) {
  for (const std::string& other : place.ignored) {
    say_note("this is rank " + std::to_string(place.rank) + " of " + place.believed +
             "; the variables that " + other + " left in the environment are ignored");
  }
}

// All whole batches, where nothing was said.
void settle_evaluation(TrainJob& job, int global_batch) {
  EvaluationOptions& evaluation = job.options.evaluation;
  if (evaluation.every == 0) return;
  const std::int64_t samples = job.data.validation_samples, there = samples / global_batch;
  if (there == 0 || evaluation.batches > there) {
    throw_bad_input(fmt::format(
        "--eval-batches: an evaluation of {} takes {} samples, but the validation data hold {}\n"
        "help: {}",
        evaluation.batches > 1 ? fmt::format("{} batches", evaluation.batches) : "one batch",
        std::max<std::int64_t>(evaluation.batches, 1) * global_batch, samples,
        there > 0 ? fmt::format("the data hold {} whole batches", there)
                  : "give more validation data, or plan for a smaller --global-batch"));
  }
  if (evaluation.batches == 0) evaluation.batches = there;
}

// Who reads what of an archive, and why a start may take longer than it must.
std::string note_on_archive(const PlanFile& plan) {
  const ModelDescription& model = model_of(plan);
  if (model.family != ModelFamily::kTorchScript || model.cutpoints.empty()) return "";
  if (model.division && model.division->tokens == plan.plan.sequence_length) {
    return "each rank reads only its own sections of " + model.archive +
           "; penstock profile has checked that together they compute what the whole model does";
  }
  return fmt::format(
      "rank 0 reads all of {} and checks that its sections together compute what the whole model "
      "does, because the profile was not checked for {} tokens; profile it with --sequence-length "
      "{} to start faster",
      model.archive, plan.plan.sequence_length, plan.plan.sequence_length);
}

// The side of a rank of the store that plans come from; nothing where they are made here.
// `announces`: tells the planner of the job, as one process does.
std::shared_ptr<StoredPlans> stored_plans(const Request& request, const TrainJob& job,
                                          const DocumentPlans& plans, bool announces) {
  const DocumentOptions& documents = request.settings.documents();
  if (!documents.store().is_given()) return nullptr;
  const DocumentPlanning how = documents.planning();
  StoredPlansOptions options;
  options.name = documents.store().job();
  options.announces = announces;
  options.wait = documents.plan_wait(request.options.time_out);
  PlanJob& says = options.job = files_of_job(request.plan.value, plans, job.data);
  says.run = fmt::format("{}, start {}", process_words(), steady_now().time_since_epoch().count());
  says.tokens_per_batch = job.options.data.tokens_per_batch;
  says.seed = job.options.training.seed;
  says.longest = job.options.data.longest;
  says.pad_to = how.pad_to;
  says.replays = how.replays;
  says.schedules = how.schedules;
  says.first_step = says.wanted = job.first_step;
  says.first_taken = job.first_taken;
  says.end_step = job.options.steps;
  says.ahead = how.ahead;
  return std::make_shared<StoredPlans>(
      open_plan_store(documents.store().address(request.environment)), std::move(options),
      layout_text(request.plan.value), [batches = job.data.documents](std::int64_t step) {
        return fingerprint_of_documents(batches->of_step(step), batches->lengths_of_step(step));
      });
}

PlannedStep plan_of_step(const DocumentPlans& plans, const TrainJob& job, std::int64_t step) {
  try {
    return plans.plan(job.data.documents->lengths_of_step(step));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the plan of step {}: {}", step, error.what()));
  }
}

// Documents may be as long as they have a price.
void settle_longest(const DocumentPlans& plans, const DocumentPlanning& asked, DataOptions& data) {
  data.longest = plans.longest();
  if (!asked.longest) return;
  if (*asked.longest > data.longest) {
    throw_bad_input(
        fmt::format("--max-length: {} is longer than what was measured: {}\nhelp: shorten it, or "
                    "measure longer sequences (penstock profile --sequence-length ... --resume)",
                    *asked.longest, data.longest));
  }
  data.longest = *asked.longest;
}

// What runs, after everything that can be known to be wrong beforehand has been refused: by the
// launcher if there is one, so that it is said once. `plans`: of documents.
TrainJob checked_job(const Request& request, const DocumentPlans* plans) {
  TrainJob job;
  job.plans = request.plans;
  job.options = request.options;
  if (plans != nullptr) {
    settle_longest(*plans, request.settings.documents().planning(), job.options.data);
  }
  if (!request.has_launcher) check_training(job);
  const PlanFile& plan = *job.plans.front().plan;
  request.settings.require_optimizer(model_of(plan).optimizer);
  job.data = read_training_data(job.options.data, model_of(plan), plan.plan.sequence_length);
  const bool speaks = !request.has_launcher && (!request.place || request.place->rank == 0);
  if (speaks) check_token_ids(job.data);
  const auto note = speaks ? say_note : say_nothing;
  if (const std::string what = note_on_archive(plan); !what.empty()) note(what);
  if (is_to_begin(job.options)) {
    note("no checkpoint in " + job.options.checkpoint_folder + " yet: the run begins at step 0");
    job.options.training = request.settings.training({});
  } else if (job.options.resume) {
    resume(job, request.settings, note);
  }
  settle_evaluation(job, plan.plan.global_batch);
  job.data.begin({job.first_step, job.first_taken, plan.plan.global_batch},
                 job.options.training.seed);
  if (plans == nullptr) return job;
  if (job.data.document_set->cut() > 0) {
    note(fmt::format("{} of {} are longer than {} tokens and were cut",
                     with_commas(job.data.document_set->cut()),
                     count_of(job.data.document_set->documents(), "document"),
                     with_commas(job.options.data.longest)));
  }
  // What does not fit is said before ranks are started, and that a store is not there.
  if (speaks) {
    static_cast<void>(plan_of_step(*plans, job, job.first_step));
    if (const auto stored = stored_plans(request, job, *plans, false)) stored->require_store();
  }
  return job;
}

std::unique_ptr<DocumentPlans> plans_of(const Request& request) {
  if (request.options.data.documents.empty()) return nullptr;
  return document_plans(request.plan, request.settings.documents().planning());
}

// `stored`: where plans come from a store.
std::shared_ptr<PlansAhead> plans_ahead(const Request& request, const TrainJob& job,
                                        const DocumentPlans& plans,
                                        const std::shared_ptr<StoredPlans>& stored) {
  const DocumentPlanning how = request.settings.documents().planning();
  PlansAheadOptions options{job.first_step, job.options.steps, how.threads, how.ahead};
  if (stored == nullptr) {
    return std::make_shared<PlansAhead>(
        [&](std::int64_t step) { return plan_of_step(plans, job, step); }, options);
  }
  options.stop = [stored] { stored->stop(); };
  if (!request.settings.documents().plans_if_late()) {
    return std::make_shared<PlansAhead>([stored](std::int64_t step) { return stored->plan(step); },
                                        options);
  }
  return std::make_shared<PlansAhead>(
      [&, stored](std::int64_t step) {
        std::string why;
        if (auto planned = stored->plan_if_there(step, why)) return *std::move(planned);
        say_note(fmt::format("the plan of step {} is late, so it is made here: {}", step,
                             why.substr(0, why.find('\n'))));
        return plan_of_step(plans, job, step);
      },
      options);
}

Answer train_as_rank(const Request& request, TrainingSignals& signals, Screen screen) {
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
Answer train_here(const Request& request, TrainingSignals& signals, Screen screen) {
  for (;;) {
    try {
      return train_as_rank(request, signals, screen);
    } catch (const DamagedCheckpoint& damage) {
      say_note(damage.what());
    }
  }
}

// A rank that has nothing to do ends when the others do.
Answer stay_beside(const Request& request, TrainingSignals& signals) {
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
Answer start_ranks(const Request& request, const std::optional<LaunchedPart>& part,
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

void find_archive_of(PlanFile& plan, const std::string& path) {
  if (plan.description) find_archive(*plan.description, path);
}

// A file that is named twice is read once.
void add_later_plans(const std::vector<TrainSettings::LaterPlan>& later, PlanSequence& plans) {
  for (const TrainSettings::LaterPlan& each : later) {
    const auto known = std::ranges::find(plans, each.path, &PlanFromStep::path);
    if (known != plans.end()) {
      PlanFromStep again = *known;
      again.first_step = each.first_step;
      plans.push_back(std::move(again));
      continue;
    }
    Loaded<PlanFile> plan = load_plan(each.path);
    find_archive_of(plan.value, each.path);
    plans.push_back({each.first_step, std::make_shared<const PlanFile>(std::move(plan.value)),
                     each.path, plan.file.hash});
  }
}

// What the environment says, but for --ranks of a book: alone it says how many may be started here.
std::optional<LaunchEnvironment> read_place(const Request& request, bool has_book) {
  LaunchFlags flags = request.settings.launch_flags();
  if (has_book && !flags.rank && request.environment.find("RANK") == request.environment.end()) {
    flags.ranks.reset();
  }
  return read_launch_environment(request.environment, flags);
}

// All ranks of a job find the same plan, since they find the same number.
Loaded<PlanFile> plan_for_ranks(const Request& request, const std::string& book) {
  const LaunchFlags flags = request.settings.launch_flags();
  if (flags.ranks) return plan_from_book(book, *flags.ranks);
  const std::optional<LaunchEnvironment> place = read_place(request, true);
  if (place) return plan_from_book(book, place->ranks);
  throw_bad_input(
      "--book: the number of ranks is not known\nhelp: start it under torchrun, mpirun or Slurm, "
      "or give --ranks N to start up to N ranks here");
}

// Ranks that the plan has no use for stay beside the others.
void leave_out_surplus(Request& request) {
  const int used = request.plan.value.plan.devices();
  request.surplus = request.place->rank >= used;
  if (request.place->rank == 0 && used < request.place->ranks) {
    say_note(fmt::format("{} of the {} ranks train by the plan of {}; the others wait", used,
                         request.place->ranks, request.plan.file.path));
  }
  request.place->ranks = used;
}

// Each in a process of its own.
Answer train_jobs(const Request& request, bool has_plan, TrainingSignals& signals, Screen screen) {
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
  TrainingSignals signals;
  Request request;
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
  options.remark({"epochs", "max-steps", "num-steps", "train-iters", "iterations"},
                 "write --steps N; a step is one global batch of the plan");
  options.remark({"batch", "batch-size", "bs", "local-batch-size", "per-device-batch-size", "gbs",
                  "mbs", "global-batch", "micro-batch-size"},
                 "the plan has the batch: penstock plan ... --global-batch N --pin mbs=N");
  options.remark({"gpus", "n-gpus", "num-gpus", "nodes", "nnodes", "np", "nproc", "nproc-per-node"},
                 "the plan says how many ranks there are; with --book, --ranks N chooses the plan "
                 "for N of them");
  options.remark({"model", "model-name", "model-path", "config"},
                 "the plan names the model, by the profile that it was made from");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (request.settings.jobs())
    return train_jobs(request, path.has_value() || book, signals, screen);
  request.options = request.settings.train_options();
  if (path.has_value() == book.has_value()) {
    throw_bad_input(path ? "--book: a plan file is given as well\nhelp: leave out one of the two"
                         : "PLAN: missing\nhelp: usage: penstock train PLAN --data FILE [OPTIONS]");
  }
  if (request.settings.sleeps() && !book) request.settings.refuse_number_of_ranks();
  request.environment = process_environment();
  request.plan = book ? plan_for_ranks(request, *book) : load_plan(*path);
  if (!request.settings.sleeps()) find_archive_of(request.plan.value, path ? *path : *book);
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
  const bool sleeps = request.settings.sleeps();
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
