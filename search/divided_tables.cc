#include "search/divided_tables.h"

#include <utility>

#include "core/values/recompute_sections.h"
#include "costmodel/plan_sections.h"

namespace penstock {

DividedTables::DividedTables(const RankTables& recomputed, const RankTables& kept,
                             const Plan& plan) {
  const std::vector<bool> again = recomputed_sections(plan);
  const bool divided = recompute_is_divided(plan);
  const bool alike = recomputed.is_one_for_all();
  const int ranks = alike ? 1 : plan.pipeline;
  merged_.reserve(static_cast<std::size_t>(ranks));
  std::vector<std::vector<const SectionTable*>> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank > 0 && recomputed[rank] == recomputed[rank - 1] && kept[rank] == kept[rank - 1]) {
      of_rank.push_back(of_rank.back());
      continue;
    }
    std::vector<SectionTable>& shapes = merged_.emplace_back();
    for (std::size_t shape = 0; shape < kept[rank].size(); ++shape) {
      const SectionTable &own = *recomputed[rank][shape], &of_kept = *kept[rank][shape];
      const bool is_raised = divided && is_somewhere_faster(own, of_kept);
      shapes.push_back(is_raised ? merge_tables(no_faster_than(own, of_kept), of_kept, again)
                                 : merge_tables(own, of_kept, again));
    }
    std::vector<const SectionTable*>& pointers = of_rank.emplace_back();
    for (const SectionTable& table : shapes) pointers.push_back(&table);
    for (const SectionPrice& section : shapes.front().sections) {
      recomputes_ = recomputes_ || section.price.recompute.duration > Duration{};
    }
  }
  tables_ = alike ? RankTables(std::move(of_rank.front())) : RankTables::of_each(of_rank);
}

}  // namespace penstock
