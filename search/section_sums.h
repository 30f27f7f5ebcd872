// The sections of a model at one key (device, T, samples, sequence length, recompute mode) as
// prefix sums, so that the price of any run of sections is a difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/held_parameters.h"
#include "core/values/per_rank.h"
#include "core/values/profile.h"
#include "costmodel/price_stages.h"
#include "simulator/schedules/schedules.h"

namespace penstock {

struct SectionSums {
  std::string why_not;  // no prices: the reason
  SectionTable table;
  // sections + 1 entries each: sums over sections 0..i-1, in ns and bytes
  std::vector<std::int64_t> forward, input_gradient, weight_gradient, fused_backward, recompute;
  std::vector<std::int64_t> work, split_work;  // F + R + B and F + R + I + W
  // F + R + the shorter of B and I + W, less what an OVERLAP of F and B gains.
  std::vector<std::int64_t> mixed_work;
  std::vector<std::int64_t> gain;
  std::vector<std::int64_t> first_gradient;  // the shorter of B and I
  std::vector<std::int64_t> stash, weight_stash, parameters, fixed;
  std::vector<std::int64_t> experts;  // of the parameters (HeldParameters)
  // per section
  std::vector<std::int64_t> working_peak, boundary;
  std::int64_t longest_mixed_work = 0;  // of one section
  // The sections that hold other bytes than all before them, and the last that holds the same.
  struct Distinct {
    int first = 0, last = 0;
  };
  std::vector<Distinct> distinct;
  bool has_alike_layers = false;     // all but the first and the last hold the same bytes
  double least_forward_share = 1.0;  // smallest F / (F + R + I + W) of a section

  // The largest working peak of a run of sections, from a table of the maxima of 1, 2, 4, ..
  // sections.
  [[nodiscard]] std::int64_t working_peak_of(int first, int end) const;
  std::vector<std::vector<std::int64_t>> working_maxima;

  [[nodiscard]] HeldParameters held(int first, int end) const {
    const auto f = static_cast<std::size_t>(first), e = static_cast<std::size_t>(end);
    return {parameters[e] - parameters[f], experts[e] - experts[f]};
  }
  [[nodiscard]] int sections() const { return static_cast<int>(working_peak.size()); }
  [[nodiscard]] const std::vector<std::int64_t>& work_of(BackwardKind backward) const {
    if (backward == BackwardKind::kMixed) return mixed_work;
    return backward == BackwardKind::kSplit ? split_work : work;
  }
  // What the stage before waits for.
  [[nodiscard]] const std::vector<std::int64_t>& gradient_of(BackwardKind backward) const {
    if (backward == BackwardKind::kMixed) return first_gradient;
    return backward == BackwardKind::kSplit ? input_gradient : fused_backward;
  }
};

// The sums of every pipeline rank, by its device type; a reference to one stands for all.
class RankSums {
 public:
  RankSums(const SectionSums& of_all) : sums_(&of_all) {}
  explicit RankSums(std::vector<const SectionSums*> of_each)
      : sums_(PerRank<const SectionSums*>::of_each(std::move(of_each))) {}
  [[nodiscard]] const SectionSums& operator[](int rank) const { return *sums_[rank]; }
  [[nodiscard]] bool is_one_for_all() const { return sums_.is_one_for_all(); }

 private:
  PerRank<const SectionSums*> sums_;
};

SectionSums sum_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                         const std::string& device, int tensor_degree, int samples,
                         int sequence_length, const std::string& recompute,
                         const OtherDegrees& others = {});

// The sums of every rank where the last one recomputes nothing (Varuna's schedules) and keeps what
// it does in mode "none": `kept`. Points into both.
RankSums last_rank_keeps(const RankSums& sums, const RankSums& kept, int ranks);

// sum_sections() of sections that are priced already.
SectionSums sum_table(const ModelProfile& profile, int tensor_degree, const OtherDegrees& others,
                      SectionTable table);

// Parameters that a tied group saves when one stage holds all of sections [first, end).
class TiedParameters {
 public:
  TiedParameters(const ModelProfile& profile, int tensor_degree);
  // Parameters counted more than once in the sums of the run.
  [[nodiscard]] std::int64_t repeated(int first, int end) const;
  // No run of at most this many sections holds two of one group.
  [[nodiscard]] bool never_repeated_within(int sections) const;

 private:
  struct Tie {
    std::vector<int> sections;
    std::int64_t parameters = 0;
  };
  std::vector<Tie> ties_;
};

}  // namespace penstock
