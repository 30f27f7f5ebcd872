#include "cli/answers/options/option_targets.h"

namespace penstock {
namespace {

constexpr std::array kDegrees{
    Degree{
        {"T"}, {{{"--pin", "T="}, {"--layout", "TP="}}}, "leave it out: no model is divided here"},
    Degree{{"C"},
           {{{"--pin", "C="}, {"--layout", "CP="}}},
           "leave it out: no sequence is divided here"},
    Degree{{"EP"},
           {{{"--pin", "EP="}, {"--layout", "EP="}}},
           "leave it out: no experts are divided here"},
    Degree{{"ETP"},
           {{{"--pin", "ETP="}, {"--layout", "ETP="}}},
           "leave it out: no experts are divided here"},
    Degree{{"P"}, {{{"-P", ""}, {"--pin", "P="}, {"--layout", "PP="}}}, ""},
    Degree{{"D"},
           {{{"--pin", "D="}, {"--layout", "DP="}}},
           "leave it out: one replica is replayed here"},
    Degree{{"V"}, {{{"-V", ""}, {"--pin", "V="}, {"--layout", "VP="}}}, ""},
    Degree{{"b"},
           {{{"--pin", "b="}, {"--layout", "mbs="}, {"--micro-batch-sizes", ""}}},
           "leave it out: costs are those of one micro-batch, whatever its size"},
    Degree{{"M"},
           {{{"-M", ""}, {"--layout", "M="}}},
           "the micro-batches of a step follow from the global batch, DP and mbs: --global-batch, "
           "--pin DP=..,mbs=..; without a model: penstock schedule 1f1b -P 4 -M 8 --cost "
           "F=10ms,B=20ms"},
    Degree{{"global-batch"},
           {{{"--global-batch", ""}, {"--layout", "gbs="}}},
           "say the micro-batches of a step: -M"},
    Degree{{"sequence-length"},
           {{{"--sequence-length", ""}, {"--layout", "seq="}}},
           "what is given says it: the plan, the costs or the lengths of the samples"},
};

constexpr Target kGpus{"--gpus", ""};
constexpr Target kDevice{"--device", ""};
constexpr Target kNetwork{"--network", ""};
constexpr Target kPrecision{"--precision", ""};
constexpr Target kPrice{"--usd-per-gpu-hour", ""};
constexpr Target kBudget{"--budget", ""};
constexpr Target kTop{"--top", ""};
constexpr Target kThreads{"--threads", ""};
constexpr Target kOutput{"--output", ""};
constexpr Target kFor{"--for", ""};
constexpr Target kMemoryLimit{"--memory-limit", ""};
constexpr Target kTokens{"--tokens", ""};
constexpr Target kBatchTokens{"--global-batch-tokens", ""};
constexpr std::array kOtherNames{
    OtherName{{"num-gpus", "ngpus", "g", "n-gpus", "gpu-count", "world-size", "devices", "n", "np",
               "num-devices", "num-device", "device-count", "num-processes", "nprocs"},
              {{kGpus, kDevice}}},
    OtherName{{"gpu-type", "gpu-name", "gpu-model", "hardware", "accelerator"}, {{kDevice}}},
    OtherName{{"network-bandwidth", "net-bandwidth", "bandwidth", "ib-bandwidth", "interconnect",
               "interconnect-bandwidth", "inter-node-bandwidth", "internode-bandwidth", "nic",
               "nics", "nic-speed", "nic-bandwidth", "network-speed", "link-bandwidth"},
              {{kNetwork}}},
    OtherName{{"ib", "infiniband", "ib-speed", "ib-rate", "fabric", "roce", "efa", "ethernet",
               "net", "network-rate", "link-speed", "inter-bandwidth", "internode", "inter-node"},
              {{kNetwork}}},
    OtherName{{"dtype", "data-type", "torch-dtype", "mixed-precision"}, {{kPrecision}}},
    OtherName{{"price", "gpu-price", "usd-per-hour", "usd", "cost-per-gpu-hour", "gpu-cost"},
              {{kPrice}}},
    OtherName{{"timeout", "time-limit", "max-time"}, {{kBudget}}},
    OtherName{{"topk", "top-k", "num-plans", "k"}, {{kTop}}},
    OtherName{{"jobs", "j", "workers", "num-threads", "num-jobs", "n-jobs"}, {{kThreads}}},
    OtherName{{"out", "outfile", "output-file", "save"}, {{kOutput}}},
    OtherName{{"trainer", "framework", "backend", "engine"}, {{kFor, {"--to", ""}}}},
    OtherName{{"trainer", "framework"}, {{{"--as", ""}}}},
    OtherName{{"slurm-nodes", "slurm-nnodes"}, {{{"--nodes", ""}}}},
    OtherName{{"target"}, {{{"--to", ""}, kFor}}},
    OtherName{{"for"}, {{{"--to", ""}, {"--as", ""}}}},
    OtherName{{"format"}, {{{"--to", ""}}}},
    OtherName{{"model", "model-config"}, {{{"--config", ""}}}},
    OtherName{{"mtbf"}, {{{"--mtbf-hours", ""}}}},
    OtherName{{"memory", "mem", "max-memory", "max-mem", "gpu-memory", "gpu-mem", "hbm", "vram",
               "memory-per-gpu", "mem-per-gpu", "memory-budget", "mem-limit", "device-memory",
               "memory-gib"},
              {{kMemoryLimit}}},
    OtherName{{"gpu-memory-utilization", "gpu-memory-fraction", "memory-fraction",
               "memory-utilization", "gpu-memory-limit", "max-memory-per-gpu", "max-gpu-memory",
               "hbm-limit", "vram-limit", "memory-limit-gib", "memory-cap", "per-device-memory",
               "memory-per-device", "max-memory-gib"},
              {{kMemoryLimit}}},
    OtherName{{"memory-timeline", "memory-over-time", "memory-profile", "memory-trace",
               "memory-curve", "memory-usage", "mem-timeline", "memory-log", "memory-file",
               "mem-csv", "memory-history", "memory-snapshot", "memory-report", "mem-profile"},
              {{{"--memory-csv", ""}}}},
    OtherName{{"straggler", "stragglers", "slow-part"}, {{{"--slow", ""}}}},
    OtherName{{"slow-rank", "straggler-rank"}, {{{"--slow", "rank="}}}},
    OtherName{{"slow-gpu", "straggler-gpu", "slow-device", "straggler-device", "degraded-gpu"},
              {{{"--slow", "gpu="}}}},
    OtherName{{"slow-node", "straggler-node", "degraded-node"}, {{{"--slow", "node="}}}},
    OtherName{{"reserve-memory", "memory-reserve", "reserved-memory", "reserve-mem",
               "memory-headroom", "memory-margin"},
              {{{"--reserve-gib", ""}}}},
    OtherName{{"slow-link", "degraded-link"}, {{{"--slow", "link="}}}},
    OtherName{{"slowdown", "slow-factor", "slowdown-factor", "straggler-factor", "slow-by",
               "slowdown-percent", "straggler-slowdown"},
              {{{"--slow", "by="}}}},
    OtherName{{"total-tokens", "train-tokens", "training-tokens"}, {{kTokens}}},
    OtherName{{"batch-tokens", "tokens-per-step"}, {{kBatchTokens, {"--tokens-per-batch", ""}}}},
    OtherName{{"global-batch-tokens"}, {{{"--tokens-per-batch", ""}}}},
    OtherName{{"max-len", "maxlen", "max-tokens-per-sample", "longest"}, {{{"--max-length", ""}}}},
    OtherName{{"sizes"}, {{{"--micro-batch-sizes", ""}}}},
    OtherName{{"lengths"}, {{{"--sequence-length", ""}}}},
    OtherName{{"tokens-per-batch"}, {{kBatchTokens}}},
    OtherName{{"schedule", "pipeline-schedule", "pipeline-parallel-schedule"},
              {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    OtherName{{"recompute", "recompute-granularity", "activation-checkpoint-mode"},
              {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    OtherName{{"zero1"}, {{{"--zero1", ""}, {"--layout", "zero1="}}}},
    OtherName{{"sharding", "data-parallel-sharding-strategy"},
              {{{"--sharding", ""}, {"--layout", "sharding="}}}},
    OtherName{{"placement"}, {{{"--placement", ""}, {"--layout", "placement="}}}},
    OtherName{{"cuts"}, {{{"--layout", "cuts="}}}},
    OtherName{{"costs"}, {{{"--cost", ""}}}},
    OtherName{{"lr"}, {{{"--learning-rate", ""}}}},
    OtherName{{"min-learning-rate"}, {{{"--min-lr", ""}}}},
    OtherName{{"skip", "skip-steps", "warmup-steps", "skip-first", "skip-iterations",
               "discard-first", "ignore-first", "burn-in"},
              {{{"--warm-up", ""}}}},
};

}  // namespace

std::span<const Degree> option_degrees() { return kDegrees; }

std::span<const OtherName> other_option_names() { return kOtherNames; }

}  // namespace penstock
