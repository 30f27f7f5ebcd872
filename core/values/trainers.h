// The trainers that a plan can be made for, by name and version.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// Of a trainer with several versions that differ in what they can run, the plain name is the
// default version of `export`.
enum class Trainer {
  kPenstock,
  kPytorch,
  kTorchtitan,      // 0.2
  kTorchtitan01,    // 0.1
  kTorchtitanHead,  // its main branch
  kMegatron,        // Megatron-LM and Megatron-Bridge
  kDeepspeed,
};

// "torchtitan", "torchtitan@0.1"
std::string_view name_of(Trainer trainer);
// Also TRAINER@VERSION of a version that the plain name stands for, and "megatron-bridge".
std::optional<Trainer> trainer_named(std::string_view name);
std::vector<std::string> trainer_names();

bool is_torchtitan(Trainer trainer);

}  // namespace penstock
