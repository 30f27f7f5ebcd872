// Remarks on the question that is asked of a search, on machines, times and prices; and what is
// said to all verbs.
#include <array>
#include <span>

#include "cli/answers/options/option_remarks.h"
#include "cli/answers/options/remark_tables.h"

namespace penstock {
namespace {

constexpr std::array kOnSearches{
    Remark{
        {"epochs", "steps", "max-steps", "num-steps", "train-iters", "iterations", "samples",
         "training-steps", "train-steps", "total-steps"},
        "a step is planned; --tokens N, the tokens of the whole training (steps x global batch x "
        "sequence length), gives its days and its price",
        "--tokens"},
    Remark{{"lora", "peft", "qlora", "finetune", "fine-tune"},
           "leave it out: all parameters are trained (LoRA and other adapters are not modelled), "
           "so that the memory of the answer is more than theirs"},
    Remark{{"optimizer", "optim", "adam", "adamw", "sgd"},
           "leave it out: AdamW in mixed precision is assumed; a profile may say otherwise "
           "(docs/file_formats.md)",
           "--device"},
    Remark{{"currency", "eur", "euro", "gbp", "yen", "rmb"},
           "prices are in US dollars: --usd-per-gpu-hour X",
           "--usd-per-gpu-hour"},
    Remark{{"assumptions", "assumption", "assumed", "show-assumptions"},
           "leave it out: penstock plan ... -v prints all that an estimate assumes, and penstock "
           "devices NAME what is assumed of a GPU"},
    Remark{{"yaml", "toml", "xml"}, "programs read --json"},
    Remark{{"perfetto", "chrome", "chrome-trace"},
           "penstock trace plan.json -o step.json writes what opens in ui.perfetto.dev"},
    Remark{
        {"micro-batch-count", "num-micro-batch", "num-microbatch", "num-seq", "num-seqs",
         "num-sequences", "seq-count"},
        "--global-batch counts the sequences of a step, --sequence-length the tokens of one; the "
        "micro-batches follow from --global-batch, DP and mbs",
        "--global-batch"},
    Remark{{"o0", "o1", "o2", "o3"}, "leave it out: nothing is compiled here"},
    Remark{{"dataset", "data", "lr", "learning-rate", "warmup", "tokenizer", "wandb", "dropout",
            "num-workers"},
           "leave it out: it changes neither the time of a step nor its memory",
           "--global-batch"},
    Remark{{"output-dir", "outdir", "out-dir", "output-folder", "save-dir"},
           "a plan is one file: -o plan.json; penstock export plan.json --to TRAINER -o FOLDER "
           "writes a folder",
           "--baseline"},
    Remark{
        {"spot", "preemptible", "preemption", "preemption-rate", "interruption-rate",
         "eviction-rate", "spot-instances"},
        "GPUs that are taken away: --mtbf-hours H with --tokens N counts what failures cost, and "
        "penstock morph --book book.json --trace trace.csv replays a recording of GPUs that "
        "come and go; a spot price is --usd-per-gpu-hour X",
        "--mtbf-hours"},
    Remark{{"max-price", "max-hourly-price", "bid", "bid-price", "spot-max-price"},
           "write --usd-per-gpu-hour {X}, the price of one GPU; nothing is bid for and no limit is "
           "kept: with --tokens N the price of the training is printed, and penstock compare ... "
           "--vary gpus=32,64,128 shows that of each number of GPUs",
           "--usd-per-gpu-hour"},
    Remark{{"on-demand", "cloud", "region", "zone", "provider"},
           "say the price with --usd-per-gpu-hour X; penstock import skypilot vms.csv --spot puts "
           "a cloud's prices into a cluster file",
           "--usd-per-gpu-hour"},
    Remark{{"quiet", "q", "silent", "no-progress"},
           "only progress goes to stderr: 2>/dev/null hides it"},
    Remark{{"dir", "folder", "results", "write", "plan-file", "save-plan", "file", "output-dir",
            "outdir", "out-dir", "output-folder", "save-dir"},
           "write -o FILE; penstock export writes a folder, -o FOLDER",
           "--output"},
    Remark{{"mttf", "failure-rate", "failures", "mtbf-days", "mean-time-between-failures"},
           "write --mtbf-hours X, the mean time between failures of one GPU, with --tokens N",
           "--mtbf-hours"},
    Remark{{"slurm", "sbatch", "k8s", "kubernetes", "skypilot", "ray", "torchrun", "launch",
            "job-name"},
           "penstock export plan.json --to megatron -o job writes run.sh, job.sbatch and sky.yaml",
           "--global-batch"},
    Remark{{"instance-type", "instance", "aws", "gcp", "azure", "topology", "rack", "rack-size",
            "racks", "switch", "pod", "pods"},
           "machines and links are in the cluster file: --cluster FILE (data/clusters has some, "
           "docs/file_formats.md the keys)",
           "--cluster"},
    Remark{{"power", "energy", "watts", "co2", "carbon", "electricity", "kwh", "pue", "tdp",
            "power-cap", "power-limit", "emissions"},
           "leave it out: power and energy are not modelled; --usd-per-gpu-hour X may hold what "
           "they cost"},
    Remark{{"print", "stdout", "echo"},
           "the answer is printed anyway; -v prints all of it, --json the figures",
           "--every-candidate"},
    Remark{
        {"pdf", "print"}, "write -o report.html, and print it to a PDF in a browser", "--baseline"},
    Remark{{"megatron"}, "write --to megatron", "--to"},
    Remark{{"torchtitan"}, "write --to torchtitan", "--to"},
    Remark{{"deepspeed"}, "write --to deepspeed", "--to"},
    Remark{{"megatron", "torchtitan", "deepspeed", "pytorch"},
           "name the trainer with --for (plan) or --to (export), for example --for megatron"},
    Remark{{"schedule"},
           "a plan has its own; ask with penstock explain PLAN --why-not schedule=1f1b why it is "
           "not another"},
    Remark{{"nodes", "num-nodes", "nnodes", "n-nodes", "nproc-per-node"},
           "one number stands for the GPUs of all nodes: --gpus 64 for 8 nodes of 8 (as the "
           "device's datasheet has them; other nodes: --gpus-per-node 4)",
           "--gpus-per-node"},
    Remark{{"nodes", "num-nodes", "nnodes", "n-nodes", "gpus-per-node", "nproc-per-node"},
           "one number stands for the GPUs of all nodes: --gpus 64 for 8 nodes of 8 (as the "
           "device's datasheet has them; other nodes: --cluster FILE)",
           "--gpus"},
    Remark{{"effective-batch", "effective-batch-size", "total-batch-size", "total-batch"},
           "write --global-batch N: samples per step over all GPUs",
           "--global-batch"},
    Remark{{"batch", "batch-size", "bs", "batchsize"},
           "which one? --global-batch {N}: samples per step over all GPUs; --pin mbs={N}: the "
           "micro-batch of one GPU; --global-batch-tokens N: tokens per step",
           "--global-batch"},
    Remark{{"config-path", "config-dir", "config-folder", "conf-dir", "config-store"},
           "leave it out: no folder of settings is read; the model is one file, its config.json, "
           "given without a name",
           "--global-batch"},
    Remark{
        {"model", "config", "config-name", "profile", "model-config", "model-name", "model-path"},
        "the model is the argument without a name: penstock plan config.json --device h100-sxm "
        "--gpus 64 --global-batch 512",
        "--device"},
    Remark{{"memory-timeline", "memory-over-time", "memory-profile", "memory-trace", "memory-curve",
            "memory-usage", "mem-timeline", "memory-history", "memory-csv", "mem-csv",
            "memory-snapshot", "mem-profile", "memory-report"},
           "write the plan with -o plan.json; penstock simulate plan.json --memory-csv memory.csv "
           "writes what every rank holds over time, penstock report plan.json -o report.html draws "
           "it",
           "--every-candidate"},
    Remark{{"memory-timeline", "memory-over-time", "memory-profile", "memory-trace", "memory-curve",
            "memory-usage", "mem-timeline", "memory-history", "memory-csv", "mem-csv",
            "memory-snapshot", "mem-profile", "memory-report"},
           "penstock simulate plan.json --memory-csv memory.csv writes what every rank holds over "
           "time, penstock report plan.json -o report.html draws it"},
    Remark{{"keep-free", "free-memory"},
           "the memory is the device's (--device); --reserve-gib X leaves X GiB of it free",
           "--reserve-gib"},
    Remark{{"network", "interconnect", "bandwidth", "ib", "infiniband", "nvlink", "latency", "nccl",
            "rdma", "roce", "ethernet", "efa", "link"},
           "the network between nodes is --network 200Gb/s, what one GPU has of it; latencies and "
           "links inside a node are in a cluster file: penstock devices h100-sxm --gpus 64 "
           "--cluster-out cluster.json writes one to edit, for --cluster cluster.json",
           "--network"},
    Remark{{"network", "interconnect", "bandwidth", "ib", "infiniband", "nvlink", "latency", "nccl",
            "rdma", "roce", "ethernet", "efa", "link"},
           "links are in the cluster file: --cluster FILE; compare --vary bandwidth=0.5,1,2 asks "
           "what if (factors)",
           "--cluster"},
    Remark{{"nccl-tests", "nccl-test", "all-reduce-perf", "busbw", "nccl-file", "nccl-results",
            "links-file", "measured-links", "bandwidth-file", "nccl-log"},
           "two commands: penstock import nccl-tests {all_reduce.txt} --device h100-sxm --gpus 64 "
           "-o cluster.json puts what was measured into a cluster file; then penstock plan "
           "config.json --cluster cluster.json --global-batch 512, with what else you typed",
           "--network"},
    Remark{{"list-devices", "list-gpus", "show-devices", "devices-list", "list-device",
            "list-hardware", "show-gpus", "available-gpus", "known-devices"},
           "write penstock devices, which lists the GPUs that --device takes",
           "--device"},
    Remark{
        {"peak-tflops", "peak-flops", "peak", "tflops-peak", "peak-tflops-per-gpu", "flops-per-gpu",
         "gpu-tflops", "device-tflops", "gpu-flops", "tflops", "flops", "hardware-tflops",
         "peak-performance", "max-tflops", "bf16-tflops", "tflops-per-gpu", "flops-per-s"},
        "the figures of a GPU are in its file: penstock devices h100-sxm -o my-gpu.json writes "
        "it; edit \"flops_per_s\" there ({800} TFLOP/s are {800}e12) and give --device "
        "my-gpu.json; a step that you measured is told by --measured",
        "--network"},
    Remark{
        {"memory-bandwidth", "hbm-bandwidth", "mem-bandwidth", "gpu-bandwidth", "nvlink-bandwidth",
         "nvlink-speed", "intra-node-bandwidth", "intranode-bandwidth", "gpus-per-node-link"},
        "the figures of a GPU are in its file: penstock devices h100-sxm -o my-gpu.json writes "
        "it; edit \"memory_bandwidth_bytes_per_s\" or the node's \"bandwidth_bytes_per_s\" "
        "there, and give --device my-gpu.json",
        "--network"},
    Remark{{"target-mfu", "mfu-target", "goal", "desired-mfu", "target-throughput",
            "target-tokens-per-second"},
           "leave it out: nothing is aimed at; the fastest plan is searched, and printed with its "
           "MFU and tokens/s",
           "--every-candidate"},
    Remark{{"why-not", "whynot", "why-isnt"},
           "a plan is asked why it is not another one: add -o plan.json, then penstock explain "
           "plan.json --why-not TP=8,PP=4",
           "--every-candidate"},
    Remark{{"efficiency", "mfu", "utilization", "measured-time", "step-time"},
           "tell a step that you measured: --measured \"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"; all "
           "times are fitted to it; without one, a slower GPU is a file: penstock devices h100-sxm "
           "-o my-gpu.json writes it, to be edited, for --device my-gpu.json",
           "--measured"},
    Remark{{"inference", "serving", "rlhf", "ppo", "dpo", "generate"},
           "training steps are planned: forward, backward and update of one model",
           "--global-batch"},
    Remark{{"seed", "random-seed", "deterministic"},
           "leave it out: nothing is random, and the same question has the same answer",
           "--every-candidate"},
    Remark{{"dry-run", "dryrun", "yes", "force", "y", "no-launch", "simulate", "launcher"},
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
    Remark{{"fast", "quick", "effort", "trials", "speed", "beam", "population", "generations",
            "thorough", "exhaustive", "brute-force", "depth"},
           "the search ends by itself, or with --budget 30s; --every-candidate replays all",
           "--every-candidate"},
    Remark{{"overhead", "slack", "margin", "derate", "headroom", "safety", "efficiency-factor",
            "scale-factor"},
           "times are fitted to a step that you measured: --measured \"TP=4 PP=4 mbs=1 gbs=128: "
           "14.66s\"; --reserve-gib X leaves memory free",
           "--measured"},
    Remark{{"show-all", "pareto", "stats", "statistics", "report-all", "long", "extended", "table"},
           "write -v: the whole report, with the Pareto front and the counts of the search",
           "--every-candidate"},
    Remark{{"checkpoint-interval", "ckpt-interval", "save-interval", "save-steps", "save-freq",
            "checkpoint-every", "save-every", "checkpoint-frequency", "ckpt-freq"},
           "leave it out: the interval between checkpoints follows from --mtbf-hours and "
           "--checkpoint-minutes, with --tokens N",
           "--checkpoint-minutes"},
    Remark{{"overwrite", "append", "clobber", "replace", "force", "yes"},
           "leave it out: -o FILE writes the file anew",
           "--output"},
    Remark{
        {"solver", "algorithm", "method", "ilp", "milp", "genetic", "heuristic"},
        "the search is exact within what it tries: nothing chooses how; --budget 30s ends it early",
        "--every-candidate"},
    Remark{{"help-all", "help-full", "full-help", "usage", "options"}, "write --help"},
    Remark{
        {"packing",
         "pack",
         "packed",
         "sample-packing",
         "varlen",
         "documents",
         "lengths",
         "group-by-length",
         "length-grouped",
         "bucketing",
         "bucket",
         "buckets",
         "variable-seq-lengths",
         "variable-length",
         "variable-lengths",
         "dynamic-batching",
         "dynamic-batch",
         "dynamic-batch-size",
         "use-dynamic-bsz",
         "ragged",
         "remove-padding",
         "padding-free",
         "length-bucketing"},
        "leave it out: all samples have one length here; those of different lengths are planned, "
        "also packed (--pack), by penstock dynamic config.json --lengths "
        "data/lengths/flan-cot.csv --device h100-sxm --gpus 64 (a file with a length a line)",
        "--global-batch"},
    Remark{
        {"partition", "account", "time", "walltime", "qos", "reservation", "constraint",
         "exclusive", "nodelist", "cpus-per-task", "mail-user", "exclude-nodes", "array", "begin"},
        "leave it out: nothing is started here; the settings of Slurm stand in job.sbatch, which "
        "penstock export plan.json --to megatron -o job writes",
        "--global-batch"},
    Remark{{"step", "stride", "increment", "by"},
           "of several numbers of GPUs the step follows a colon: --gpus 8..64:8; steps of the "
           "training are counted in tokens: --tokens N",
           "--global-batch-tokens"},
    Remark{{"auto-find-batch-size", "auto-batch", "auto-batch-size", "auto-micro-batch",
            "auto-tune", "autotune", "autotuning", "tune", "optimize", "auto"},
           "leave it out: micro-batch size, degrees, schedule and recompute are searched anyway",
           "--every-candidate"},
    Remark{{"bandwidth", "latency", "network", "gbps", "alpha", "beta"},
           "a transfer is given by its time, C: --cost F=10ms,B=20ms,C=0.5ms",
           "--cost"},
    Remark{{"version"}, "write penstock --version"},
    Remark{{"cuda-graphs", "cuda-graph", "cudagraphs", "transformer-engine", "transformer-impl",
            "te", "kernels"},
           "leave it out: kernels are not modelled one by one; a step that you measured corrects "
           "all times: "
           "--measured \"TP=4 PP=4 mbs=1 gbs=128: 14.66s\"",
           "--measured"},
    Remark{{"deadline", "max-days", "days", "max-cost", "max-usd", "cost-limit", "cost-budget",
            "max-hours", "training-time", "budget-usd", "usd-budget", "max-budget", "total-budget"},
           "--tokens N and --usd-per-gpu-hour X give the days and the price of the training; "
           "penstock compare ... --vary gpus=32,64,128 shows which number of GPUs keeps a limit",
           "--tokens"},
    Remark{{"num-experts",
            "experts",
            "expert",
            "moe",
            "num-local-experts",
            "local-experts",
            "n-routed-experts",
            "routed-experts",
            "shared-experts",
            "num-shared-experts",
            "num-experts-per-tok",
            "experts-per-tok",
            "experts-per-token",
            "moe-router-topk",
            "router-topk",
            "moe-topk",
            "moe-top-k",
            "moe-num-experts",
            "moe-experts",
            "moe-ffn-hidden-size",
            "moe-layer-freq",
            "moe-layer-frequency",
            "moe-intermediate-size"},
           "experts stand in the model's config.json, as num_local_experts and "
           "num_experts_per_tok: data/models/mixtral-8x7b.json is a model that has some; how many "
           "GPUs they are divided over is searched, or given by --ep N",
           "--device"},
    Remark{{"layers", "hidden", "heads", "vocab-size", "ffn", "head-dim", "kv-heads", "tied",
            "params", "parameters"},
           "leave it out: the shape of the model is in its config.json",
           "--device"},
    Remark{{"cost-file"},
           "costs stand for a model only in penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost "
           "F=10ms,I=10ms,W=10ms",
           "--global-batch"},
    Remark{{"cost", "costs"},
           "a price is --usd-per-gpu-hour X, that of one GPU; costs stand for a model only in "
           "penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms",
           "--global-batch"},
    // They may be those of a node.
    Remark{{"cost", "price-per-hour", "cost-per-hour", "hourly-cost", "hourly-price", "hourly-rate",
            "spot-price"},
           "which price? --usd-per-gpu-hour {PRICE} is that of one GPU; that of a node is divided "
           "by its GPUs, {PRICE} by 8 in nodes of 8",
           "--usd-per-gpu-hour"},
    Remark{{"node-price", "node-cost", "price-per-node-hour", "cost-per-node-hour",
            "usd-per-node-hour", "usd-per-node", "price-per-node"},
           "write --usd-per-gpu-hour X, the price of one GPU; that of a node is divided by its "
           "GPUs, {PRICE} by 8 in nodes of 8",
           "--usd-per-gpu-hour"},
};

}  // namespace

std::span<const Remark> remarks_on_searches() { return kOnSearches; }

}  // namespace penstock
