#include "core/values/trainer_table.h"

namespace penstock {

std::vector<std::string_view> TrainerRow::version_names() const {
  std::vector<std::string_view> names;
  for (const TrainerVersion& version : versions) {
    if (!version.name.empty()) names.push_back(version.name);
  }
  return names;
}

std::span<const TrainerRow> trainer_table() {
  static const std::vector<TrainerRow> kRows{
      {.name = "penstock", .title = "Penstock", .versions = {{"", Trainer::kPenstock}}},
      {.name = "pytorch",
       .title = "PyTorch",
       .versions = {{"2.6", Trainer::kPytorch}, {"2.5", Trainer::kPytorch}},
       .exported = true},
      {.name = "torchtitan",
       .title = "torchtitan",
       .versions = {{"0.2", Trainer::kTorchtitan},
                    {"0.1", Trainer::kTorchtitan01},
                    {"head", Trainer::kTorchtitanHead}},
       .exported = true,
       .linted = true,
       .logs_read = true},
      {.name = "megatron",
       .title = "Megatron-LM",
       .versions = {{"0.20", Trainer::kMegatron}},
       .exported = true,
       .linted = true,
       .logs_read = true},
      {.name = "megatron-bridge",
       .title = "Megatron-Bridge",
       .versions = {{"0.6", Trainer::kMegatron}},
       .exported = true},
      {.name = "deepspeed",
       .title = "DeepSpeed",
       .versions = {{"0.19", Trainer::kDeepspeed}},
       .exported = true,
       .linted = true},
      {.name = "varuna", .title = "Varuna", .versions = {{"1.0", std::nullopt}}, .exported = true},
  };
  return kRows;
}

const TrainerRow* find_trainer_row(std::string_view name) {
  for (const TrainerRow& row : trainer_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace penstock
