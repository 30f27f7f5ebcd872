#include "core/values/trainers.h"

#include <array>
#include <utility>

namespace penstock {
namespace {

constexpr std::array<std::pair<Trainer, std::string_view>, 7> kTrainers{{
    {Trainer::kPenstock, "penstock"},
    {Trainer::kPytorch, "pytorch"},
    {Trainer::kTorchtitan, "torchtitan"},
    {Trainer::kTorchtitan01, "torchtitan@0.1"},
    {Trainer::kTorchtitanHead, "torchtitan@head"},
    {Trainer::kMegatron, "megatron"},
    {Trainer::kDeepspeed, "deepspeed"},
}};

// Other names for what is listed above.
constexpr std::array<std::pair<Trainer, std::string_view>, 7> kSynonyms{{
    {Trainer::kPytorch, "pytorch@2.6"},
    {Trainer::kTorchtitan, "torchtitan@0.2"},
    {Trainer::kMegatron, "megatron@0.20"},
    {Trainer::kMegatron, "megatron-bridge"},
    {Trainer::kMegatron, "megatron-bridge@0.6"},
    {Trainer::kDeepspeed, "deepspeed@0.19"},
    {Trainer::kPytorch, "pytorch@2.5"},
}};

}  // namespace

std::string_view name_of(Trainer trainer) {
  for (const auto& [candidate, name] : kTrainers) {
    if (candidate == trainer) return name;
  }
  return {};
}

std::optional<Trainer> trainer_named(std::string_view name) {
  for (const auto& [trainer, candidate] : kTrainers) {
    if (candidate == name) return trainer;
  }
  for (const auto& [trainer, candidate] : kSynonyms) {
    if (candidate == name) return trainer;
  }
  return std::nullopt;
}

std::vector<std::string> trainer_names() {
  std::vector<std::string> names;
  names.reserve(kTrainers.size());
  for (const auto& [trainer, name] : kTrainers) names.emplace_back(name);
  return names;
}

bool is_torchtitan(Trainer trainer) {
  return trainer == Trainer::kTorchtitan || trainer == Trainer::kTorchtitan01 ||
         trainer == Trainer::kTorchtitanHead;
}

}  // namespace penstock
