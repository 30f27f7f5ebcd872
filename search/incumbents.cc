// A total order of found plans: step time, then devices, messages (each costs a rank something that
// prices may not hold), memory, degrees and finally all words of the plan, so that the result never
// depends on the order of arrival. A candidate matters as long as its lower bound is not above the
// slowest of the K best, or above the fastest within some budget whose devices and memory it keeps.
// Equal bounds matter, because ties are decided by that order.
#include "search/incumbents.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

namespace penstock {

namespace {

// Between ranks, in a step: there and back for every micro-batch.
std::int64_t messages_of(const Plan& plan) {
  std::int64_t boundaries = 0;
  for (int stage = 0; stage + 1 < plan.stages_per_copy(); ++stage) {
    if (plan.rank_of(stage) != plan.rank_of(stage + 1)) ++boundaries;
  }
  if (boundaries == 0) return 0;
  std::int64_t micro_batches = 0;
  for (const ReplicaLoad& load : replica_loads(plan)) {
    micro_batches += std::int64_t{load.replicas} * load.micro_batches;
  }
  return 2 * boundaries * micro_batches;
}

}  // namespace

// A message costs a rank something that prices may not hold, so of two plans that take as long the
// one with fewer of them is the safer one.
bool comes_before(const Found& a, const Found& b) {
  const auto time = [](const Found& f) { return std::tuple(f.step_time, f.plan.devices()); };
  if (time(a) != time(b)) return time(a) < time(b);
  const std::int64_t messages = messages_of(a.plan), others = messages_of(b.plan);
  if (messages != others) return messages < others;
  const auto key = [](const Found& f) {
    const Plan& p = f.plan;
    return std::tuple(f.memory, p.tensor, p.pipeline, p.chunks, p.micro_batch_size, p.zero1,
                      p.offload_optimizer, p.sharding, p.shard_group, p.other_degrees(),
                      p.placement, p.group);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  const auto words = [](const Found& f) {
    const Plan& p = f.plan;
    return std::tie(p.device, p.rank_devices, p.schedule, p.recompute, p.recompute_sections,
                    p.cuts);
  };
  return words(a) < words(b);
}

Incumbents::Incumbents(int top, std::vector<Budget> budgets, std::optional<Duration> limit)
    : top_(static_cast<std::size_t>(top)),
      budgets_(std::move(budgets)),
      fastest_(budgets_.size()),
      limit_(limit) {}

bool Incumbents::may_matter(Duration bound, int devices, Bytes memory) const {
  if (best_.size() < top_ || bound <= best_.back().step_time) return true;
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    if (devices > budgets_[i].devices || memory > budgets_[i].memory) continue;
    if (!fastest_[i] || bound <= fastest_[i]->step_time) return true;
  }
  return false;
}

std::optional<Duration> Incumbents::slowest_that_matters(int devices, Bytes memory) const {
  if (best_.size() < top_) return std::nullopt;
  Duration slowest = best_.back().step_time;
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    if (devices > budgets_[i].devices || memory > budgets_[i].memory) continue;
    if (!fastest_[i]) return std::nullopt;
    slowest = std::max(slowest, fastest_[i]->step_time);
  }
  return slowest;
}

Bytes Incumbents::most_memory_that_matters(Duration bound, int devices) const {
  constexpr Bytes kAny{std::numeric_limits<std::int64_t>::max()};
  if (best_.size() < top_ || bound <= best_.back().step_time) return kAny;
  Bytes most{-1};
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    if (devices > budgets_[i].devices) continue;
    if (!fastest_[i] || bound <= fastest_[i]->step_time) most = std::max(most, budgets_[i].memory);
  }
  return most;
}

void Incumbents::add(const Found& found) {
  if (best_.size() < top_ || comes_before(found, best_.back())) {
    best_.insert(std::upper_bound(best_.begin(), best_.end(), found, comes_before), found);
    if (best_.size() > top_) best_.pop_back();
  }
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    if (found.plan.devices() > budgets_[i].devices || found.memory > budgets_[i].memory) continue;
    if (!fastest_[i] || comes_before(found, *fastest_[i])) fastest_[i] = found;
  }
}

bool Incumbents::may_lead(Duration bound, int devices, std::size_t budgets) const {
  if (best_.empty() || bound <= best_.front().step_time) return true;
  for (std::size_t i = 0; i < std::min(budgets, budgets_.size()); ++i) {
    if (devices > budgets_[i].devices) continue;
    if (!fastest_[i] || bound <= fastest_[i]->step_time) return true;
  }
  return false;
}

std::optional<Duration> Incumbents::to_lead(int devices, std::size_t budgets) const {
  if (best_.empty()) return std::nullopt;
  Duration slowest = best_.front().step_time;
  for (std::size_t i = 0; i < std::min(budgets, budgets_.size()); ++i) {
    if (devices > budgets_[i].devices) continue;
    if (!fastest_[i]) return std::nullopt;
    slowest = std::max(slowest, fastest_[i]->step_time);
  }
  return slowest;
}

void Incumbents::add_if_it_leads(const Found& found, std::size_t budgets) {
  bool leads = best_.empty() || comes_before(found, best_.front());
  for (std::size_t i = 0; i < std::min(budgets, budgets_.size()); ++i) {
    if (found.plan.devices() > budgets_[i].devices || found.memory > budgets_[i].memory) continue;
    leads = leads || !fastest_[i] || comes_before(found, *fastest_[i]);
  }
  if (leads) add(found);
}

std::vector<Found> Incumbents::fastest_per_budget() const {
  std::vector<Found> result;
  for (const auto& fastest : fastest_) {
    const auto is_it = [&](const Found& other) { return other.plan == fastest->plan; };
    if (fastest && std::none_of(result.begin(), result.end(), is_it)) result.push_back(*fastest);
  }
  return result;
}

}  // namespace penstock
