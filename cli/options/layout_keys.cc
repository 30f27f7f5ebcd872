#include "cli/options/layout_keys.h"

#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

// What a key is called, the first as --help has it, and what it means.
struct Key {
  std::array<std::string_view, 4> names;
  std::string_view means;
};
constexpr std::array kKeys{
    Key{{"TP", "T", "tensor"}, "tensor degree, default 1"},
    Key{{"CP", "C", "context"}, "ranks that divide every sequence, default 1"},
    Key{{"cp-kind", "cp-comm-type", "context-kind"},
        "ring (default), all-gather or ulysses: how they attend to each other's tokens"},
    Key{{"EP", "expert", "experts"},
        "ranks of DP x CP x TP that have the experts of a layer between them, default 1"},
    Key{{"ETP", "expert-tensor"}, "ranks that divide one expert, 1 or TP, default 1 where EP > 1"},
    Key{{"PP", "P", "pipeline"}, "pipeline ranks, default 1"},
    Key{{"DP", "D", "data"}, "replicas, default --gpus / (TP CP PP), else 1"},
    Key{{"VP", "V", "VPP", "chunks"},
        "virtual stages per rank, default the fewest of the schedule"},
    Key{{"mbs", "b"}, "micro-batch size, default 1"},
    Key{{"gbs", "gb", "B", "global-batch"}, "samples per step"},
    Key{{"M", "micro-batches"}, "micro-batches of a replica, instead of gbs"},
    Key{{"seq", "s", "sequence-length"}, "tokens per sample, default the model's"},
    Key{{"schedule"}, "default 1f1b, with VP > 1 interleaved"},
    Key{{"recompute"}, "a mode of the profile, default none"},
    Key{{"recompute-sections"},
        "4,3,..: how many sections of every stage use that mode, counted from its first, "
        "default all"},
    Key{{"zero1", "distributed-optimizer"}, "on or off, default off"},
    Key{{"sharding", "zero-stage", "zero"},
        "none, zero1, zero2, zero3 or fsdp, fsdp:8 in groups of 8 replicas (HSDP), default none"},
    Key{{"FSDP", "dp-shard", "data-parallel-shard-degree"},
        "sharding=fsdp over this many ranks, with more replicas in groups of them (HSDP)"},
    Key{{"offload"}, "none (default) or optimizer: its state lies on the host, which updates"},
    Key{{"placement"},
        "pipeline-inner (default: neighbouring ranks hold the stages of one replica) or "
        "data-inner"},
    Key{{"device"}, "a device type of the cluster"},
    Key{{"devices"}, "device types of a mixed pipeline, its ranks in order: 2*a100+2*v100"},
    Key{{"replicas"},
        "unequal replicas: 2*a100:24/(a100+v100):8 lists the kinds of replicas, separated by /, "
        "each COUNT*DEVICES and after the colon the samples of each replica per step (without: an "
        "equal part of the rest)"},
    Key{{"cuts"},
        "equal (default: as many layers on every stage, the embedding on the first, the head on "
        "the last); search (as plan does); or 0,5,..: the first section of every stage, and at "
        "the end the number of sections"},
};

// What is said elsewhere, or in another word; "{}" is the value that was typed.
struct KeyElsewhere {
  std::array<std::string_view, 6> names;
  std::string_view help;
};
constexpr std::array kElsewhere{
    KeyElsewhere{{"sp", "sequence-parallel", "precision", "attention", "bf16", "dtype"},
                 "leave it out of the layout: sequence parallelism, precision and attention have "
                 "options (--sequence-parallelism off, --precision bfloat16, --attention flash2)"},
    KeyElsewhere{{"gpus", "gpu", "world-size", "ngpus", "num-gpus", "ranks"},
                 "the layout takes TP x CP x PP x DP GPUs; an option counts those that there are, "
                 "and DP follows where it is left out: --gpus {}"},
    KeyElsewhere{{"nodes", "nnodes", "num-nodes", "hosts", "", ""},
                 "the layout takes TP x CP x PP x DP GPUs; those of all nodes are an option: "
                 "--gpus N"},
    KeyElsewhere{{"layers", "hidden", "heads", "hidden-size", "num-layers", "vocab"},
                 "leave it out: the model's config.json says it"},
    KeyElsewhere{{"model", "config", "profile", "name", "", ""},
                 "leave it out: the model is the first argument"},
    KeyElsewhere{{"for", "trainer", "framework", "backend", "engine", ""},
                 "it is an option: --for {}"},
    KeyElsewhere{{"ac", "activation-checkpointing", "checkpointing", "ckpt", "remat",
                  "gradient-checkpointing"},
                 "write recompute=full or recompute=selective"},
    KeyElsewhere{{"optimizer-offload", "cpu-offload", "offload-optimizer", "", "", ""},
                 "write offload=optimizer"},
    KeyElsewhere{
        {"pp-schedule", "pipeline-schedule", "sched", "pipeline-parallel-schedule", "", ""},
        "write schedule={}"},
    KeyElsewhere{{"zero-3", "zero3", "hsdp", "ddp", "fsdp2", "ds-zero"},
                 "write sharding=zero3, zero2, zero1, fsdp (fsdp:8 in groups of 8) or none"},
    KeyElsewhere{{"tokens", "batch-tokens", "global-batch-tokens", "tokens-per-batch",
                  "tokens-per-step", ""},
                 "gbs counts samples: the tokens of a step divided by seq"},
    KeyElsewhere{{"lr", "learning-rate", "steps", "epochs", "seed", "wd"},
                 "leave it out: it changes neither the time of a step nor its memory"},
    KeyElsewhere{{"time", "step-time", "measured", "latency", "", ""},
                 "a time that you measured is an option: --measured {}"},
};

}  // namespace

std::string_view key_named(std::string_view name) {
  if (name == "b") return "mbs";
  if (name == "B") return "gbs";
  for (const Key& key : kKeys) {
    for (const std::string_view known : key.names) {
      if (!known.empty() && plain_word(known) == plain_word(name)) return key.names[0];
    }
  }
  const std::string field = field_word(key_called(name));
  for (const Key& key : kKeys) {
    if (key.names[0] == field) return key.names[0];
  }
  return {};
}

void refuse_elsewhere(std::string_view option, std::string_view name, const std::string& value) {
  for (const KeyElsewhere& row : kElsewhere) {
    if (!is_among(row.names, plain_word(name))) continue;
    std::string help(row.help);
    if (const std::size_t at = help.find("{}"); at != std::string::npos) {
      help.replace(at, 2, value.empty() ? "N" : value);
    }
    bad_option(option, fmt::format("unknown key '{}'", name), help);
  }
}

void unknown_key(std::string_view option, std::string_view name, const std::string& value) {
  for (const std::string_view batch : {"bs", "batch", "batch-size", "bsz"}) {
    if (plain_word(name) != batch) continue;
    bad_option(
        option, fmt::format("'{}' does not say of what", name),
        "write gbs=N, the samples of a step over all GPUs, or mbs=N, those of a micro-batch");
  }
  refuse_elsewhere(option, name, value);
  std::vector<std::string> known, first;
  for (const Key& key : kKeys) {
    first.emplace_back(key.names[0]);
    for (const std::string_view each : key.names) {
      if (!each.empty()) known.emplace_back(each);
    }
  }
  const std::string near = did_you_mean(name, known);
  constexpr std::size_t kShortest = 3;  // "ga" is one letter from "gb", and means another thing
  const bool is_near = name.size() >= kShortest && near.starts_with("did you mean");
  bad_option(option, fmt::format("unknown key '{}'", name.substr(0, 60)),
             is_near ? near : "known: " + joined(first, ", "));
}

std::string layout_keys_help() {
  std::string text;
  for (const Key& key : kKeys) {
    text += text.empty() ? "" : "; ";
    text += key.names[0];
    for (std::size_t i = 1; i < key.names.size(); ++i) {
      if (!key.names[i].empty()) text += fmt::format(" or {}", key.names[i]);
    }
    text += fmt::format(": {}", key.means);
  }
  return text;
}

}  // namespace penstock
