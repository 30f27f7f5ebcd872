#include "cli/answers/options/word_for_parts.h"

#include <array>
#include <cstddef>

namespace penstock {
namespace {

// The parts, and the row that answers.
struct Part {
  std::array<std::string_view, 16> parts;
  std::string_view word;
};
constexpr std::array kParts{
    Part{{"effective", "effective-batch", "total-batch", "overall-batch", "accumulated-batch"},
         "effective-batch"},
    Part{{"kwh", "electricity", "energy", "power", "watt", "watts", "carbon", "co2"}, "power"},
    Part{{"reshard"}, "zero-3"},
    Part{{"pipeline-split", "split-points", "first-pipeline", "last-pipeline", "uneven",
          "per-stage"},
         "cuts"},
    Part{{"report-to", "tensorboard", "wandb", "comet", "mlflow", "hub", "save", "saving"},
         "wandb"},
    Part{{"overwrite"}, "overwrite"},
    Part{{"flavor", "preset"}, "model"},
    Part{{"mixed-precision", "autocast"}, "amp"},
    Part{{"ddp"}, "ddp"},
    Part{{"machine-rank", "main-process", "node-rank", "local-rank", "ip"}, "launcher"},
    Part{{"machines", "machine", "hosts"}, "nodes"},
    Part{{"attention-heads", "query-groups", "group-query-attention", "window-size"}, "layers"},
    Part{{"attention-dropout", "ckpt-format"}, "dataset"},
    Part{{"attention", "flash", "attn"}, "flash-attention"},
    Part{{"fp8", "float8"}, "fp8"},
    Part{{"ac", "remat", "recompute", "checkpointing", "recomputation", "grad-ckpt",
          "activation-checkpoint", "activations-checkpoint", "ckpt-activations"},
         "activation-checkpointing"},
    Part{{"offload", "offloading", "cpu-adam", "cpu-optimizer"}, "offload"},
    Part{{"gantt", "fig", "figure", "chart", "plot", "draw"}, "plot"},
    Part{{"rope-fusion", "swiglu-fusion", "norm-fusion", "vocab-parallel"}, "cuda-graphs"},
    Part{{"swiglu", "rope", "rotary", "rmsnorm", "layernorm", "norm", "heads", "head", "ffn",
          "vocab", "hidden", "embedding", "embeddings", "num-experts", "intermediate"},
         "layers"},
    Part{{"master", "port", "addr", "rdzv", "hostfile", "ssh", "launcher", "backend", "endpoint",
          "visible", "timeout", "include", "nodelist", "interface"},
         "launcher"},
    Part{{"lr", "learning", "warmup", "decay", "data", "dataset", "tokenizer", "eval", "wandb",
          "tensorboard", "load", "init", "dropout", "clip", "clipping", "dataloader"},
         "dataset"},
    Part{{"epochs", "iterations", "iters", "samples"}, "epochs"},
    Part{{"overlap", "allreduce", "allgather", "p2p", "comm", "communication"}, "overlap"},
    Part{{"compile", "inductor"}, "compile"},
    Part{{"kernel", "kernels", "fused", "fusion", "cuda", "impl", "mcore", "triton"},
         "cuda-graphs"},
    Part{{"memory", "mem", "vram", "hbm"}, "memory"},
    Part{{"nic", "nics", "hca", "oversubscription", "switch", "fat-tree", "rail", "spine",
          "bandwidth", "gbps", "network", "latency", "nvlink", "infiniband", "ib"},
         "network"},
    Part{{"price", "usd", "dollar", "dollars", "money", "cost", "deadline", "finish", "until",
          "hours", "days", "daily", "weekly", "monthly", "yearly", "annual"},
         "max-cost"},
    Part{{"fsdp", "zero", "shard", "sharded", "stage3", "zero3", "stage2", "zero2"}, "fsdp"},
    Part{{"forward", "backward", "fwd", "bwd"}, "forward"},
    Part{{"trace", "timeline", "perfetto"}, "perfetto"},
    Part{{"spot", "preemption", "preemptible"}, "spot"},
    Part{{"lora", "peft", "qlora", "adapter", "adapters"}, "lora"},
    Part{{"spare", "spares", "idle"}, "spare"},
    Part{{"cache", "log", "logs", "logging", "logdir", "experiment", "project", "workdir"},
         "cache"},
    Part{{"interleave", "interleaved", "interleaving", "virtual"}, "interleave"},
    Part{{"fast", "quick", "effort", "exhaustive", "trials", "beam"}, "fast"},
    Part{{"failure", "failures", "mtbf"}, "mttf"},
    Part{{"instance", "rack", "topology"}, "topology"},
    Part{{"node", "nodes"}, "nodes"},
    Part{{"layers", "layer"}, "layers"},
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

}  // namespace penstock
