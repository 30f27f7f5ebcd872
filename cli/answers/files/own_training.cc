#include "cli/answers/files/own_training.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>

#include <fmt/format.h>

#include "cli/io/shell_word.h"

namespace penstock {
namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The number behind one of the names, "--gradient_accumulation_steps 4", "num_processes: 8".
int number_behind(std::string_view text, std::initializer_list<std::string_view> names,
                  int otherwise) {
  constexpr int kMost = 1 << 16;
  for (const std::string_view name : names) {
    std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    at = text.find_first_not_of(" =:\"'", at + name.size());
    int number = 0;
    if (at == std::string_view::npos) continue;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (number > 0 && number <= kMost) return number;
  }
  return otherwise;
}

// Of FSDP and of DeepSpeed's stages; nothing is said of plain replicas.
std::string sharding_in(std::string_view text) {
  if (has(text, "FSDP") || has(text, "fsdp")) return " sharding=fsdp";
  const int stage = number_behind(text, {"zero_stage", "\"stage\""}, 0);
  return stage > 0 && stage <= 3 ? fmt::format(" sharding=zero{}", stage) : "";
}

// Of Hugging Face's Trainer or Accelerate.
bool is_of_hugging_face(std::string_view text) {
  const bool is_configuration = has(text, "distributed_type:") && has(text, "num_processes:");
  const bool is_log = has(text, "{'loss':") || has(text, "'train_runtime':");
  return is_configuration || is_log || has(text, "accelerate launch") ||
         has(text, "per_device_train_batch_size") || has(text, "per-device-train-batch-size") ||
         has(text, "TrainingArguments(");
}

bool is_of_lightning(std::string_view text) {
  return has(text, "import lightning") || has(text, "from lightning") ||
         has(text, "pytorch_lightning");
}

bool says_batch(std::string_view text) {
  return has(text, "per_device_train_batch_size") || has(text, "per-device-train-batch-size");
}

}  // namespace

bool is_own_training(std::string_view text) {
  const bool starts_python =
      (has(text, "torchrun") || has(text, "srun ") || has(text, "torch.distributed.")) &&
      has(text, ".py");
  return is_of_hugging_face(text) || is_of_lightning(text) || has(text, "import torch") ||
         starts_python;
}

GpusOfTraining gpus_of_training(std::string_view text) {
  GpusOfTraining gpus;
  gpus.of_node = number_behind(text,
                               {"--gpus-per-node", "--nproc_per_node", "--nproc-per-node",
                                "--gres=gpu:", "--ntasks-per-node", "devices="},
                               0);
  const int nodes = number_behind(text, {"--nodes", "--nnodes", "num_nodes="}, 1);
  const int processes = number_behind(text, {"num_processes", "num_gpus"}, 0);
  constexpr std::int64_t kMost = 1 << 17;
  const std::int64_t all = std::int64_t{gpus.of_node} * nodes;
  gpus.all = processes > 0 ? processes : static_cast<int>(all <= kMost ? all : 0);
  return gpus;
}

std::string layout_of_training(std::string_view text) {
  constexpr int kUsual = 8;
  const int said = gpus_of_training(text).all, ranks = said > 0 ? said : kUsual;
  const int batch =
      number_behind(text, {"per_device_train_batch_size", "per-device-train-batch-size"}, 1);
  const int times =
      number_behind(text, {"gradient_accumulation_steps", "gradient-accumulation-steps"}, 1);
  return fmt::format("DP={} mbs={} gbs={}{}", ranks, batch, std::int64_t{ranks} * batch * times,
                     sharding_in(text));
}

std::string help_for_own_training(std::string_view text) {
  const std::string_view whose =
      is_of_hugging_face(text) ? "it is of Hugging Face's Trainer or Accelerate, whose files "
                                 "are not judged (a ds_config.json of theirs is)"
      : is_of_lightning(text)  ? "it is of PyTorch Lightning, whose scripts are not judged"
                               : "it is a training of your own, of which nothing is known";
  return fmt::format(
      "{}; its layout is predicted by {}{}, and a step that you measured is told to it: --measured "
      "4.2s",
      whose,
      command_of("predict",
                 {"config.json", "--device", "h100-sxm", "--layout", layout_of_training(text)}),
      says_batch(text) ? "" : " (it says no batch: put your own mbs and gbs)");
}

}  // namespace penstock
