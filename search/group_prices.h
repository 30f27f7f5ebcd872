// What the sections of a model cost on the devices of one group: by rank where it is mixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/values/per_rank.h"
#include "search/candidates.h"
#include "search/evaluate.h"
#include "search/section_sums.h"

namespace penstock {

struct SearchShared;

// The search space outlives it. In the plan's recompute mode, which need not be that of the group.
class GroupPrices {
 public:
  GroupPrices(const PlanInputs& inputs, const SearchSpace& space, const CandidateGroup& group,
              const Plan& plan, SearchShared& shared);

  [[nodiscard]] const std::string& why_not() const { return why_not_; }  // empty: there are prices
  // Of the largest micro-batches.
  [[nodiscard]] const RankSums& sums() const { return *sums_; }
  // Likewise, of each type in the order of the ranks.
  [[nodiscard]] std::vector<const SectionSums*> types() const;
  // Of micro-batches of so many samples, on one type; null where the plan has none.
  [[nodiscard]] const SectionSums* shape_of(int samples) const;
  // The samples of micro-batches, as micro_batch_shapes(): the largest first.
  [[nodiscard]] const std::vector<int>& samples() const { return samples_; }
  [[nodiscard]] const RankTables& tables() const { return *tables_; }
  [[nodiscard]] const PerRank<Bytes>& memory() const { return memory_; }
  [[nodiscard]] const PerRank<Bytes>& reserve() const { return reserve_; }
  [[nodiscard]] bool recomputes() const;
  // Of one micro-batch of a shape (as micro_batch_shapes()), every section on the type that is
  // fastest for it.
  [[nodiscard]] std::int64_t least_work(BackwardKind backward, std::size_t shape = 0) const;
  // Of one micro-batch of full size, forward through all stages and back.
  [[nodiscard]] std::int64_t least_trip(BackwardKind backward) const;
  [[nodiscard]] double least_forward_share() const;

 private:
  using Shapes = std::vector<std::shared_ptr<const SectionSums>>;

  void load(const PlanInputs& inputs, const SearchSpace& space, int key, const Plan& plan,
            SearchShared& shared);
  void spread(const SearchSpace& space, const CandidateGroup& group);
  // The sum over all sections of what each takes at least.
  template <class TimesOf>
  [[nodiscard]] std::int64_t sum_of_least(const TimesOf& times_of) const;
  static std::vector<const SectionTable*> tables_of(const Shapes& shapes);

  std::vector<Shapes> of_type_;  // as RankRun, one by one
  std::vector<int> samples_;
  std::string why_not_;
  std::optional<RankSums> sums_;
  std::optional<RankTables> tables_;
  PerRank<Bytes> memory_, reserve_;
};

}  // namespace penstock
