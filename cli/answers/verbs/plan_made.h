// What a plan file says of the question that it answers, so that the same can be asked anew.
#pragma once

#include <string>

namespace penstock {

// Empty texts of what it does not say; of files only those that are there.
struct PlanMade {
  std::string model, cluster, device, gpus, batch, layout;
  std::string trainer;          // whose executor it has, "megatron"
  std::string sequence_length;  // in tokens
};
PlanMade plan_made(const std::string& path);

}  // namespace penstock
