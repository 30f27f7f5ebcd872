// Every option stands here once with its help; nothing is parsed, since `question_of` does that
// with the files at hand. Verbs that share a part (model, machine, estimate) declare that part.
#include "cli/options/search_options.h"

#include "cli/options/assumed_machine.h"
#include "cli/options/model_input.h"
#include "cli/options/network_rate.h"
#include "cli/words/sharding_called.h"
#include "search/dynamic/replica_replays.h"
#include "simulator/schedules/schedules.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

std::optional<std::string>* read_option(SearchOptions& options, const std::string& key) {
  if (key == "cluster") return &options.cluster;
  if (key == "precision") return &options.precision;
  if (key == "attention") return &options.attention;
  if (key == "gradients") return &options.gradients;
  if (key == "expert-imbalance") return &options.expert_imbalance;
  if (key == "expert-dispatch") return &options.expert_dispatch;
  if (key == "kernels") return &options.kernels;
  if (key == "loss") return &options.loss;
  if (key == "optimizer-bytes") return &options.optimizer_bytes;
  if (key == "fsdp-prefetch") return &options.fsdp_prefetch;
  if (key == "sequence-parallelism") return &options.sequence_parallelism;
  if (key == "sequence-length") return &options.sequence_length;
  if (key == "executor") return &options.executor.name;
  if (key == "for") return &options.trainer;
  if (key == "gpus") return &options.gpus;
  if (key == "global-batch") return &options.global_batch;
  if (key == "device") return &options.device;
  if (key == "gpus-per-node") return &options.gpus_per_node;
  if (key == "network") return &options.network;
  return nullptr;
}

}  // namespace

void SearchOptions::declare_model(Options& options) {
  options.keep_command(command);
  options.heading("The question");
  options.positional("MODEL",
                     "the model: its config.json together with --device, or a measured profile "
                     "(penstock.profile/1) together with --cluster",
                     profile);
  options.option("--cluster", "FILE",
                 "the nodes and links to run on (penstock.cluster/1); default with a config.json: "
                 "nodes of 8 GPUs (or as the datasheet says) and the network that such nodes "
                 "usually have",
                 cluster);
}

void SearchOptions::declare_estimate(Options& options) {
  options.option(
      "--precision", "NAME",
      "with a config.json: bfloat16 (default), float8 (the products of layers in 8 bits, "
      "casts included), float16, tensorfloat32 or float32",
      precision);
  options.choices({"bfloat16", "float8", "float16", "tensorfloat32", "float32"});
  options.option(
      "--attention", "NAME",
      "with a config.json: the attention kernel: flash1 (default for MPT), flash2, flash3, cudnn "
      "(default on Hopper and newer) or eager, which keeps the scores in memory",
      attention);
  options.choices(attention_names());
  options.option("--gradients", "NAME",
                 "with a config.json in 16 bits: the type in which gradients are accumulated, "
                 "float32 (default) or bfloat16",
                 gradients);
  options.choices(gradient_names());
  options.option("--optimizer-bytes", "N",
                 "with a config.json: what the optimizer keeps of a parameter, master copy "
                 "included: AdamW 12 (default in 16 bits), NeMo's bfloat16 10, with moments in 8 "
                 "bits 6",
                 optimizer_bytes);
  options.option("--kernels", "NAME",
                 "with a config.json in 16 bits: compiled (default: norms, rotary positions, "
                 "activations and the loss are fused) or eager, as PyTorch runs a model that is "
                 "not compiled",
                 kernels);
  options.choices(kernel_names());
  options.option(
      "--loss", "NAME",
      "with a config.json in 16 bits: apart (default: logits in 32 bits, their gradients beside "
      "them), in-place (one kernel leaves the gradients where the logits were: "
      "Transformer Engine's and Liger's cross-entropy; default for MPT) or eager (not "
      "compiled, as torchtitan's was until 2025; default with --kernels eager)",
      loss);
  options.choices(loss_names());
  options.option("--fsdp-prefetch", "NAME",
                 "with a config.json and sharding=fsdp: backward-pre (default: a backward "
                 "gathers the next weights while it computes) or backward-post (when it has; "
                 "default for MPT without --for, as Composer does)",
                 fsdp_prefetch);
  options.choices(prefetch_names());
  options.option("--sequence-parallelism", "NAME",
                 "with a config.json: on (default: where TP > 1, norms and residuals are divided "
                 "over its ranks) or off (every rank has them whole, and sums are all-reduced)",
                 sequence_parallelism);
  options.choices(sequence_parallelism_names());
  options.option("--expert-imbalance", "X",
                 "with a config.json that has experts and EP > 1: tokens of the busiest rank over "
                 "the mean's, for example 1.2; default 1",
                 expert_imbalance);
  options.option("--expert-dispatch", "NAME",
                 "likewise: once (default: a token goes once to each rank with one of its experts, "
                 "as DeepEP and HybridEP do it) or copies (one for each expert: all-to-all)",
                 expert_dispatch);
  options.choices({"once", "copies"});
}

void SearchOptions::declare_measured(Options& options) {
  options.repeated(
      "--measured", "RUN",
      "a run that you measured: its layout, a colon, the step time, and the peak memory if "
      "you know it: \"TP=4 PP=4 mbs=1 gbs=128: 14.66s, 61.2GiB\" (predict --help "
      "lists the keys). All times are first fitted to it; may be repeated",
      measured);
}

void SearchOptions::declare_context_kind(Options& options) {
  options.option(
      "--cp-kind", "NAME",
      "where CP > 1, how ranks attend to each other's tokens: ring (default), all-gather "
      "or ulysses",
      context_kind);
  options.choices(context_kind_names());
}

void SearchOptions::declare_memory(Options& options) {
  options.option("--memory-limit", "GIB",
                 "no rank holds more of its GPU's memory, what the framework keeps counted in: 60 "
                 "or 60GiB, 60GB (60e9 bytes), or a share, 0.85 or 85%; default: all of it",
                 memory_limit);
  options.option("--reserve-gib", "X",
                 "GiB that plans leave free on each device; default: the cluster's reserve",
                 reserve_gib);
}

void SearchOptions::declare_inputs(Options& options) { declare_model(options); }

void SearchOptions::declare_machine(Options& options) {
  options.option("--gpus", "N",
                 "default: as many as the layout needs; with --gpus the layout may leave out DP",
                 gpus);
  declare_estimate(options);
  options.option("--device", "NAME",
                 "with a config.json: the GPU (h100-sxm, a100-80gb, ..., or the path of a "
                 "penstock.device/1 file); else: a device type of the cluster",
                 device);
  options.option("--gpus-per-node", "N", kGpusPerNodeHelp, gpus_per_node);
  options.option("--network", "RATE", kNetworkHelp, network);
  declare_context_kind(options);
  declare_memory(options);
  declare_measured(options);
  options.option("--for", "TRAINER",
                 "overlap transfers as this trainer does, unless --executor says otherwise: "
                 "penstock, pytorch, torchtitan, megatron or deepspeed",
                 trainer);
  options.choices(trainer_names());
  executor.declare(options);
}

void SearchOptions::declare_layouts(Options& options) {
  options.option("--gpus", "N", "GPUs, all of which are used; default: the whole cluster", gpus);
  declare_estimate(options);
  options.option("--device", "NAME",
                 "with a config.json: the GPU (h100-sxm, a100-80gb, ..., or the path of a "
                 "penstock.device/1 file); else: a device type of the cluster",
                 device);
  options.option("--gpus-per-node", "N", kGpusPerNodeHelp, gpus_per_node);
  options.option("--network", "RATE", kNetworkHelp, network);
  options.heading("What is fixed; everything else is searched");
  options.repeated(
      "--pin", "K=N,...",
      "fix some of TP (tensor), PP (pipeline ranks), DP (replicas), VP (virtual stages "
      "per rank), for example TP=1,PP=8; --tp 1 --pp 8 is the same; offload=optimizer keeps the "
      "optimizer's state on the host, which updates, and offload=any tries both",
      pins);
  options.repeated("--schedule", "NAME,...", "only these schedules", schedules);
  options.choices(batch_schedule_names());
  options.option("--recompute", "MODE", "only this recompute mode (none, selective, full)",
                 recompute);
  options.option("--zero1", "on|off",
                 "shard the optimizer state over the replicas (ZeRO-1; default), or not", zero1);
  options.option("--placement", "NAME",
                 "pipeline-inner (neighbouring ranks hold the stages of one replica) or data-inner "
                 "(they hold replicas of one stage)",
                 placement);
  options.choices({"pipeline-inner", "data-inner"});
  declare_memory(options);
  options.option("--for", "TRAINER",
                 "overlap transfers as this trainer does, unless --executor says otherwise: "
                 "penstock, pytorch, torchtitan, megatron or deepspeed",
                 trainer);
  options.choices(trainer_names());
  executor.declare(options);
  options.heading("The search");
  options.option("--threads", "N", "default: one per core; the answer does not depend on it",
                 threads);
  options.option("--budget", "TIME",
                 "stop after this time (30s, 5min) with the best layouts so far; exit code 4",
                 budget);
}

void SearchOptions::declare(Options& options) {
  declare_model(options);
  options.option(
      "--gpus", "N",
      "the most GPUs that the plan may use; default: the whole cluster; for plan also 8..64 or "
      "8,16,64: a book with a plan for each; of several device types with a number of each, "
      "TYPE=0..8:4,TYPE=0,8,16: every combination",
      gpus);
  options.option("--global-batch", "B", "samples (sequences) per step, over all GPUs",
                 global_batch);
  options.option(
      "--global-batch-tokens", "N",
      "the same in tokens, for example 4M; here K, M and B are powers of 1024, as papers "
      "count batches",
      global_batch_tokens);
  options.flag("--large-batch",
               "allow a step of more than 268 million tokens or of more than an hour", large_batch);
  options.option(
      "--sequence-length", "S",
      "tokens per sample; default: the longest that was measured; with a config.json the model's "
      "own, at most 8192",
      sequence_length);
  declare_estimate(options);
  declare_measured(options);
  options.heading("What is fixed; everything else is searched");
  options.repeated(
      "--pin", "K=N,...",
      "fix some of TP (tensor), PP (pipeline ranks), DP (replicas), VP (virtual stages per rank), "
      "mbs (micro-batch size), for example TP=4,PP=8; --tp 4 --pp 8 is the same",
      pins);
  options.repeated("--schedule", "NAME,...", "only these schedules", schedules);
  options.choices(schedule_names());
  options.option(
      "--for", "TRAINER",
      "only plans that this trainer can run, with transfers overlapped as it does (unless "
      "--executor says otherwise): penstock (its own train), pytorch, torchtitan (0.2; also "
      "torchtitan@0.1, torchtitan@head), megatron or deepspeed",
      trainer);
  options.choices(trainer_names());
  options.option("--recompute", "MODE",
                 "only this recompute mode (none, selective, full), in all sections; "
                 "MODE:as-needed: in as few sections of each stage as its memory requires",
                 recompute);
  options.option("--zero1", "on|off",
                 "shard the optimizer state over the replicas (ZeRO-1), or not", zero1);
  options.option(
      "--sharding", "NAME",
      "what the replicas divide: none, zero1 (as --zero1 on), zero2 (gradients, too), zero3 (and "
      "weights; both without a pipeline, as DeepSpeed has them) or fsdp (PyTorch's fully_shard, "
      "with a pipeline gathered once per step); fsdp:8 or zero3:8: in groups of 8 replicas (HSDP)",
      sharding);
  declare_context_kind(options);
  options.option(
      "--device", "NAME",
      "with a config.json: the GPU (h100-sxm, a100-80gb, ..., or the path of a penstock.device/1 "
      "file); else: only this device type of the cluster",
      device);
  options.option("--gpus-per-node", "N", kGpusPerNodeHelp, gpus_per_node);
  options.option("--network", "RATE", kNetworkHelp, network);
  options.option(
      "--placement", "NAME",
      "pipeline-inner (neighbouring ranks hold the stages of one replica) or data-inner (they hold "
      "replicas of one stage)",
      placement);
  options.choices({"pipeline-inner", "data-inner"});
  declare_memory(options);
  executor.declare(options);
  options.heading("The search");
  options.option("--threads", "N", "default: one per core; the answer does not depend on it",
                 threads);
  options.option("--budget", "TIME",
                 "stop after this time (30s, 5min) with the best plan so far; exit code 4", budget);
  options.flag("--every-candidate",
               "replay every candidate, even those that a bound rules out (slow)", every_candidate);
}

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
  static const std::vector<std::string> keys{
      "profile",   "cluster",   "gpus-per-node",   "network",          "precision",
      "attention", "gradients", "sequence-length", "expert-imbalance", "expert-dispatch",
      "kernels",   "loss",      "optimizer-bytes", "fsdp-prefetch",    "sequence-parallelism",
      "executor",  "for"};
  return keys;
}

}  // namespace penstock
