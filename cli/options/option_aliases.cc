// What people type who know another tool: an option that the verb lacks is looked up in three
// tables, of other names for an option, of degrees that belong into --pin or --layout, and of
// sentences for what has no option here. Options of the verb itself always come first, so that no
// alias can hide one; what is in no table is left to the parser, which names the nearest option.
#include "cli/options/option_aliases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// Where a value goes: an option, and what stands before the value in it ("TP=" in --pin).
struct Target {
  std::string_view option, before;
};

struct Degree {
  std::string_view key;
  std::array<Target, 4> targets;  // the first that the verb has
  std::string_view otherwise;
};
constexpr std::array kDegrees{
    Degree{{"T"}, {{{"--pin", "T="}, {"--layout", "TP="}}}, "no model is divided here"},
    Degree{{"C"}, {{{"--pin", "C="}, {"--layout", "CP="}}}, "no sequence is divided here"},
    Degree{{"EP"}, {{{"--pin", "EP="}, {"--layout", "EP="}}}, "no experts are divided here"},
    Degree{{"P"}, {{{"-P", ""}, {"--pin", "P="}, {"--layout", "PP="}}}, ""},
    Degree{{"D"}, {{{"--pin", "D="}, {"--layout", "DP="}}}, "one replica is replayed here"},
    Degree{{"V"}, {{{"-V", ""}, {"--pin", "V="}, {"--layout", "VP="}}}, ""},
    Degree{{"b"},
           {{{"--pin", "b="}, {"--layout", "mbs="}}},
           "costs are those of one micro-batch, whatever its size"},
    Degree{{"M"},
           {{{"-M", ""}, {"--layout", "M="}}},
           "the micro-batches of a step follow from the global batch, DP and mbs: --global-batch, "
           "--pin DP=..,mbs=.."},
    Degree{{"global-batch"},
           {{{"--global-batch", ""}, {"--layout", "gbs="}}},
           "say the micro-batches of a step: -M"},
    Degree{{"sequence-length"},
           {{{"--sequence-length", ""}, {"--layout", "seq="}}},
           "the plan or the costs say it"},
};

// Other words for options that take a value.
struct Synonym {
  std::string_view typed;
  std::array<Target, 2> targets;
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
constexpr std::array kSynonyms{
    Synonym{"num-gpus", {{kGpus}}},
    Synonym{"ngpus", {{kGpus}}},
    Synonym{"n-gpus", {{kGpus}}},
    Synonym{"gpu-count", {{kGpus}}},
    Synonym{"world-size", {{kGpus}}},
    Synonym{"devices", {{kGpus}}},
    Synonym{"n", {{kGpus}}},
    Synonym{"np", {{kGpus}}},
    Synonym{"num-devices", {{kGpus}}},
    Synonym{"gpu-type", {{kDevice}}},
    Synonym{"gpu-name", {{kDevice}}},
    Synonym{"gpu-model", {{kDevice}}},
    Synonym{"hardware", {{kDevice}}},
    Synonym{"accelerator", {{kDevice}}},
    Synonym{"dtype", {{kPrecision}}},
    Synonym{"torch-dtype", {{kPrecision}}},
    Synonym{"mixed-precision", {{kPrecision}}},
    Synonym{"price", {{kPrice}}},
    Synonym{"gpu-price", {{kPrice}}},
    Synonym{"usd-per-hour", {{kPrice}}},
    Synonym{"cost-per-gpu-hour", {{kPrice}}},
    Synonym{"timeout", {{kBudget}}},
    Synonym{"time-limit", {{kBudget}}},
    Synonym{"max-time", {{kBudget}}},
    Synonym{"topk", {{kTop}}},
    Synonym{"top-k", {{kTop}}},
    Synonym{"num-plans", {{kTop}}},
    Synonym{"jobs", {{kThreads}}},
    Synonym{"j", {{kThreads}}},
    Synonym{"workers", {{kThreads}}},
    Synonym{"num-threads", {{kThreads}}},
    Synonym{"out", {{kOutput}}},
    Synonym{"outfile", {{kOutput}}},
    Synonym{"output-file", {{kOutput}}},
    Synonym{"save", {{kOutput}}},
    Synonym{"trainer", {{kFor, {"--to", ""}}}},
    Synonym{"framework", {{kFor, {"--to", ""}}}},
    Synonym{"trainer", {{{"--as", ""}}}},
    Synonym{"framework", {{{"--as", ""}}}},
    Synonym{"target", {{{"--to", ""}, kFor}}},
    Synonym{"format", {{{"--to", ""}}}},
    Synonym{"model", {{{"--config", ""}}}},
    Synonym{"model-config", {{{"--config", ""}}}},
    Synonym{"mtbf", {{{"--mtbf-hours", ""}}}},
    Synonym{"total-tokens", {{kTokens}}},
    Synonym{"train-tokens", {{kTokens}}},
    Synonym{"training-tokens", {{kTokens}}},
    Synonym{"batch-tokens", {{kBatchTokens, {"--tokens-per-batch", ""}}}},
    Synonym{"tokens-per-step", {{kBatchTokens, {"--tokens-per-batch", ""}}}},
    Synonym{"global-batch-tokens", {{{"--tokens-per-batch", ""}}}},
    Synonym{"sizes", {{{"--micro-batch-sizes", ""}}}},
    Synonym{"lengths", {{{"--sequence-length", ""}}}},
    Synonym{"tokens-per-batch", {{kBatchTokens}}},
    Synonym{"schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"pipeline-schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"pipeline-parallel-schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"recompute", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"recompute-granularity", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"activation-checkpoint-mode", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"zero1", {{{"--zero1", ""}, {"--layout", "zero1="}}}},
    Synonym{"sharding", {{{"--sharding", ""}, {"--layout", "sharding="}}}},
    Synonym{"data-parallel-sharding-strategy", {{{"--sharding", ""}, {"--layout", "sharding="}}}},
    Synonym{"placement", {{{"--placement", ""}, {"--layout", "placement="}}}},
    Synonym{"cuts", {{{"--layout", "cuts="}}}},
    Synonym{"costs", {{{"--cost", ""}}}},
    Synonym{"lr", {{{"--learning-rate", ""}}}},
};

// Words that need more than another name. `of`: an option that a verb has to whom this is said;
// empty: to all.
struct Remark {
  std::array<std::string_view, 12> typed;
  std::string_view help;
  std::string_view of{};
};
constexpr std::array kRemarks{
    Remark{
        {"epochs", "steps", "max-steps", "num-steps", "train-iters", "iterations"},
        "a step is planned; --tokens N, the tokens of the whole training (steps x global batch x "
        "sequence length), gives its days and its price",
        "--tokens"},
    Remark{{"offload", "cpu-offload", "offloading", "cpu-offloading", "offload-optimizer"},
           "offloading to the host's memory is not modelled"},
    Remark{{"lora", "peft", "qlora", "finetune", "fine-tune"},
           "all parameters are trained: LoRA and other adapters are not modelled"},
    Remark{{"optimizer", "optim", "adam", "adamw", "sgd"},
           "AdamW in mixed precision is assumed; a profile may say otherwise "
           "(docs/file_formats.md)",
           "--device"},
    Remark{{"csv", "markdown", "md", "table"}, "write --format csv or --format markdown"},
    Remark{{"html", "open", "browser", "show", "view"},
           "penstock report plan.json -o report.html writes a page; open it in a browser"},
    Remark{{"perfetto", "chrome", "chrome-trace"},
           "that is what penstock trace plan.json -o step.json writes; --format has the others"},
    Remark{{"list", "schedules", "list-schedules"}, "penstock schedule --help lists the schedules"},
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
    Remark{{"megatron", "torchtitan", "deepspeed", "pytorch"},
           "name the trainer with --for (plan) or --to (export), for example --for megatron"},
    Remark{{"schedule", "tensor", "pipeline"},
           "a plan has its own; ask with penstock explain PLAN --why-not schedule=1f1b why it is "
           "not another"},
    Remark{{"nodes", "num-nodes", "nnodes", "n-nodes", "gpus-per-node", "nproc-per-node"},
           "--gpus takes the GPUs of all nodes: --gpus 64 for 8 nodes of 8 (as the device's "
           "datasheet has them; other nodes: --cluster FILE)",
           "--gpus"},
    Remark{{"batch", "batch-size", "bs", "local-batch-size", "per-device-batch-size"},
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
    Remark{{"fsdp", "distributed-optimizer", "use-distributed-optimizer", "zero-1", "use-fsdp",
            "use-fsdp2"},
           "write --sharding fsdp, or --sharding zero1 for an optimizer sharded over the replicas",
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
    Remark{{"flash-attention", "flash-attn", "use-flash-attn", "flash"},
           "write --attention flash2 (or flash3, cudnn); fused attention is the default"},
    Remark{{"memory", "mem", "gpu-memory", "memory-limit", "vram", "hbm", "max-memory", "gpu-mem",
            "memory-gib", "device-memory", "mem-per-gpu", "max-mem"},
           "the memory is the device's (--device); --reserve-gib X leaves X GiB of it free; "
           "compare --vary memory-gib=80,96 asks what if",
           "--device"},
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
           "--jitter"},
    Remark{{"moe", "num-experts", "experts", "num-heads", "ffn-hidden-size", "kv-heads"},
           "the shape of the model is in its config.json: penstock plan config.json --device "
           "h100-sxm --gpus 64 --global-batch 512",
           "--device"},
    Remark{{"layers", "num-layers", "hidden", "hidden-size", "vocab-size", "heads"},
           "the shape of the model is in its config.json: penstock plan config.json --device "
           "h100-sxm --gpus 64 --global-batch 512",
           "--device"},
};

bool has(const std::vector<std::string>& known, std::string_view option) {
  return std::find(known.begin(), known.end(), option) != known.end();
}

std::optional<Target> target_in(std::span<const Target> targets,
                                const std::vector<std::string>& known) {
  for (const Target& target : targets) {
    if (!target.option.empty() && has(known, target.option)) return target;
  }
  return {};
}

[[noreturn]] void unknown(std::string_view name, std::string_view help) {
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", name, help));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "--Global_Batch", "-gpus": written otherwise, but the verb's own.
std::optional<Target> respelled(std::string_view word, const std::vector<std::string>& known) {
  std::optional<Target> found;
  for (const std::string& option : known) {
    const std::string own =
        plain_word(std::string_view(option).substr(option.starts_with("--") ? 2 : 1));
    if (own != word) continue;
    if (found) return {};
    found = Target{option, ""};
  }
  return found;
}

// Of an option that the verb does not have, with its value where there is one.
class Typed {
 public:
  Typed(std::string_view name, std::string_view value, const std::vector<std::string>& known,
        const std::vector<OptionRemark>& remarks)
      : name_(name),
        value_(value),
        word_(plain_word(name.substr(std::min(name.find_first_not_of('-'), name.size())))),
        known_(known),
        remarks_(remarks) {}

  // Where its value goes; nothing when it is no word of the field.
  [[nodiscard]] std::optional<Target> target() const {
    if (const auto own = respelled(word_, known_)) return own;
    for (const OptionRemark& remark : remarks_) {
      if (has(remark.typed, word_)) unknown(name_, remark.help);
    }
    refuse_cost();
    if ((name_ == "-v" && !is_number(value_)) || word_ == "verbose") {
      unknown(name_, "everything is printed without it; --json has all figures");
    }
    if (word_ == "d" && !is_number(value_)) return target_in(std::array{kDevice}, known_);
    if (word_ == "gpu") return target_in(std::array{is_number(value_) ? kGpus : kDevice}, known_);
    if (const auto degree = target_of_degree()) return degree;
    if (word_ == "zero" || word_ == "zero-stage") return target_of_zero();
    for (const Synonym& synonym : kSynonyms) {
      if (synonym.typed != word_) continue;
      if (const auto target = target_in(synonym.targets, known_)) return target;
    }
    for (const Remark& remark : kRemarks) {
      if (!remark.of.empty() && !has(known_, remark.of)) continue;
      if (std::find(remark.typed.begin(), remark.typed.end(), word_) != remark.typed.end()) {
        unknown(name_, remark.help);
      }
    }
    return {};
  }

 private:
  // -F 10ms of a schedule; B and W are no batch and no width there.
  void refuse_cost() const {
    constexpr std::string_view kCosts = "FBIWCR";
    if (!has(known_, "--cost") || name_.size() != 2 || has(known_, name_)) return;
    if (kCosts.find(name_[1]) == std::string_view::npos) return;
    unknown(name_, "costs go together: --cost F=10ms,B=20ms,C=0.5ms");
  }

  [[nodiscard]] std::optional<Target> target_of_degree() const {
    const std::string_view letters = name_.substr(name_.find_first_not_of('-'));
    const std::string key = key_called(letters.size() == 1 ? letters : std::string_view(word_));
    for (const Degree& degree : kDegrees) {
      if (degree.key != key) continue;
      if (const auto target = target_in(degree.targets, known_)) return target;
      if (has(known_, "--why-not")) {
        unknown(name_, fmt::format("a plan has it already; ask --why-not {}=.. why it is not "
                                   "another",
                                   field_word(key)));
      }
      if (!has(known_, "--pin") && !has(known_, "--cost")) {
        unknown(name_,
                "a plan file has it already; penstock schedule 1f1b -P 4 -M 8 --cost "
                "F=10ms,B=20ms replays a schedule without a plan");
      }
      if (!degree.otherwise.empty()) unknown(name_, degree.otherwise);
    }
    return {};
  }

  // ZeRO's stages 0 and 1 are --zero1 off and on; written out by translated(). The others are
  // --sharding.
  [[nodiscard]] std::optional<Target> target_of_zero() const {
    if (value_ == "2" || value_ == "3") {
      return target_in(std::array{Target{"--sharding", ""}, Target{"--layout", "sharding="}},
                       known_);
    }
    if (value_ != "0" && value_ != "1") {
      unknown(name_, "ZeRO's stages are 0 to 3: --sharding none, zero1, zero2 or zero3");
    }
    return target_in(std::array{Target{"--zero1", ""}, Target{"--layout", "zero1="}}, known_);
  }

  std::string_view name_, value_;
  std::string word_;
  const std::vector<std::string>& known_;
  const std::vector<OptionRemark>& remarks_;
};

// ZeRO's stage as on or off.
std::string value_for(std::string_view name, const std::string& value) {
  const std::string word = plain_word(name);
  if (!word.ends_with("zero") && !word.ends_with("zero-stage")) return value;
  if (value == "2" || value == "3") return "zero" + value;
  return value == "1" ? "on" : "off";
}

bool is_option(const std::string& argument) {
  const std::size_t first = argument.find_first_not_of('-');
  return argument.starts_with('-') && first != std::string::npos && first <= 2 &&
         std::isalpha(static_cast<unsigned char>(argument[first])) != 0;
}

// As the parser of options reads it: by its name, or -P4, a letter and its value.
bool is_own(const std::string& argument, const std::vector<std::string>& known) {
  const std::string name = argument.substr(0, argument.find('='));
  if (has(known, name)) return true;
  if (argument.starts_with("--") || !has(known, argument.substr(0, 2))) return false;
  return key_called(std::string_view(name).substr(1)).empty();
}

}  // namespace

Arguments in_own_options(const Arguments& arguments, const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks) {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (!is_option(argument) || is_own(argument, known)) {
      out.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool has_next = i + 1 < arguments.size() && !is_option(arguments[i + 1]);
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : has_next                  ? arguments[i + 1]
                                                          : std::string();
    const auto target = Typed(name, value, known, remarks).target();
    if (!target) {
      out.push_back(argument);
      continue;
    }
    out.emplace_back(target->option);
    if (value.empty()) continue;
    out.push_back(std::string(target->before) + value_for(name, value));
    if (equals == std::string::npos) ++i;
  }
  return out;
}

}  // namespace penstock
