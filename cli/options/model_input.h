// A model by its config.json: what `plan`, `compare` and `estimate` make of it with a datasheet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/io/files.h"
#include "core/values/estimate.h"
#include "estimator/estimate_profile.h"

namespace penstock {

inline constexpr int kMostOptimizerBytes = 64;  // of a parameter, that can be asked for

struct EstimateSettings {
  std::optional<std::string> device;  // a name, or the path of a penstock.device/1 file
  std::optional<std::string> gpus_per_node, network;  // of nodes that are assumed
  std::optional<std::string> precision, attention, gradients, sequence_length;
  int gpus = 1;                         // T is at most this
  std::vector<int> context_degrees{1};  // C
  std::vector<int> expert_degrees{1};   // EP
  std::optional<std::string> expert_imbalance, expert_dispatch;
  std::optional<std::string> kernels, loss, optimizer_bytes, fsdp_prefetch, sequence_parallelism;
  bool torch_collectives = false;        // TP as PyTorch has it
  bool sums_apart = false;               // gradients are added up by kernels of their own
  const ClusterSpec* cluster = nullptr;  // null: the device's own node
};

// Error{kBadInput} for a device that is not known, with the nearest name and all others.
EstimatedModel estimate_model(const Loaded<Json>& config, const EstimateSettings& settings);

// Adds the same model on another device type, so that one plan may use both. Error{kBadInput} when
// the two would not hold the same numbers, such as half and single precision.
void add_device(EstimatedModel& estimated, const EstimatedModel& other);

// Names of --gradients: what the gradients of a model in 16 bits are summed up in.
std::vector<std::string> gradient_names();
// Of --kernels, --loss, --fsdp-prefetch and --sequence-parallelism.
std::vector<std::string> kernel_names();
std::vector<std::string> loss_names();
std::vector<std::string> prefetch_names();
std::vector<std::string> sequence_parallelism_names();
// Of --attention.
std::vector<std::string> attention_names();

// "estimated for h100-sxm, bfloat16: ..., nine took from 5 % less to 30 % more time"
std::string headline_of(const EstimatedModel& estimated);
// What was assumed, and what of the file was not read; for people.
std::vector<std::string> notes_of(const EstimatedModel& estimated);
// Of the whole model, a tied tensor once.
std::int64_t parameters_of(const EstimatedModel& estimated);
Json to_json(const EstimatedModel& estimated);

}  // namespace penstock
