#include "simulator/rank_stages.h"

namespace penstock {

std::vector<std::size_t> give_stages(const std::vector<int>& rank_of_stage,
                                     std::vector<RankLiveness>& ranks) {
  std::vector<std::size_t> chunk_of_stage;
  chunk_of_stage.reserve(rank_of_stage.size());
  for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
    auto& stages = ranks[static_cast<std::size_t>(rank_of_stage[s])].stages;
    chunk_of_stage.push_back(stages.size());
    stages.push_back(static_cast<int>(s));
  }
  return chunk_of_stage;
}

void note_transfers(const Schedule& schedule, const WaitingReceives& waiting,
                    std::vector<RankLiveness>& ranks) {
  const auto is_elsewhere = [&](int stage, int other) {
    return schedule.rank_of_stage[static_cast<std::size_t>(stage)] !=
           schedule.rank_of_stage[static_cast<std::size_t>(other)];
  };
  for (RankLiveness& rank : ranks) {
    const std::size_t chunks = rank.stages.size();
    rank.activation_receives.assign(chunks, 0);
    rank.gradient_receives.assign(chunks, 0);
    rank.sends_activation.assign(chunks, false);
    rank.sends_gradient.assign(chunks, false);
    for (std::size_t c = 0; c < chunks; ++c) {
      const int stage = rank.stages[c];
      const auto s = static_cast<std::size_t>(stage);
      rank.activation_receives[c] = waiting.activations[s];
      rank.gradient_receives[c] = waiting.gradients[s];
      rank.sends_activation[c] = schedule.has_next(stage) && is_elsewhere(stage, stage + 1);
      rank.sends_gradient[c] = schedule.has_previous(stage) && is_elsewhere(stage, stage - 1);
    }
  }
}

}  // namespace penstock
