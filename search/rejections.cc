#include "search/rejections.h"

#include <algorithm>

namespace penstock {
namespace {

void widen(Rejections::Entry& entry, const Rejection& why, const Plan& plan) {
  if (!why.least_over) return;
  Rejection& sum = entry.rejection;
  if (!sum.least_over || *why.least_over < *sum.least_over) {
    sum.least_over = why.least_over;
    entry.closest = plan;
  }
  if (!sum.most_over || *why.most_over > *sum.most_over) sum.most_over = why.most_over;
}

}  // namespace

void Rejections::add(const Rejection& why, std::int64_t count, const Plan& plan) {
  auto [entry, fresh] = by_reason_.try_emplace(why.reason);
  if (fresh) {
    entry->second.rejection.reason = why.reason;
    entry->second.closest = plan;
  }
  entry->second.rejection.candidates += count;
  widen(entry->second, why, plan);
}

void Rejections::add(const std::string& reason, std::int64_t count, const Plan& plan) {
  add(Rejection{reason, count, std::nullopt, std::nullopt, ""}, count, plan);
}

void Rejections::merge(const Rejections& other) {
  for (const auto& [reason, entry] : other.by_reason_) {
    add(entry.rejection, entry.rejection.candidates, entry.closest);
  }
}

std::vector<Rejections::Entry> Rejections::sorted() const {
  std::vector<Entry> list;
  for (const auto& [reason, entry] : by_reason_) list.push_back(entry);
  std::stable_sort(list.begin(), list.end(), [](const Entry& a, const Entry& b) {
    return a.rejection.candidates > b.rejection.candidates;
  });
  return list;
}

}  // namespace penstock
