#include "core/values/schedule.h"

#include <utility>

namespace penstock {

std::vector<ComputeAction> Schedule::list(int rank) const {
  std::vector<ComputeAction> list;
  list.reserve(length(rank));
  for (ListCursor at(*this, rank); !at.done(); ++at) list.push_back(*at);
  return list;
}

std::size_t Schedule::length(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  std::size_t length = 0;
  for (std::size_t b = begin[r]; b < begin[r + 1]; ++b) {
    length += std::size_t{blocks[b].end - blocks[b].begin} * blocks[b].repeat;
  }
  return length;
}

std::size_t Schedule::length() const {
  std::size_t all = 0;
  for (int r = 0; r < ranks; ++r) all += length(r);
  return all;
}

Schedule schedule_of_lists(std::string name, int micro_batches, std::vector<int> rank_of_stage,
                           const std::vector<std::vector<ComputeAction>>& lists) {
  Schedule schedule;
  schedule.name = std::move(name);
  schedule.ranks = static_cast<int>(lists.size());
  schedule.chunks = static_cast<int>(rank_of_stage.size() / lists.size());
  schedule.micro_batches = micro_batches;
  schedule.rank_of_stage = std::move(rank_of_stage);
  schedule.begin.push_back(0);
  for (const std::vector<ComputeAction>& list : lists) {
    const auto first = static_cast<std::uint32_t>(schedule.actions.size());
    schedule.actions.insert(schedule.actions.end(), list.begin(), list.end());
    schedule.blocks.push_back({first, static_cast<std::uint32_t>(schedule.actions.size()), 1, 0});
    schedule.begin.push_back(schedule.blocks.size());
  }
  return schedule;
}

}  // namespace penstock
