#include "core/values/program.h"

#include <algorithm>
#include <utility>

namespace penstock {

bool Program::has_slots() const {
  return std::any_of(pipelines.begin(), pipelines.end(),
                     [](const Pipeline& pipeline) { return pipeline.weight_slots > 0; });
}

std::span<const Wait> Program::more_waits_of(std::uint32_t action) const {
  const auto before = [](const Wait& wait, std::uint32_t index) { return wait.action < index; };
  const auto first = std::lower_bound(more_waits.begin(), more_waits.end(), action, before);
  const auto end = std::find_if(first, more_waits.end(),
                                [&](const Wait& wait) { return wait.action != action; });
  return {first, end};
}

void sort_waits(std::vector<Wait>& waits) {
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    return std::pair(a.action, a.needs) < std::pair(b.action, b.needs);
  });
}

std::string name_of(const Program& program, const Action& action) {
  std::string name = std::to_string(action.stage.value);
  name += name_of(action.kind);
  if (action.micro_batch == kNoMicroBatch) return name;
  const auto pipeline = static_cast<std::size_t>(program.stages[action.stage.value].pipeline);
  name += std::to_string(action.micro_batch.value - program.pipelines[pipeline].first_micro_batch);
  return name;
}

}  // namespace penstock
