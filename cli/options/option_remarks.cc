// One row per idea, not per spelling: prefixes (use-), suffixes (-size) and the sections of
// torchtitan's names (training.) are taken off before the rows are read.
#include "cli/options/option_remarks.h"

#include <cstddef>

namespace penstock {
namespace {

constexpr std::array kRemarks{
    Remark{
        {"for", "trainer", "target", "format"}, "name the trainer with --to megatron", "--nearest"},
    Remark{{"to", "export", "export-to"},
           "plan for a trainer with --for megatron; then penstock export plan.json --to megatron "
           "-o job writes its files",
           "--pin"},
    Remark{{"plans-from", "redis", "redis-url", "server", "url"},
           "the store of plans is --store redis://HOST:6379",
           "--store"},
    Remark{{"store", "redis", "redis-url", "server", "planner"},
           "plans of another machine come with --plans-from redis://HOST:6379 (penstock planner)",
           "--plans-from"},
    Remark{
        {"epochs", "steps", "max-steps", "num-steps", "train-iters", "iterations"},
        "a step is planned; --tokens N, the tokens of the whole training (steps x global batch x "
        "sequence length), gives its days and its price",
        "--tokens"},
    Remark{{"offload", "cpu-offload", "offloading", "cpu-offloading", "offload-optimizer"},
           "offloading to the host's memory is modelled for one GPU: penstock plan ... --gpus 1 "
           "--spill"},
    Remark{{"lora", "peft", "qlora", "finetune", "fine-tune"},
           "all parameters are trained: LoRA and other adapters are not modelled"},
    Remark{{"optimizer", "optim", "adam", "adamw", "sgd"},
           "AdamW in mixed precision is assumed; a profile may say otherwise "
           "(docs/file_formats.md)",
           "--device"},
    Remark{{"csv", "markdown", "md", "table", "latex", "tex", "tsv", "excel"},
           "write --format csv or --format markdown",
           "--format"},
    Remark{{"yaml", "toml", "xml"}, "programs read --json"},
    Remark{{"html", "open", "browser", "show", "view"},
           "penstock report plan.json -o report.html writes a page; open it in a browser"},
    Remark{{"perfetto", "chrome", "chrome-trace"},
           "that is what penstock trace plan.json -o step.json writes; --format has the others"},
    Remark{{"list", "schedules", "list-schedules"},
           "penstock schedule --help lists the schedules",
           "--cost"},
    Remark{{"stage"},
           "ZeRO's stage is --sharding zero3, the number of pipeline stages --pp 3",
           "--sharding"},
    Remark{
        {"micro-batch-count", "num-micro-batch", "num-microbatch", "num-seq", "num-seqs",
         "num-sequences", "seq-count"},
        "--global-batch counts the sequences of a step, --sequence-length the tokens of one; the "
        "micro-batches follow from --global-batch, DP and mbs",
        "--global-batch"},
    Remark{{"forward", "overlap"},
           "costs go together: --cost F=10ms,B=20ms,C=0.5ms (forward, backward, one transfer)",
           "--cost"},
    Remark{{"memory", "memory-limit", "max-memory", "mem"},
           "--limit N holds at most N micro-batches on a rank (zb-auto, zb-v-auto)",
           "--limit"},
    Remark{{"dataset", "data", "lr", "learning-rate", "warmup", "tokenizer", "wandb", "dropout"},
           "leave it out: it changes neither the time of a step nor its memory",
           "--global-batch"},
    Remark{{"objective", "goal", "metric", "sort", "sort-by", "optimize-for"},
           "plans are ranked by step time, with memory and price beside it; -v marks those that no "
           "other plan beats in all three (*), and --pin and --sharding fix parts of the answer",
           "--top"},
    Remark{{"output-dir", "outdir", "out-dir", "output-folder", "save-dir"},
           "a plan is one file: -o plan.json; penstock export plan.json --to TRAINER -o FOLDER "
           "writes a folder",
           "--baseline"},
    Remark{{"spot", "preemptible", "on-demand", "cloud", "region"},
           "say the price with --usd-per-gpu-hour X; penstock import skypilot vms.csv --spot puts "
           "a cloud's prices into a cluster file",
           "--usd-per-gpu-hour"},
    Remark{{"plot", "draw", "figure", "fig", "picture", "image"},
           "-o step.svg draws the step (also .png, .html, .json)",
           "--print"},
    Remark{{"plot", "draw", "figure", "fig", "picture", "image"},
           "penstock trace plan.json -o step.svg draws the step of a plan, and penstock report "
           "plan.json -o report.html makes a page"},
    Remark{{"svg", "png"}, "-o step.svg (or .png) draws the step", "--window"},
    Remark{{"quiet", "q", "silent", "no-progress"},
           "only progress goes to stderr: 2>/dev/null hides it"},
    Remark{{"model-parallel", "model-parallel-size", "mp", "mp-size"},
           "TP or PP? --tp 8 divides every layer, --pp 8 divides the model into stages",
           "--pin"},
    Remark{{"baseline"},
           "rows are compared with the first one; penstock plan ... --baseline plan.json compares "
           "the best plan with another",
           "--vary"},
    Remark{{"dir", "folder", "results", "write", "plan-file", "save-plan", "file"},
           "write -o FILE; penstock export writes a folder, -o FOLDER",
           "--output"},
    Remark{{"mttf", "failure-rate", "failures", "mtbf-days", "mean-time-between-failures"},
           "write --mtbf-hours X, the mean time between failures of one GPU, with --tokens N",
           "--mtbf-hours"},
    Remark{{"slurm", "sbatch", "k8s", "kubernetes", "skypilot", "ray", "torchrun", "launch"},
           "penstock export plan.json --to megatron -o job writes run.sh, job.sbatch and sky.yaml",
           "--global-batch"},
    Remark{{"instance-type", "instance", "aws", "gcp", "azure", "topology", "rack", "rack-size",
            "racks", "switch", "pod", "pods"},
           "machines and links are in the cluster file: --cluster FILE (data/clusters has some, "
           "docs/file_formats.md the keys)",
           "--cluster"},
    Remark{{"power", "energy", "watts", "co2", "carbon"}, "power and energy are not modelled"},
    Remark{
        {"pdf", "print"}, "write -o report.html, and print it to a PDF in a browser", "--baseline"},
    Remark{{"ascii", "text", "tui"}, "--print draws the step with letters", "--print"},
    Remark{{"megatron", "torchtitan", "deepspeed", "pytorch"},
           "write --as megatron, torchtitan or deepspeed",
           "--as"},
    Remark{{"megatron", "torchtitan", "deepspeed", "pytorch"},
           "name the trainer with --for (plan) or --to (export), for example --for megatron"},
    Remark{{"schedule", "tensor", "pipeline"},
           "a plan has its own; ask with penstock explain PLAN --why-not schedule=1f1b why it is "
           "not another"},
    Remark{{"nodes", "num-nodes", "nnodes", "n-nodes", "gpus-per-node", "nproc-per-node"},
           "--gpus takes the GPUs of all nodes: --gpus 64 for 8 nodes of 8 (as the device's "
           "datasheet has them; other nodes: --cluster FILE)",
           "--gpus"},
    Remark{{"batch", "batch-size", "bs", "local-batch-size", "per-device-batch-size", "batchsize"},
           "which one? --global-batch N: samples per step over all GPUs; --pin mbs=N: the "
           "micro-batch of one GPU; --global-batch-tokens N: tokens per step",
           "--global-batch"},
    Remark{{"model", "config", "profile", "model-config", "model-name", "model-path"},
           "the model is the argument without a name: penstock plan config.json --device h100-sxm "
           "--gpus 64 --global-batch 512",
           "--device"},
    Remark{{"sp", "sequence-parallel"},
           "leave it out: sequence parallelism is assumed wherever TP > 1"},
    Remark{{"zero-2", "zero2", "zero-3", "zero3", "zero-infinity"},
           "write --sharding zero2 or --sharding zero3",
           "--sharding"},
    Remark{
        {"fsdp", "distributed-optimizer", "use-distributed-optimizer", "zero-1", "use-fsdp",
         "use-fsdp2", "data-parallel-shard-degree", "dp-shard", "dp-shard-degree", "fsdp2"},
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
    Remark{{"quantization", "quantize", "int8", "load-in-8bit", "load-in-4bit"},
           "training in integers is not modelled; 8 bits of floating point are: --precision float8",
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
           "write --recompute full or --recompute selective; which layers recompute is searched",
           "--recompute"},
    Remark{{"flash-attention", "flash-attn", "use-flash-attn", "flash"},
           "write --attention flash2 (or flash3, cudnn); fused attention is the default"},
    Remark{{"memory", "mem", "gpu-memory", "memory-limit", "vram", "hbm", "max-memory", "gpu-mem",
            "memory-gib", "device-memory", "mem-per-gpu", "max-mem"},
           "the memory is the device's (--device); --reserve-gib X leaves X GiB of it free; "
           "compare --vary memory-gib=80,96 asks what if",
           "--reserve-gib"},
    Remark{{"network", "interconnect", "bandwidth", "ib", "infiniband", "nvlink", "latency", "nccl",
            "rdma", "roce", "ethernet", "efa"},
           "links are in the cluster file: --cluster FILE; compare --vary bandwidth=0.5,1,2 asks "
           "what if (factors)",
           "--cluster"},
    Remark{{"efficiency", "mfu", "target-mfu", "utilization", "measured-time", "step-time"},
           "tell a step that you measured: --measured \"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"; all "
           "times are fitted to it",
           "--measured"},
    Remark{{"inference", "serving", "rlhf", "ppo", "dpo", "generate"},
           "training steps are planned: forward, backward and update of one model",
           "--global-batch"},
    Remark{{"seed", "random-seed", "deterministic"},
           "leave it out: nothing is random, and the same question has the same answer",
           "--every-candidate"},
    Remark{{"dry-run", "yes", "force", "y", "no-launch", "simulate"},
           "leave it out: nothing is started, a plan only predicts",
           "--global-batch"},
    Remark{{"debug", "verbosity", "log-level", "vv", "details", "full"},
           "-v prints the whole report",
           "--verbose"},
    Remark{{"explain", "why", "reason", "reasons"},
           "write the plan with -o plan.json; penstock explain plan.json says why",
           "--global-batch"},
    Remark{
        {"report", "page", "dashboard"},
        "write the plan with -o plan.json; penstock report plan.json -o report.html makes a page",
        "--global-batch"},
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
        {"what-if", "whatif", "vary", "change", "set"},
        "ask penstock compare MODEL ... --vary bandwidth=1,2 (or memory-gib, gpus, schedule, ...)",
        "--why-not"},
    Remark{{"o", "output", "out", "save"},
           "the answer goes to stdout: > why.txt keeps it, --json prints data",
           "--why-not"},
    Remark{{"fix", "autofix", "in-place"},
           "files are only read; each finding says what to write instead",
           "--exit-zero"},
    Remark{{"version", "for-version", "trainer-version"},
           "write --target-version V, or the version after the trainer: TARGET@V",
           "--target-version"},
    Remark{{"device", "gpu", "gpus", "num-gpus", "cluster"},
           "a plan file is for its GPUs; penstock plan ... --device NAME --gpus N plans for others",
           "--contention"},
    Remark{{"device", "gpu", "gpus", "num-gpus", "cluster"},
           "a plan file is for its GPUs; penstock plan ... --device NAME --gpus N plans for others",
           "--why-not"},
    Remark{{"moe", "num-experts", "experts", "num-heads", "ffn-hidden-size", "kv-heads"},
           "the shape of the model is in its config.json: penstock plan config.json --device "
           "h100-sxm --gpus 64 --global-batch 512",
           "--device"},
    Remark{{"tie-embeddings", "tie-word-embeddings", "tied", "params", "parameters", "model-size",
            "n-params", "ffn", "intermediate-size", "head-dim", "moe-layers", "architecture"},
           "the shape of the model is in its config.json, also tie_word_embeddings: penstock plan "
           "config.json --device h100-sxm --gpus 64 --global-batch 512",
           "--device"},
    Remark{{"num-layers-per-virtual-pipeline-stage", "layers-per-virtual-stage", "layers-per-stage",
            "num-layers-per-stage", "pipeline-split-points", "pipeline-parallel-split-points",
            "pipeline-model-parallel-layout", "decoder-first-pipeline-num-layers",
            "decoder-last-pipeline-num-layers", "split-points", "first-stage-layers", "cuts"},
           "write --vp N, the virtual stages of a rank (layers / PP / layers of a virtual stage); "
           "where the stages are cut is searched, and penstock predict --layout \"... cuts=..\" "
           "takes given cuts",
           "--pin"},
    Remark{{"compile", "torch-compile", "cuda-graphs", "cuda-graph", "cudagraphs", "inductor",
            "transformer-engine", "transformer-impl", "te", "kernels", "fused-kernels", "jit"},
           "kernels are not modelled one by one; a step that you measured corrects all times: "
           "--measured \"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"",
           "--measured"},
    Remark{{"deadline", "max-days", "days", "max-cost", "max-usd", "max-price", "cost-limit",
            "cost-budget", "max-hours", "training-time", "budget-usd", "usd-budget"},
           "--tokens N and --usd-per-gpu-hour X give the days and the price of the training; "
           "penstock compare ... --vary gpus=32,64,128 shows which number of GPUs keeps a limit",
           "--tokens"},
    Remark{{"cost", "cost-file", "costs"},
           "costs stand for a model only in penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost "
           "F=10ms,I=10ms,W=10ms",
           "--global-batch"},
    Remark{{"layers", "num-layers", "hidden", "hidden-size", "vocab-size", "heads"},
           "the shape of the model is in its config.json: penstock plan config.json --device "
           "h100-sxm --gpus 64 --global-batch 512",
           "--device"},
};

// What a part of a longer word says of all of it, and the row that answers.
struct Part {
  std::array<std::string_view, 16> parts;
  std::string_view word;
};
constexpr std::array kParts{
    Part{{"attention-heads", "query-groups", "group-query-attention", "window-size"}, "layers"},
    Part{{"attention-dropout", "ckpt-format"}, "dataset"},
    Part{{"attention", "flash", "attn"}, "flash-attention"},
    Part{{"fp8", "float8"}, "fp8"},
    Part{{"ac", "remat", "recompute", "checkpointing", "recomputation", "grad-ckpt",
          "ckpt-activations"},
         "activation-checkpointing"},
    Part{{"offload", "offloading"}, "offload"},
    Part{{"gantt", "fig", "figure", "chart", "plot", "draw"}, "plot"},
    Part{{"moe", "router", "swiglu", "rope", "rotary", "rmsnorm", "layernorm", "norm", "heads",
          "head", "ffn", "vocab", "hidden", "embedding", "embeddings", "topk"},
         "layers"},
    Part{{"master", "port", "addr", "rdzv", "hostfile", "ssh", "launcher", "backend", "endpoint",
          "visible", "timeout"},
         "dry-run"},
    Part{{"lr", "learning", "warmup", "decay", "data", "dataset", "tokenizer", "eval", "wandb",
          "tensorboard", "load", "init", "dropout", "clip"},
         "dataset"},
    Part{{"overlap", "bucket", "allreduce", "allgather", "p2p", "comm", "communication"},
         "overlap"},
    Part{{"kernel", "kernels", "fused", "fusion", "cuda", "impl", "mcore", "compile", "triton"},
         "compile"},
    Part{{"memory", "mem", "vram", "hbm"}, "memory"},
    Part{{"bandwidth", "gbps", "network", "latency", "nvlink", "infiniband", "ib"}, "network"},
    Part{{"price", "usd", "dollar", "dollars", "money", "cost", "deadline", "hours", "days"},
         "max-cost"},
    Part{{"fsdp", "zero", "shard", "sharded"}, "fsdp"},
    Part{{"forward", "backward", "fwd", "bwd"}, "forward"},
    Part{{"trace", "timeline", "perfetto"}, "perfetto"},
    Part{{"spot", "preemption", "preemptible"}, "spot"},
    Part{{"failure", "failures", "mtbf"}, "mttf"},
    Part{{"instance", "rack", "topology"}, "topology"},
    Part{{"node", "nodes"}, "nodes"},
};

}  // namespace

std::string_view word_for_parts(std::string_view word) {
  for (const Part& row : kParts) {
    for (const std::string_view part : row.parts) {
      const std::size_t at = part.empty() ? std::string_view::npos : word.find(part);
      if (at == std::string_view::npos) continue;
      const std::size_t end = at + part.size();
      const bool begins = at == 0 || word[at - 1] == '-' || word[at - 1] == '.';
      const bool ends = end == word.size() || word[end] == '-' || word[end] == '.';
      if (begins && ends) return row.word;
    }
  }
  return {};
}

std::span<const Remark> option_remarks() { return kRemarks; }

}  // namespace penstock
