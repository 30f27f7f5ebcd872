#include "costmodel/plan_sections.h"

#include <algorithm>

#include "core/values/recompute_sections.h"

namespace penstock {
namespace {

using Notes = std::vector<SectionNote>;

bool holds(const Notes& notes, const SectionNote& note) {
  return std::any_of(notes.begin(), notes.end(), [&](const SectionNote& one) {
    return one.type == note.type && one.text == note.text;
  });
}

// What both say is about all sections of the type.
Notes merged_notes(const Notes& recomputed, const Notes& kept) {
  Notes merged = recomputed;
  for (SectionNote& note : merged) {
    if (!holds(kept, note)) note.about = SectionNote::About::kRecomputed;
  }
  for (const SectionNote& note : kept) {
    if (holds(recomputed, note)) continue;
    merged.push_back(note);
    merged.back().about = SectionNote::About::kKept;
  }
  return merged;
}

}  // namespace

SectionTable merge_tables(const SectionTable& recomputed, const SectionTable& kept,
                          const std::vector<bool>& is_recomputed) {
  if (!recomputed.why_not.empty()) return recomputed;
  if (!kept.why_not.empty()) return kept;
  SectionTable merged = recomputed;
  for (std::size_t s = 0; s < merged.sections.size(); ++s) {
    if (!is_recomputed[s]) merged.sections[s] = kept.sections[s];
  }
  merged.notes = merged_notes(recomputed.notes, kept.notes);
  return merged;
}

SectionTable price_plan_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                                 const std::string& device, const Plan& plan,
                                 const MicroBatchShape& shape) {
  if (shape.decoder_tokens > 0) {
    SectionTable none;
    none.why_not =
        "no times of a decoder with a length of its own (decoder_tokens): profiles are "
        "measured at one length";
    return none;
  }
  const auto priced = [&](const std::string& mode) {
    return price_sections(profile, cluster, device, plan.tensor, shape.samples, shape.tokens, mode);
  };
  const bool keeps = last_rank_keeps(plan) && !plan.cuts.empty() && plan.recompute != "none";
  if (!recompute_is_divided(plan) && !keeps) return priced(plan.recompute);
  return merge_tables(priced(plan.recompute), priced("none"), recomputed_sections(plan));
}

}  // namespace penstock
