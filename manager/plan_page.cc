#include "manager/plan_page.h"

#include <algorithm>

#include "report/words.h"

namespace penstock {

std::string gpus_text(const PlanPage& page) {
  std::string text = count_of(page.gpus, "GPU");
  std::vector<RanksOfType> types;  // each once
  for (const RanksOfType& each : page.devices) {
    const auto known = std::ranges::find(types, each.device, &RanksOfType::device);
    if (known == types.end()) {
      types.push_back(each);
    } else {
      known->ranks += each.ranks;
    }
  }
  if (types.empty()) return text;
  std::vector<std::string> words;
  words.reserve(types.size());
  for (const RanksOfType& each : types) {
    words.push_back(std::to_string(each.ranks) + " " + each.device);
  }
  return text + " (" + joined(words, ", ") + ")";
}

}  // namespace penstock
