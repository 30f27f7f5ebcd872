// Prefix sums per figure, and for working peaks a sparse table of maxima over powers of two, which
// answers any run of sections in two look-ups. A search prices millions of runs, hence no sum over
// sections anywhere else. Tied parameters, which a stage counts once however many of its sections
// share them, are listed apart (TiedParameters).
#include "search/section_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace penstock {
namespace {

std::int64_t parameters_at(const std::vector<ParameterCount>& counts, int tensor_degree) {
  for (const ParameterCount& count : counts) {
    if (count.tensor_degree == tensor_degree) return count.count;
  }
  return 0;  // price_sections() has refused such a degree already
}

void append(std::vector<std::int64_t>& sums, std::int64_t value) {
  sums.push_back(sums.back() + value);
}

// Level k holds the maximum of every 2^k consecutive values.
std::vector<std::vector<std::int64_t>> maxima_of(const std::vector<std::int64_t>& values) {
  std::vector<std::vector<std::int64_t>> levels{values};
  for (std::size_t width = 1; 2 * width <= values.size(); width *= 2) {
    std::vector<std::int64_t> level;
    for (std::size_t i = 0; i + 2 * width <= values.size(); ++i) {
      level.push_back(std::max(levels.back()[i], levels.back()[i + width]));
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

bool holds_the_same(const SectionSums& sums, int section, int other) {
  const auto a = static_cast<std::size_t>(section);
  const auto b = static_cast<std::size_t>(other);
  const auto same = [&](const std::vector<std::int64_t>& prefix) {
    return prefix[a + 1] - prefix[a] == prefix[b + 1] - prefix[b];
  };
  return same(sums.stash) && same(sums.weight_stash) && same(sums.parameters) &&
         same(sums.experts) && same(sums.fixed) && sums.working_peak[a] == sums.working_peak[b] &&
         sums.boundary[a] == sums.boundary[b];
}

}  // namespace

SectionSums sum_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                         const std::string& device, int tensor_degree, int samples,
                         int sequence_length, const std::string& recompute,
                         const OtherDegrees& others) {
  return sum_table(profile, tensor_degree, others,
                   price_sections(profile, cluster, device, tensor_degree, samples, sequence_length,
                                  recompute, 0, others));
}

SectionSums sum_table(const ModelProfile& profile, int tensor_degree, const OtherDegrees& others,
                      SectionTable table) {
  SectionSums sums;
  sums.table = std::move(table);
  sums.why_not = sums.table.why_not;
  if (!sums.why_not.empty()) return sums;
  for (auto* list : {&sums.forward, &sums.input_gradient, &sums.weight_gradient,
                     &sums.fused_backward, &sums.recompute, &sums.work, &sums.split_work,
                     &sums.mixed_work, &sums.gain, &sums.first_gradient, &sums.stash,
                     &sums.weight_stash, &sums.parameters, &sums.fixed, &sums.experts}) {
    list->reserve(profile.sections.size() + 1);
    list->push_back(0);
  }
  for (std::size_t i = 0; i < profile.sections.size(); ++i) {
    const ComputePrice& price = sums.table.sections[i].price;
    const std::int64_t f = price.forward.duration.count();
    const std::int64_t in = price.input_gradient.duration.count();
    const std::int64_t w = price.weight_gradient.duration.count();
    const std::int64_t b = price.fused_backward.duration.count();
    const std::int64_t r = price.recompute.duration.count();
    append(sums.forward, f);
    append(sums.input_gradient, in);
    append(sums.weight_gradient, w);
    append(sums.fused_backward, b);
    append(sums.recompute, r);
    append(sums.work, f + r + b);
    append(sums.split_work, f + r + in + w);
    const std::int64_t gain = price.overlap_gain.count();
    append(sums.mixed_work, f + r + std::min(b, in + w) - gain);
    append(sums.gain, gain);
    append(sums.first_gradient, std::min(b, in));
    sums.longest_mixed_work = std::max(sums.longest_mixed_work, f + r + std::min(b, in + w) - gain);
    if (f + r + in + w > 0) {
      const double share = static_cast<double>(f) / static_cast<double>(f + r + in + w);
      sums.least_forward_share = std::min(sums.least_forward_share, share);
    }
    append(sums.stash, price.stash.count);
    append(sums.weight_stash, price.weight_stash.count);
    const auto& type = profile.section_types[static_cast<std::size_t>(profile.sections[i].type)];
    // price_sections() has refused degrees without a count.
    const HeldParameters held =
        held_parameters(type, tensor_degree, others).value_or(HeldParameters{});
    append(sums.parameters, held.all);
    append(sums.experts, held.experts);
    append(sums.fixed, type.fixed.count);
    sums.working_peak.push_back(price.working_peak.count);
    sums.boundary.push_back(price.boundary.count);
  }
  sums.working_maxima = maxima_of(sums.working_peak);
  for (int s = 0; s < sums.sections(); ++s) {
    const auto known = std::find_if(
        sums.distinct.begin(), sums.distinct.end(),
        [&](const SectionSums::Distinct& other) { return holds_the_same(sums, s, other.first); });
    if (known == sums.distinct.end()) {
      sums.distinct.push_back({s, s});
    } else {
      known->last = s;
    }
  }
  sums.has_alike_layers = true;
  for (int s = 2; s + 1 < sums.sections(); ++s) {
    sums.has_alike_layers = sums.has_alike_layers && holds_the_same(sums, s, 1);
  }
  return sums;
}

RankSums last_rank_keeps(const RankSums& sums, const RankSums& kept, int ranks) {
  std::vector<const SectionSums*> of_rank;
  of_rank.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r + 1 < ranks; ++r) of_rank.push_back(&sums[r]);
  of_rank.push_back(&kept[ranks - 1]);
  return RankSums(std::move(of_rank));
}

std::int64_t SectionSums::working_peak_of(int first, int end) const {
  const auto f = static_cast<std::size_t>(first);
  const auto e = static_cast<std::size_t>(end);
  const auto level = static_cast<std::size_t>(std::bit_width(e - f) - 1);
  const auto& maxima = working_maxima[level];
  return std::max(maxima[f], maxima[e - (std::size_t{1} << level)]);
}

TiedParameters::TiedParameters(const ModelProfile& profile, int tensor_degree) {
  for (const TiedWeights& tied : profile.tied_weights) {
    Tie tie;
    tie.parameters = parameters_at(tied.parameters, tensor_degree);
    for (const SectionId section : tied.sections) tie.sections.push_back(section.value);
    ties_.push_back(std::move(tie));
  }
}

std::int64_t TiedParameters::repeated(int first, int end) const {
  std::int64_t repeated = 0;
  for (const Tie& tie : ties_) {
    const auto inside = std::count_if(tie.sections.begin(), tie.sections.end(),
                                      [&](int s) { return s >= first && s < end; });
    if (inside > 1) repeated += tie.parameters * (inside - 1);
  }
  return repeated;
}

bool TiedParameters::never_repeated_within(int sections) const {
  return std::all_of(ties_.begin(), ties_.end(), [&](const Tie& tie) {
    for (std::size_t i = 1; i < tie.sections.size(); ++i) {
      if (tie.sections[i] - tie.sections[i - 1] < sections) return false;
    }
    return true;
  });
}

}  // namespace penstock
