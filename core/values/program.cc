#include "core/values/program.h"

namespace penstock {

std::string name_of(const Program& program, const Action& action) {
  std::string name = std::to_string(action.stage.value);
  name += name_of(action.kind);
  if (action.micro_batch == kNoMicroBatch) return name;
  const auto pipeline = static_cast<std::size_t>(program.stages[action.stage.value].pipeline);
  name += std::to_string(action.micro_batch.value - program.pipelines[pipeline].first_micro_batch);
  return name;
}

}  // namespace penstock
