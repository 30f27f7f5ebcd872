// Rank r ends at T, so it has worked no longer than T - f_r, with f_r what it waits for: of M
// micro-batches it has no more sections than n_r, where the n_r shortest ones on its type take
// (T - f_r) / M. All ranks together have all sections, so no step is shorter than the least T whose
// n_r add up to them. It is found from the known bound upwards, from one section more on some rank
// to the next. What holds of all sections holds of some of them. Those that are shorter than most
// would let every rank have one more, so it is asked without an embedding that takes next to
// nothing, and again without a head that is a little shorter than a layer.
// tests/search/mixed_fill_test.cc holds it against all cuts.
#include "search/whole_sections.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace penstock {
namespace {

std::vector<std::int64_t> differences(const std::vector<std::int64_t>& prefix) {
  std::vector<std::int64_t> entries;
  entries.reserve(prefix.size());
  for (std::size_t i = 1; i < prefix.size(); ++i) entries.push_back(prefix[i] - prefix[i - 1]);
  return entries;
}

std::int64_t median(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Of the n shortest of some sections.
std::vector<std::int64_t> sums_of_shortest(const std::vector<std::int64_t>& works,
                                           const std::vector<std::size_t>& sections) {
  std::vector<std::int64_t> sums(sections.size() + 1);
  std::transform(sections.begin(), sections.end(), sums.begin() + 1,
                 [&works](std::size_t section) { return works[section]; });
  std::sort(sums.begin() + 1, sums.end());
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  return sums;
}

// A rank that has `sections` of its type's already, and ends at `time` with one more.
struct OneMore {
  std::int64_t time = 0;
  std::size_t rank = 0, type = 0, sections = 0;
  bool operator>(const OneMore& other) const { return time > other.time; }
};

}  // namespace

WholeSections::WholeSections(const std::vector<const SectionSums*>& types, BackwardKind backward) {
  std::vector<std::vector<std::int64_t>> works;
  works.reserve(types.size());
  for (const SectionSums* type : types) works.push_back(differences(type->work_of(backward)));
  const std::int64_t middle = median(works.front());
  for (const std::int64_t shortest : {middle / 2, middle - middle / 16}) {
    std::vector<std::size_t> part;
    for (std::size_t i = 0; i < works.front().size(); ++i) {
      if (works.front()[i] >= shortest) part.push_back(i);
    }
    Shortest& of_part = parts_.emplace_back();
    for (const auto& of_type : works) of_part.push_back(sums_of_shortest(of_type, part));
  }
}

std::int64_t WholeSections::least(const std::vector<RankRun>& runs, std::int64_t micro_batches,
                                  const std::vector<std::int64_t>& waits,
                                  std::int64_t known) const {
  for (const Shortest& part : parts_) known = least_of(part, runs, micro_batches, waits, known);
  return known;
}

std::int64_t WholeSections::least_of(const Shortest& shortest, const std::vector<RankRun>& runs,
                                     std::int64_t micro_batches,
                                     const std::vector<std::int64_t>& waits, std::int64_t known) {
  const std::size_t all = shortest.front().size() - 1;
  std::size_t had = 0;
  std::vector<OneMore> next;
  next.reserve(waits.size());
  for (std::size_t type = 0; type < runs.size(); ++type) {
    const std::vector<std::int64_t>& of_type = shortest[type];
    std::size_t most = all;
    for (int n = 0; n < runs[type].ranks; ++n) {
      const std::int64_t wait = waits[next.size()];
      // Ranks further along wait longer, so they have no more.
      while (most > 0 && wait + micro_batches * of_type[most] > known) --most;
      had += most;
      if (had >= all) return known;
      next.push_back({wait + micro_batches * of_type[most + 1], next.size(), type, most});
    }
  }
  std::make_heap(next.begin(), next.end(), std::greater<>());
  for (; had < all; ++had) {
    std::pop_heap(next.begin(), next.end(), std::greater<>());
    OneMore& first = next.back();
    known = first.time;
    // A rank that has all of them is asked for no more.
    if (++first.sections == all) break;
    first.time = waits[first.rank] + micro_batches * shortest[first.type][first.sections + 1];
    std::push_heap(next.begin(), next.end(), std::greater<>());
  }
  return known;
}

}  // namespace penstock
