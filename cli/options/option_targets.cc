#include "cli/options/option_targets.h"

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
constexpr Target kPrecision{"--precision", ""};
constexpr Target kPrice{"--usd-per-gpu-hour", ""};
constexpr Target kBudget{"--budget", ""};
constexpr Target kTop{"--top", ""};
constexpr Target kThreads{"--threads", ""};
constexpr Target kOutput{"--output", ""};
constexpr Target kFor{"--for", ""};
constexpr Target kTokens{"--tokens", ""};
constexpr Target kBatchTokens{"--global-batch-tokens", ""};
constexpr std::array kOtherNames{
    OtherName{{"num-gpus", "ngpus", "g", "n-gpus", "gpu-count", "world-size", "devices", "n", "np",
               "num-devices", "num-device", "device-count", "num-processes", "nprocs"},
              {{kGpus}}},
    OtherName{{"gpu-type", "gpu-name", "gpu-model", "hardware", "accelerator"}, {{kDevice}}},
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
