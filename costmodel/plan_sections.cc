#include "costmodel/plan_sections.h"

#include <algorithm>

#include "core/recompute_sections.h"

namespace penstock {

SectionTable merge_tables(const SectionTable& recomputed, const SectionTable& kept,
                          const std::vector<bool>& is_recomputed) {
  if (!recomputed.why_not.empty()) return recomputed;
  if (!kept.why_not.empty()) return kept;
  SectionTable merged = recomputed;
  for (std::size_t s = 0; s < merged.sections.size(); ++s) {
    if (!is_recomputed[s]) merged.sections[s] = kept.sections[s];
  }
  for (const SectionNote& note : kept.notes) {
    const bool known = std::any_of(merged.notes.begin(), merged.notes.end(), [&](const auto& one) {
      return one.type == note.type && one.text == note.text;
    });
    if (!known) merged.notes.push_back(note);
  }
  return merged;
}

SectionTable price_plan_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                                 const std::string& device, const Plan& plan, int samples) {
  const auto priced = [&](const std::string& mode) {
    return price_sections(profile, cluster, device, plan.tensor, samples, plan.sequence_length,
                          mode);
  };
  if (!recompute_is_divided(plan)) return priced(plan.recompute);
  return merge_tables(priced(plan.recompute), priced("none"), recomputed_sections(plan));
}

}  // namespace penstock
