// --pipeline-model-parallel-layout: "Et*3|(tt|)*29,m|L", one piece per stage (docs/checking.md has
// the grammar). Read by Megatron-LM's own steps, and written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct MegatronLayout {
  std::vector<std::string> stages;  // letters E, t, m, L
  std::string why_not;              // what is wrong with the text; then there are no stages
};

MegatronLayout read_megatron_layout(std::string_view text);

// E before the first stage's layers, `mtp` times m and L behind the last one's.
std::string write_megatron_layout(const std::vector<int>& layers, int mtp);

// `layers` over `stages`, the first ones taking what does not divide; at least one stage.
std::vector<int> spread_evenly(int layers, int stages);

}  // namespace penstock
