#include "cli/options/search_options.h"

#include "cli/options/measured_runs.h"
#include "cli/options/model_input.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

void SearchOptions::declare_model(Options& options) {
  options.heading("The question");
  options.positional("PROFILE",
                     "what was measured of the model (penstock.profile/1), or its config.json with "
                     "--device, to be estimated",
                     profile);
  options.option("--cluster", "FILE",
                 "what there is to run on (penstock.cluster/1); default of a config.json: nodes of "
                 "the device as its datasheet has them, and the network of its usual systems",
                 cluster);
}

void SearchOptions::declare_estimate(Options& options) {
  options.option("--precision", "NAME",
                 "of a config.json: bfloat16 (default), float16, tensorfloat32 or float32",
                 precision);
  options.choices({"bfloat16", "float16", "tensorfloat32", "float32"});
  options.option(
      "--attention", "NAME",
      "of a config.json: flash1 (default of MPT), flash2, flash3, cudnn (default on Hopper "
      "and newer) or eager, which keeps scores in memory",
      attention);
  options.choices(attention_names());
  options.option("--gradients", "NAME",
                 "of a config.json in 16 bits: float32 (default) or bfloat16, what gradients are "
                 "summed up in",
                 gradients);
  options.choices(gradient_names());
}

void SearchOptions::declare_measured(Options& options) {
  options.repeated("--measured", "RUN",
                   "a run that you have: configuration, colon, step time, and if known the peak of "
                   "memory: \"TP=4 PP=4 mbs=1 gbs=128: 14.66s, 61.2GiB\" (predict --help has the "
                   "keys). Prices are calibrated to it before; may be repeated",
                   measured);
}

void SearchOptions::declare_inputs(Options& options) { declare_model(options); }

void SearchOptions::declare_machine(Options& options) {
  options.option("--gpus", "N", "default: as many as the layout has; says D where that does not",
                 gpus);
  declare_estimate(options);
  options.option("--device", "NAME",
                 "of a config.json the device to estimate for (h100-sxm, a100-80gb, ..., or the "
                 "path of a penstock.device/1); else the device type of the cluster",
                 device);
  options.option("--reserve-gib", "X", "memory per device that is never planned for", reserve_gib);
  declare_measured(options);
  options.option("--for", "TRAINER",
                 "with transfers as this trainer carries them out, unless --executor says "
                 "otherwise: penstock, pytorch, torchtitan, megatron or deepspeed",
                 trainer);
  options.choices(trainer_names());
  executor.declare(options);
}

void SearchOptions::declare(Options& options) {
  declare_model(options);
  options.option("--gpus", "N", "use at most this many; default: all of the cluster", gpus);
  options.option("--global-batch", "B", "samples per step", global_batch);
  options.option("--global-batch-tokens", "N",
                 "the same in tokens: 4M. K, M and B are powers of 1024, as papers count batches",
                 global_batch_tokens);
  options.flag("--large-batch",
               "a step of more than 268 million tokens, or of more than an hour, is meant",
               large_batch);
  options.option(
      "--sequence-length", "S",
      "tokens per sample; default: the longest measured; of a config.json the model's, at "
      "most 8192",
      sequence_length);
  declare_estimate(options);
  declare_measured(options);
  options.heading("What is fixed; everything else is searched");
  options.repeated(
      "--pin", "K=N,...",
      "TP tensor degree, PP pipeline ranks, DP replicas, VP chunks per rank, mbs micro-batch size, "
      "also written T, P, D, V, b: TP=4,PP=8. --tp 4 --pp 8 say the same",
      pins);
  options.repeated("--schedule", "NAME,...", "only these schedules", schedules);
  options.choices(schedule_names());
  options.option(
      "--for", "TRAINER",
      "only what this trainer can run, and with transfers as it carries them out, unless "
      "--executor says otherwise: penstock (train), pytorch, torchtitan (0.2; torchtitan@0.1, "
      "torchtitan@head), megatron or "
      "deepspeed",
      trainer);
  options.choices(trainer_names());
  options.option("--recompute", "MODE",
                 "only this recompute mode of the profile, in all sections; MODE:as-needed: also "
                 "in as few sections of each stage as its memory asks for",
                 recompute);
  options.option("--zero1", "on|off", "optimizer state sharded over the replicas, or not", zero1);
  options.option(
      "--device", "NAME",
      "only this device type of the cluster; of a config.json the device to estimate for "
      "(h100-sxm, a100-80gb, ..., or the path of a penstock.device/1)",
      device);
  options.option("--placement", "NAME", "pipeline-inner or data-inner", placement);
  options.choices({"pipeline-inner", "data-inner"});
  options.option("--reserve-gib", "X", "memory per device that is never planned for", reserve_gib);
  executor.declare(options);
  options.heading("The search");
  options.option("--threads", "N", "default: all of this machine; the answer does not depend on it",
                 threads);
  options.option("--budget", "TIME",
                 "stop after this time (30s, 5min) with the best so far, exit code 4", budget);
  options.flag("--every-candidate", "replay all of them, even those that a bound rules out (slow)",
               every_candidate);
}
namespace {

std::optional<std::string>* read_option(SearchOptions& options, const std::string& key) {
  if (key == "cluster") return &options.cluster;
  if (key == "precision") return &options.precision;
  if (key == "attention") return &options.attention;
  if (key == "gradients") return &options.gradients;
  if (key == "sequence-length") return &options.sequence_length;
  if (key == "executor") return &options.executor.name;
  if (key == "for") return &options.trainer;
  if (key == "gpus") return &options.gpus;
  if (key == "global-batch") return &options.global_batch;
  if (key == "device") return &options.device;
  return nullptr;
}

}  // namespace

bool set(SearchOptions& options, const std::string& key, const std::string& value) {
  if (key == "profile") {
    options.profile = value;
    return true;
  }
  std::optional<std::string>* option = read_option(options, key);
  if (option != nullptr) *option = value;
  return option != nullptr;
}

const std::vector<std::string>& readable_keys() {
  static const std::vector<std::string> keys{"profile",   "cluster",   "precision",
                                             "attention", "gradients", "sequence-length",
                                             "executor",  "for"};
  return keys;
}

}  // namespace penstock
