#include "runtime_bridge/stage_groups.h"

#include <algorithm>
#include <cstddef>

namespace penstock {
namespace {

std::size_t index_of(const RankProgram& program, int stage) {
  const auto& stages = program.setup.stages;
  return static_cast<std::size_t>(std::ranges::find(stages, stage, &StageSetup::stage) -
                                  stages.begin());
}

}  // namespace

const StageSetup& setup_of(const RankProgram& program, int stage) {
  return program.setup.stages[index_of(program, stage)];
}

const StageGroups& groups_of(const RankProgram& program, int stage) {
  return program.stages[index_of(program, stage)];
}

Buffer own_part(const RankProgram& program, int stage, const Buffer& whole) {
  const StageSetup& setup = setup_of(program, stage);
  const std::size_t size = whole.elements / static_cast<std::size_t>(setup.shards());
  const std::size_t begin = static_cast<std::size_t>(setup.shard()) * size;
  return whole.part(begin, begin + size);
}

}  // namespace penstock
