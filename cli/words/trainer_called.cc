#include "cli/words/trainer_called.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "cli/words/is_like_gpu.h"
#include "cli/words/parse.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

struct Names {
  std::string_view typed, name;
};
constexpr std::array kNames{
    Names{"megatron-lm", "megatron"},
    Names{"megatronlm", "megatron"},
    Names{"megatron-core", "megatron"},
    Names{"mcore", "megatron"},
    Names{"torch-titan", "torchtitan"},
    Names{"titan", "torchtitan"},
    Names{"ds", "deepspeed"},
    Names{"megatronbridge", "megatron-bridge"},
    Names{"torch", "pytorch"},
    Names{"pipelining", "pytorch"},
    Names{"pippy", "pytorch"},
    Names{"torch.distributed.pipelining", "pytorch"},
    Names{"torch-pipelining", "pytorch"},
};

// Trainers that are no name of ours, and what to do for them; {} is the option that takes names.
struct Remark {
  std::array<std::string_view, 12> begins;  // of the name
  std::string_view help;
};
constexpr std::string_view kNoSchedules =
    "it has no pipeline schedules and trains through DeepSpeed or FSDP: {} deepspeed for the "
    "first, "
    "whose ds_config.json an export writes; for FSDP plan with --sharding fsdp --pp 1 --tp 1, and "
    "set it by that plan ({} torchtitan is torchtitan's own FSDP)";
constexpr std::array kRemarks{
    Remark{{"nemo", "megatron-bridge", "bridge"},
           "NeMo and Megatron-Bridge run Megatron-LM's core: plan --for megatron, then export --to "
           "megatron-bridge"},
    Remark{{"fsdp", "zero", "torch-fsdp"},
           "FSDP is PyTorch's: {} torchtitan; ZeRO-2 and ZeRO-3 are {} deepspeed or megatron (plan "
           "--sharding NAME asks for one of them)"},
    Remark{{"gpt-neox", "neox", "megatron-deepspeed"},
           "it is Megatron-LM's code on DeepSpeed's engine: {} deepspeed, or {} megatron for its "
           "layouts"},
    Remark{{"axolotl", "llama-factory", "llamafactory", "ms-swift", "swift", "llm-foundry",
            "composer", "open-instruct", "openrlhf", "unsloth", "oumi", "colossal"},
           "it starts DeepSpeed or PyTorch's FSDP: {} deepspeed for its ZeRO stages, {} torchtitan "
           "for FSDP"},
    Remark{{"torchtune", "lit-gpt", "litgpt", "nanotron", "picotron", "fairseq", "ray", "nanogpt",
            "llama-recipes", "fairscale"},
           "it runs PyTorch's own parallelism: {} torchtitan for FSDP and TP, {} pytorch for "
           "torch.distributed.pipelining"},
    Remark{{"jax", "maxtext", "t5x", "paxml", "pax", "flax", "levanter", "tensorflow", "keras",
            "mesh-tensorflow", "alpa", "xla"},
           "it is none of PyTorch's, and no job is written for it; a plan without that option has "
           "the layout, which is set there by hand"},
    Remark{{"lightning", "pytorch-lightning", "hf", "huggingface"}, kNoSchedules},
    Remark{{"slurm", "sky", "torchrun", "pbs"},
           "a job is made for a trainer: export --to megatron, torchtitan or deepspeed writes "
           "job.sbatch for Slurm and sky.yaml for SkyPilot beside its files"},
    Remark{
        {"kubernetes", "k8s", "kubectl", "kubeflow", "pytorchjob", "helm"},
        "no Kubernetes manifest is written: export --to megatron, torchtitan or deepspeed writes "
        "run.sh, which every pod of a Job or PyTorchJob of yours starts"},
    Remark{{"vllm", "sglang", "tensorrt", "llama.cpp"},
           "it serves models, and training is planned here: {} megatron, torchtitan, deepspeed or "
           "pytorch"},
    Remark{{"accelerate", "transformers", "trainer", "trl"}, kNoSchedules},
};

std::string in_lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::string with_option(std::string_view help, std::string_view option) {
  std::string out(help);
  for (std::size_t at = out.find("{}"); at != std::string::npos; at = out.find("{}", at)) {
    out.replace(at, 2, option);
  }
  return out;
}

}  // namespace

std::string trainer_called(const std::string& name) {
  std::string lower = in_lower_case(name);
  // "torchtitan-0.2", "megatron==0.12", "torchtitan v0.2" are NAME@VERSION.
  const std::size_t digit = lower.find_first_of("0123456789");
  const std::size_t v = digit != std::string::npos && digit > 1 && lower[digit - 1] == 'v' ? 1 : 0;
  if (digit != std::string::npos && digit > v + 1) {
    const std::size_t end = lower.find_last_not_of("-=: @", digit - v - 1) + 1;
    const bool is_apart = end > 0 && end < digit - v;
    if (is_apart) lower = lower.substr(0, end) + '@' + lower.substr(digit);
  }
  const std::string trainer = lower.substr(0, lower.find('@'));
  for (const Names& other : kNames) {
    if (other.typed == trainer) return std::string(other.name) + lower.substr(trainer.size());
  }
  return lower;
}

std::string exported_trainer_called(const std::string& name) {
  return in_lower_case(name) == "nemo" ? "megatron-bridge" : trainer_called(name);
}

std::string help_for_trainer(std::string_view option, const std::string& name,
                             const std::vector<std::string>& known) {
  const std::string lower = in_lower_case(name);
  for (const Remark& remark : kRemarks) {
    for (const std::string_view begin : remark.begins) {
      if (begin.empty() || !lower.starts_with(begin)) continue;
      if (remark.help == kNoSchedules && option == "--as") {
        return "its own files are not judged; a DeepSpeed configuration that it uses is: --as "
               "deepspeed";
      }
      return with_option(remark.help, option);
    }
  }
  // Another version of one that is known.
  const std::string called = trainer_called(lower), trainer = called.substr(0, called.find('@'));
  std::vector<std::string> versions;
  std::copy_if(
      known.begin(), known.end(), std::back_inserter(versions),
      [&trainer](const std::string& each) { return each.substr(0, each.find('@')) == trainer; });
  if (versions.size() == 1) return fmt::format("write {} {}", option, versions.front());
  if (called.find('@') != std::string::npos && !versions.empty()) {
    return fmt::format("known: {}", fmt::join(versions, ", "));
  }
  return did_you_mean(lower, known);
}

std::string version_called(const TrainerRow& trainer, const std::string& asked) {
  const std::string plain = asked.starts_with('v') ? asked.substr(1) : asked;
  const std::vector<std::string_view> known = trainer.version_names();
  for (const std::string_view name : known) {
    std::string version(name);
    if (plain == version || plain.starts_with(version + '.')) return version;
  }
  bad_option("--target-version",
             fmt::format("'{}' is not a known version of {}", asked, trainer.name),
             fmt::format("known: {}", fmt::join(known, ", ")));
}

const Trainer& parse_trainer(const std::string& name) {
  if (const Trainer* trainer = find_trainer(trainer_called(name))) return *trainer;
  if (is_like_gpu(name)) {  // Terraform's -target, which is read as a trainer's
    bad_option("--for", fmt::format("'{}' is a GPU, and a trainer belongs here", name),
               "write --device " + name);
  }
  bad_option("--for", fmt::format("unknown trainer '{}'", name.substr(0, 60)),
             help_for_trainer("--for", name, trainer_names()));
}

}  // namespace penstock
