// Which pins cannot be together, with the model or with the GPUs: what no search is needed for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/question.h"

namespace penstock {

// The GPUs that pins may use, and in words who has them: "8 x p4d.24xlarge has".
struct GpusThere {
  int gpus = 1;
  std::string who;
};

// Whole sentences; empty when nothing contradicts.
std::vector<std::string> contradictions_of(const Question& question, const GpusThere& there);
// ", since TP divides its 8 key and value heads"; empty where a profile has other degrees alone.
std::string tensor_reason(const Question& question, int tensor);
// The same pins with the nearest TP that there is, or with the largest degree that fits in the
// place of one that is too large; nothing where they are contradicted even then.
std::optional<Pins> nearest_pins(Question question, const GpusThere& there);

// Samples of which every layout of the pins takes a multiple: mbs x DP, or as many replicas as
// there are GPUs for where DP is none of them.
std::int64_t batch_step(const Pins& pins, int gpus);

// PP x DP x TP of the pins; more than any cluster has, where 64 bits are not enough.
std::int64_t devices_needed(const Pins& pins);

}  // namespace penstock
