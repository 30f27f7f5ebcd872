// What a plan file says of the question that it answers, so that the same can be asked anew.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// Empty texts of what it does not say; of files only those that are there.
struct PlanMade {
  std::string model, cluster, device, gpus, batch, layout;
  std::string trainer;          // whose executor it has, "megatron"
  std::string sequence_length;  // in tokens
};
PlanMade plan_made(const std::string& path);

// "4" of "TP=4 PP=2" and "TP"; empty where the layout does not say it.
std::string value_in_layout(const std::string& layout, const std::string& key);
// The layout with these pairs, each in the place of the one with its key, or behind the others;
// "VP=" takes that pair out.
std::string layout_with(const std::string& layout, const std::vector<std::string>& pairs);

}  // namespace penstock
