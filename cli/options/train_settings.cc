// What a run is told. What a checkpoint may still change is checked when it has been read; what
// the run would not look at is refused in train_refusals.cc.
#include "cli/options/train_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "runtime_bridge/resume.h"

namespace penstock {
namespace {

TransportKind parse_transport(const std::string& name) {
  return parse_word<TransportKind>("--transport", name,
                                   {{"gloo", TransportKind::kGloo},
                                    {"nccl", TransportKind::kNccl},
                                    {"loopback", TransportKind::kLoopback}},
                                   "transport ");
}

std::optional<int> parse_rank(const std::string& option, const std::optional<std::string>& text,
                              int least) {
  if (!text) return std::nullopt;
  return parse_int(option, *text, least);
}

std::vector<std::string> parse_changes(const std::string& text) {
  const std::vector<std::string>& known = changeable_settings();
  std::vector<std::string> names = parse_list("--may-change", text);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) {
      unknown_word("--may-change", name, known, "setting ");
    }
  }
  return names;
}

}  // namespace

void TrainSettings::declare(Options& options) {
  options.option("--jobs", "FILE",
                 "instead of PLAN, several jobs (penstock.jobs/1), each with a \"plan\" and its "
                 "options under \"train\". They share the --ranks N of this machine as penstock "
                 "multi schedules them; a job that fails does not stop the others",
                 jobs_);
  options.option(
      "--jobs-folder", "FOLDER",
      "with --jobs: folder for the logs, checkpoints and messages of every job; default jobs",
      jobs_folder_);
  options.repeated("--then", "STEPS:PLAN",
                   "change to another plan of the same model and number of ranks after this many "
                   "steps, without a restart; may be given several times",
                   then_);
  options.heading("What to train on");
  options.repeated(
      "--data", "FILE",
      "a text file, whose bytes are the tokens; or token ids: a .npy file, or plain integers with "
      "--dtype. Token ids are drawn without replacement and shuffled again in every epoch. May be "
      "given several times, also as a pattern in quotes: 'tokens/*.bin'",
      data_);
  options.option("--dtype", "TYPE",
                 "type of the token ids in --data, plain little-endian integers: uint16, int32, "
                 "int64, uint8 or uint32",
                 dtype_);
  options.choices({"uint16", "int32", "int64", "uint8", "uint32"});
  options.repeated(
      "--labels", "FILE",
      "labels for a model that takes images: a .npy file of integers for each file of --data "
      "(.npy, [samples, channels, height, width]). A .npz file holds both, as images and labels",
      labels_);
  options.option("--steps", "N", "number of optimizer steps; default 10", steps_);
  options.repeated("--validation-data", "FILE",
                   "data for evaluations, in the same form as --data; also as a pattern",
                   validation_data_);
  options.repeated("--validation-labels", "FILE",
                   "labels of --validation-data, in the same form as --labels", validation_labels_);
  options.option("--validation-fraction", "X",
                 "or use this share at the end of --data for evaluations and not for training; for "
                 "example 0.01",
                 validation_fraction_);
  options.option("--eval-every", "N",
                 "compute the loss on the validation data after every N steps and after the last "
                 "one (forward only, over the same pipeline)",
                 eval_every_);
  options.option("--eval-batches", "K",
                 "number of global batches in an evaluation, the same ones every time; default: "
                 "all whole ones",
                 eval_batches_);
  options.option(
      "--seed", "N",
      "seed of the initial weights and of the order of samples; default 1, or the checkpoint's",
      seed_);
  optimizer_.declare(options);
  documents_.declare(options);
  options.heading("Where the ranks run");
  options.option("--transport", "NAME",
                 "gloo: processes, on CPUs (default); nccl: processes, one GPU each; loopback: all "
                 "ranks as threads of this process",
                 transport_);
  options.choices({"gloo", "nccl", "loopback"});
  options.option("--device", "NAME", "cpu (default) or cuda", device_);
  options.choices({"cpu", "cuda"});
  options.flag("--spill",
               "PLAN comes from plan --spill: the model stays in host memory, and two parts of it "
               "at a time are on the device. Other plans are refused",
               spill_);
  options.option("--host-gb-per-s", "X",
                 "with a spilled plan on the CPU: copies between device and host take as long as "
                 "at this speed, each way; default: the speed of memory",
                 host_bandwidth_);
  options.option("--pilot", "PERCENT",
                 "with a spilled plan: one step is tried first with so much less of the device, "
                 "and the run ends there if it does not fit",
                 pilot_);
  options.option("--threads-per-rank", "N", "threads that LibTorch uses in every rank; default 1",
                 threads_);
  options.flag("--no-pinning", "do not bind each rank to a processor of its own", no_pinning_);
  options.option("--time-out", "TIME",
                 "a rank that does nothing for this long counts as lost; default 60s", time_out_);
  options.option("--rank", "N",
                 "number of this rank; default: from torchrun, mpirun or Slurm. Without them, all "
                 "ranks are started here",
                 rank_);
  options.option("--ranks", "N",
                 "number of ranks of the job: that of the plan; with --book it selects the plan",
                 ranks_);
  options.option("--ranks-of", "TYPE=N,...",
                 "with a --book that counts device types: how many ranks are on each, in the order "
                 "in which the launcher numbers them (a100-40gb=8,v100-16gb=16)",
                 ranks_of_);
  options.option("--local-rank", "N", "number of this rank on its machine, which selects its GPU",
                 local_rank_);
  options.option("--master", "HOST:PORT", "address of rank 0", master_);
  options.flag("--virtual",
               "train no model: ranks are threads that sleep for the predicted time of every "
               "action, so that a small machine can try out many ranks",
               virtual_);
  options.option("--stretch", "N",
                 "with --virtual: everything takes N times as long, and measured times are divided "
                 "by N; default 1",
                 stretch_);
  options.flag("--no-sleep",
               "with --virtual: do not sleep; the ranks' clock jumps from event to event, so that "
               "times are exact and the run ends at once",
               no_sleep_);
  options.repeated("--try-slow", "RANK:FACTOR[@STEP]",
                   "with --virtual: this rank takes FACTOR times as long to compute, from STEP on; "
                   "may be given several times",
                   slow_);
  options.heading("Slow GPUs");
  slow_watch_.declare(options);
  options.heading("What is kept");
  options.option("--log", "FILE", "write one line of JSON per step (penstock.run/1)", log_);
  options.flag("--timeline", "log the start and end of every action as well, for penstock validate",
               timeline_);
  options.option(
      "--tensorboard", "FOLDER",
      "write event files for TensorBoard: loss, learning rate, gradient norm, step time, tokens "
      "per second, validation loss. Show them with tensorboard --logdir FOLDER",
      tensorboard_);
  options.option("--checkpoints", "FOLDER",
                 "write checkpoints into this folder: at the end, on SIGUSR1 (which also ends the "
                 "run), and as often as --checkpoint-every says",
                 checkpoints_);
  options.option(
      "--checkpoint-every", "N",
      "steps between checkpoints; auto: Daly's interval, from the measured time of a checkpoint",
      checkpoint_every_);
  options.option("--between-failures", "TIME",
                 "with --checkpoint-every auto: mean time between two failures of the job; default "
                 "10800s, an assumption",
                 between_failures_);
  options.option("--checkpoint-keep", "N", "number of complete checkpoints to keep; default 2",
                 checkpoint_keep_);
  options.flag("--mirror",
               "with --checkpoints: after every step each rank copies its part of a checkpoint to "
               "the memory of another rank, so that losing a rank costs no finished step even if "
               "it alone held a stage or a part of the optimizer state (ZeRO-1)",
               mirror_);
  options.flag(
      "--resume",
      "continue from the newest complete checkpoint in the folder, whichever plan wrote it",
      resume_);
  options.flag("--resume-if-any",
               "the same, but begin at step 0 if the folder holds no checkpoint yet: one command "
               "for a job that may be restarted at any time",
               resume_if_any_);
  options.option("--may-change", "LIST",
                 "with --resume: settings that may differ from the checkpoint's: data, seed, "
                 "precision, global-batch, sequence-length",
                 may_change_);
  options.names_given(given_);
}

TrainOptions TrainSettings::train_options() const {
  TrainOptions options;
  documents_.check(given_);
  options.data = data();
  options.evaluation = evaluation();
  options.steps = steps();
  // Of a run that resumes the rest comes from the checkpoint, and they are looked at together then.
  options.training = resumes() ? merged({}) : training({});
  if (transport_) options.transport = parse_transport(*transport_);
  if (device_) options.device = *device_;
  if (options.device != "cpu" && options.device != "cuda") {
    bad_option("--device", "expected cpu or cuda, got '" + options.device + "'",
               "write --device cuda; every rank takes the GPU of its --local-rank");
  }
  if (options.transport == TransportKind::kNccl && options.device == "cpu") {
    bad_option("--transport", "nccl moves data between GPUs only", "add --device cuda");
  }
  if (host_bandwidth_) {
    options.host_bandwidth =
        BytesPerSecond{parse_number("--host-gb-per-s", *host_bandwidth_, 1e-3, 1e4) * 1e9};
  }
  if (pilot_) options.pilot_margin = parse_number("--pilot", *pilot_, 0, 90) / 100;
  options.threads_per_rank = parse_count("--threads-per-rank", threads_, 1, 1);
  options.pin_threads = !no_pinning_;
  if (time_out_) options.time_out = parse_time("--time-out", *time_out_);
  if (options.time_out < std::chrono::seconds(1)) {
    bad_option("--time-out", "expected at least 1s, got " + *time_out_,
               "a busy machine may well pause a rank for that long");
  }
  if (log_) options.log = *log_;
  options.timeline = timeline_;
  if (tensorboard_) options.tensorboard = *tensorboard_;
  if (timeline_ && !log_)
    bad_option("--timeline", "the timeline is written to the log, and there is none",
               "add --log run.jsonl");
  if (checkpoints_) options.checkpoint_folder = *checkpoints_;
  read_checkpoint_interval(options);
  options.mirror = mirror_;
  options.checkpoint_keep = parse_count("--checkpoint-keep", checkpoint_keep_, 1, 2);
  options.resume = resumes();
  options.resume_if_any = resume_if_any_;
  if (may_change_) options.may_change = parse_changes(*may_change_);
  options.watch_ranks = slow_watch_.rule().has_value();
  static_cast<void>(slow_ranks_to_try());
  static_cast<void>(stretch());
  static_cast<void>(jumps());
  if (virtual_) refuse_for_ranks_that_sleep();
  if (options.transport == TransportKind::kLoopback) refuse_for_threads();
  if (options.device != "cpu") refuse_for_gpus();
  refuse_without_checkpoints();
  return options;
}

void TrainSettings::read_checkpoint_interval(TrainOptions& options) const {
  if (checkpoint_every_ != "auto") {
    options.checkpoint_every = parse_count("--checkpoint-every", checkpoint_every_, 1, 0);
    refuse_given(given_, {"--between-failures"}, "the interval is not worked out",
                 "add --checkpoint-every auto");
    return;
  }
  options.between_failures = std::chrono::hours(3);
  if (between_failures_) {
    options.between_failures = parse_time("--between-failures", *between_failures_);
  }
  if (*options.between_failures < std::chrono::seconds(1)) {
    bad_option("--between-failures", "expected at least 1s, got " + *between_failures_,
               "a job that is lost more often makes no progress");
  }
}

DataOptions TrainSettings::data() const {
  DataOptions data;
  data.files = data_;
  data.labels = labels_;
  data.validation_files = validation_data_;
  data.validation_labels = validation_labels_;
  if (!validation_labels_.empty() && validation_data_.empty()) {
    bad_option("--validation-labels", "there are no images that they belong to",
               "add --validation-data images.npy");
  }
  if (validation_fraction_) {
    data.validation_fraction = parse_share("--validation-fraction", validation_fraction_, 0.0);
    if (data.validation_fraction == 0.0) {
      bad_option("--validation-fraction", "0 leaves no validation data",
                 "0.01 is usual; or leave it out");
    }
    if (!validation_data_.empty()) {
      bad_option("--validation-fraction", "--validation-data says already what to judge by",
                 "leave out one of the two");
    }
  }
  data.documents = documents_.files();
  if (!data.documents.empty()) data.tokens_per_batch = documents_.tokens_per_batch();
  if (!dtype_) return data;
  data.type = token_type_named(*dtype_);
  if (!data.type) {
    if (std::any_of(dtype_->begin(), dtype_->end(), [](char c) { return c == 'f'; })) {
      bad_option("--dtype", fmt::format("'{}' is no type of token ids", *dtype_),
                 "it is the type of the integers in --data (uint16, int32, int64, uint8, uint32); "
                 "the precision is that of the profile: penstock profile ... --precision bfloat16");
    }
    unknown_word("--dtype", *dtype_, {"uint16", "int32", "int64", "uint8", "uint32"}, "type ");
  }
  return data;
}

EvaluationOptions TrainSettings::evaluation() const {
  EvaluationOptions options;
  const bool has_data = !validation_data_.empty() || validation_fraction_;
  if (!has_data) {
    refuse_given(given_, {"--eval-every", "--eval-batches"}, "there are no validation data",
                 "add --validation-data FILE or --validation-fraction 0.01");
    return options;
  }
  if (!eval_every_) {
    refuse_given(given_, {"--validation-data", "--validation-fraction"},
                 "nothing says when to evaluate", "add --eval-every 100");
  }
  options.every = parse_count("--eval-every", eval_every_, 1, 0);
  options.batches = parse_count("--eval-batches", eval_batches_, 1, 0);
  return options;
}

int TrainSettings::steps() const { return parse_count("--steps", steps_, 1, 10); }

TrainingOptions TrainSettings::training(const TrainingOptions& otherwise) const {
  TrainingOptions options = merged(otherwise);
  optimizer_.check_schedule(options);
  return options;
}

TrainingOptions TrainSettings::merged(const TrainingOptions& otherwise) const {
  TrainingOptions options = optimizer_.merged(otherwise, steps());
  if (seed_) options.seed = static_cast<std::uint64_t>(parse_int("--seed", *seed_, 0));
  return options;
}

int TrainSettings::ranks_of_jobs() const {
  std::vector<std::string> others = given_;
  std::erase_if(others, [](const std::string& name) {
    return name == "--jobs" || name == "--jobs-folder" || name == "--ranks" || name == "--json";
  });
  refuse_given(given_, others, "with --jobs every job has its own setting",
               "put it under \"train\" of the jobs that need it");
  if (!ranks_) {
    bad_option("--ranks", "the number of ranks that the jobs share is not known", "add --ranks 2");
  }
  return parse_int("--ranks", *ranks_, 1, 1024);
}

LaunchFlags TrainSettings::launch_flags() const {
  LaunchFlags flags;
  flags.rank = parse_rank("--rank", rank_, 0);
  flags.ranks = parse_rank("--ranks", ranks_, 1);
  flags.local_rank = parse_rank("--local-rank", local_rank_, 0);
  flags.master = master_;
  return flags;
}

RanksOfTypes TrainSettings::ranks_of_types() const {
  RanksOfTypes ranks;
  if (!ranks_of_) return ranks;
  for (const auto& [type, count] : parse_key_values("--ranks-of", *ranks_of_)) {
    ranks.emplace_back(type, parse_int("--ranks-of", count, 0, 1 << 20));
  }
  return ranks;
}

std::vector<TrainSettings::LaterPlan> TrainSettings::later_plans() const {
  const int steps = this->steps();
  std::vector<LaterPlan> plans;
  for (const std::string& text : then_) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon + 1 == text.size()) {
      bad_option("--then", "'" + text + "' is not STEPS:PLAN", "for example --then 500:other.json");
    }
    const int step = parse_int("--then", text.substr(0, colon), 1);
    const int before = plans.empty() ? 0 : static_cast<int>(plans.back().first_step);
    if (step <= before) {
      bad_option("--then",
                 "after " + std::to_string(step) + " steps is not later than after " +
                     std::to_string(before) + ", when the plan before it begins",
                 "give them in the order in which they run");
    }
    if (step >= steps) {
      bad_option("--then",
                 "after " + std::to_string(step) + " steps: the run has " + std::to_string(steps) +
                     ", so that this plan would never run",
                 "train for more --steps, or leave it out");
    }
    plans.push_back({step, text.substr(colon + 1)});
  }
  return plans;
}

}  // namespace penstock
