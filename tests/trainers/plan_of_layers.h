// A plan of a model with equal layers, to be exported.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/core/tiny_plan.h"

namespace penstock {

// Embedding, `layers` layers and a head over P * V stages on D = 2 replicas, M = 8.
inline PlanFile plan_of_layers(int pipeline, int chunks, int layers, std::vector<int> cuts) {
  PlanFile file = tiny_plan();
  file.section_names = {"embedding"};
  for (int i = 0; i < layers; ++i) file.section_names.push_back("layer." + std::to_string(i));
  file.section_names.emplace_back("head");
  Plan& plan = file.plan;
  plan.schedule = chunks > 1 ? "interleaved" : "1f1b";
  plan.pipeline = pipeline;
  plan.chunks = chunks;
  plan.data = 2;
  plan.micro_batch_size = 2;
  plan.global_batch = 32;
  plan.sequence_length = 128;
  plan.cuts = std::move(cuts);
  return file;
}

}  // namespace penstock
