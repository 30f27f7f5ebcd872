// Remarks on how the model is divided and in which numbers it counts: degrees, sharding, precision,
// recompute, schedules, and what a trainer can run.
#include <array>
#include <span>

#include "cli/answers/options/option_remarks.h"
#include "cli/answers/options/remark_tables.h"

namespace penstock {
namespace {

constexpr std::array kOnLayouts{
    Remark{{"to", "export", "export-to"},
           "plan for a trainer with --for megatron; then penstock export plan.json --to megatron "
           "-o job writes its files",
           "--pin"},
    Remark{{"offload", "cpu-offload", "offloading", "cpu-offloading", "offload-optimizer"},
           "--pin offload=optimizer keeps the optimizer's state on the host; a model larger than "
           "one GPU goes through it with --gpus 1 --spill",
           "--pin"},
    Remark{{"batch-size-per-replica", "batch-per-replica", "replica-batch-size"},
           "which one? --global-batch N is the batch of a replica times DP; --pin mbs=N, the "
           "micro-batch of one GPU",
           "--pin"},
    Remark{{"stage"},
           "ZeRO's stage is --sharding zero3, the number of pipeline stages --pp 3",
           "--sharding"},
    Remark{{"model-parallel", "model-parallel-size", "mp", "mp-size"},
           "TP or PP? --tp 8 divides every layer, --pp 8 divides the model into stages",
           "--pin"},
    Remark{
        {"megatron", "megatron-lm"}, "write --for megatron: only plans that it can run", "--for"},
    Remark{{"torchtitan"}, "write --for torchtitan: only plans that it can run", "--for"},
    Remark{{"deepspeed", "deepspeed-config", "deepspeed-config-file", "ds-config"},
           "write --for deepspeed: only plans that it can run; its ZeRO stage is searched, or "
           "written as --sharding zero3, and no file of its settings is read",
           "--for"},
    Remark{{"ring-attention", "ring", "ring-flash-attention", "ring-attn"},
           "write --cp-kind ring, which is the default; --cp N divides a sequence over N GPUs",
           "--cp-kind"},
    Remark{{"pytorch"}, "write --for pytorch: only plans that it can run", "--for"},
    Remark{{"sp", "sequence-parallel"},
           "leave it out: sequence parallelism is assumed wherever TP > 1; without it write "
           "--sequence-parallelism off",
           "--sequence-parallelism"},
    Remark{{"no-sequence-parallel", "disable-sequence-parallel"},
           "write --sequence-parallelism off",
           "--sequence-parallelism"},
    Remark{{"zero-2", "zero2", "zero-3", "zero3", "zero-infinity"},
           "write --sharding zero2 or --sharding zero3",
           "--sharding"},
    Remark{{"distributed-optimizer", "zero-1"},
           "write --sharding zero1: the optimizer is sharded over the replicas",
           "--sharding"},
    Remark{
        {"fsdp", "data-parallel-shard-degree", "dp-shard", "dp-shard-degree", "fsdp2"},
        "write --sharding fsdp (fsdp:8 within groups of 8), or --sharding zero1 for an optimizer "
        "that is sharded over the replicas",
        "--sharding"},
    Remark{{"bf16", "bfloat16"}, "write --precision bfloat16 (the default)", "--precision"},
    Remark{{"fp16", "float16", "half"}, "write --precision float16", "--precision"},
    Remark{{"fp32", "float32", "tf32"},
           "write --precision float32 or --precision tensorfloat32",
           "--precision"},
    Remark{{"ddp", "no-fsdp", "no-zero", "no-sharding", "replicate"},
           "write --sharding none: every replica holds the whole state",
           "--sharding"},
    Remark{{"hsdp", "hybrid-shard", "dp-replicate", "data-parallel-replicate-degree"},
           "write --sharding fsdp:8: FSDP within groups of 8 replicas",
           "--sharding"},
    Remark{{"amp", "autocast", "mixed"},
           "mixed precision is the default: --precision bfloat16, or float16",
           "--precision"},
    Remark{{"fp8", "float8"},
           "write --precision float8 for products of layers in 8 bits",
           "--precision"},
    Remark{{"quantization", "quantize", "int8", "load-in-8bit", "load-in-4bit",
            "quantization-config", "nf4", "bnb", "int4", "quant"},
           "leave it out: quantised weights (QLoRA, 8 or 4 bits) are not modelled, nor adapters: "
           "all parameters are trained, in --precision bfloat16 (the default) or float8",
           "--precision"},
    Remark{{"no-recompute", "no-checkpointing", "no-activation-checkpointing", "disable-recompute",
            "no-gradient-checkpointing"},
           "write --recompute none",
           "--recompute"},
    Remark{{"activation-checkpointing", "gradient-checkpointing", "checkpoint-activations",
            "recompute-activations", "ac", "activation-recomputation"},
           "write --recompute full or --recompute selective; without, the search chooses",
           "--recompute"},
    Remark{{"recompute-method", "recompute-num-layers", "recompute-modules", "selective-ac",
            "selective-ac-option", "checkpoint-num-layers"},
           "leave it out: which layers recompute is searched, and no number of them is fixed: "
           "without --recompute the search chooses how many of each stage do; --recompute full is "
           "all of them",
           "--recompute"},
    Remark{{"memory-breakdown", "memory-details", "memory-detail", "memory-per-rank",
            "memory-by-rank", "memory-per-gpu", "per-rank-memory", "memory-table", "show-memory",
            "memory-parts", "memory-components"},
           "write -o plan.json in its place; then penstock simulate plan.json prints parameters, "
           "gradients, optimizer and activations of every rank",
           "--baseline"},
    Remark{{"flash-attention", "flash-attn", "use-flash-attn", "flash"},
           "write --attention flash2 (or flash3, cudnn); fused attention is the default",
           "--attention"},
    Remark{{"overlap", "overlap-comm", "overlap-p2p-communication", "overlap-grad-reduce",
            "no-overlap"},
           "--for TRAINER overlaps transfers as that trainer does; --executor and --queues choose "
           "it directly",
           "--executor"},
    Remark{{"strategy", "parallelism", "mode", "parallel"},
           "every layout is tried: --pin TP=8,PP=4 fixes degrees, --sharding zero3 or fsdp what "
           "the replicas divide, --for TRAINER what can be run",
           "--pin"},
    Remark{{"max-tp", "max-pp", "max-dp", "min-tp", "min-pp", "min-dp"},
           "--pin TP=4 fixes a degree; compare --vary TP=1,2,4 plans each of several",
           "--pin"},
    Remark{
        {"exclude", "skip", "avoid", "without", "except", "forbid", "exclude-schedule",
         "skip-schedule", "not", "blacklist", "only", "ignore"},
        "--schedule NAME,... names the schedules to try and --pin K=N,... fixes degrees: what is "
        "not named there is left out",
        "--pin"},
    Remark{{"sweep", "grid", "scan", "range", "try", "over", "vary", "search-space", "grid-search",
            "what-if", "ablate"},
           "penstock compare ... --vary TP=1,2,4 plans for each value; plan --gpus 8..64 makes a "
           "book with a plan for each number",
           "--pin"},
    Remark{{"cache", "workdir", "logdir", "project", "experiment", "tag", "comment", "log",
            "logging", "name", "run-name", "title"},
           "leave it out: nothing is kept but what -o FILE writes",
           "--pin"},
    Remark{{"spare", "exact", "exactly", "idle", "use-all", "all-gpus", "require-all", "spares",
            "min-gpus", "least-gpus", "full-cluster"},
           "--gpus N is the most that a plan may use; where fewer are as fast, it uses fewer, and "
           "--pin PP=..,DP=..,TP=.. fixes all",
           "--pin"},
    Remark{{"interleave", "interleaving", "interleaved", "virtual", "virtual-pipeline", "looped"},
           "write --vp 2, the virtual stages of a rank, or --schedule interleaved",
           "--pin"},
    Remark{{"zero-bubble", "zb", "bidirectional"},
           "schedules are named by their option: --schedule zb-h1,zb-v (penstock schedule --help "
           "lists all)",
           "--schedule"},
    Remark{{"rank", "ranks", "stage", "stages", "device", "gpu", "process"},
           "all ranks of one replica are shown",
           "--any-plan"},
    Remark{{"balance", "balanced", "load-balance", "even", "uneven", "equal-stages", "uniform"},
           "stages are cut so that the slowest is as fast as possible; penstock predict --layout "
           "\"... cuts=..\" takes given cuts",
           "--pin"},
    Remark{{"ranks", "num-ranks", "n-ranks", "processes", "nprocs", "ntasks", "tasks"},
           "write --gpus {N}, which counts the ranks of all nodes",
           "--pin"},
    Remark{{"grad-dtype", "gradient-dtype", "grad-type", "reduce-dtype", "mixed-precision-reduce",
            "grad-precision", "accumulate-allreduce-grads-in-fp32", "grad-reduce-dtype"},
           "write --gradients float32 or --gradients bfloat16",
           "--gradients"},
    Remark{{"num-layers-per-virtual-pipeline-stage", "layers-per-virtual-stage", "layers-per-stage",
            "num-layers-per-stage", "pipeline-split-points", "pipeline-parallel-split-points",
            "pipeline-model-parallel-layout", "decoder-first-pipeline-num-layers",
            "decoder-last-pipeline-num-layers", "split-points", "first-stage-layers", "cuts"},
           "write --vp N, the virtual stages of a rank (layers / PP / layers of a virtual stage); "
           "where the stages are cut is searched, and penstock predict --layout \"... cuts=..\" "
           "takes given cuts",
           "--pin"},
    Remark{{"compile", "torch-compile", "inductor", "jit", "fused-kernels", "no-compile"},
           "write --kernels compiled (the default) or --kernels eager",
           "--kernels"},
};

}  // namespace

std::span<const Remark> remarks_on_layouts() { return kOnLayouts; }

}  // namespace penstock
