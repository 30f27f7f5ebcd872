#include "costmodel/plan_sections.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/values/recompute_sections.h"

namespace penstock {
namespace {

using Notes = std::vector<SectionNote>;

constexpr std::array kWork{&ComputePrice::forward, &ComputePrice::input_gradient,
                           &ComputePrice::weight_gradient, &ComputePrice::fused_backward};

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

SectionTable no_faster_than(SectionTable recomputed, const SectionTable& kept) {
  if (!recomputed.why_not.empty() || !kept.why_not.empty()) return recomputed;
  for (std::size_t s = 0; s < recomputed.sections.size(); ++s) {
    for (const auto part : kWork) {
      Price& price = recomputed.sections[s].price.*part;
      const Price& least = kept.sections[s].price.*part;
      if (price.duration < least.duration) price = least;
    }
  }
  return recomputed;
}

bool is_somewhere_faster(const SectionTable& recomputed, const SectionTable& kept) {
  for (std::size_t s = 0; s < std::min(recomputed.sections.size(), kept.sections.size()); ++s) {
    for (const auto part : kWork) {
      const Price& price = recomputed.sections[s].price.*part;
      if (price.duration < (kept.sections[s].price.*part).duration) return true;
    }
  }
  return false;
}

SectionTable price_plan_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                                 const std::string& device, const Plan& plan,
                                 const MicroBatchShape& shape) {
  const auto priced = [&](const std::string& mode) {
    return price_sections(profile, cluster, device, plan.tensor, shape.samples, shape.tokens, mode,
                          shape.decoder_tokens, plan.other_degrees());
  };
  const bool keeps = last_rank_keeps(plan) && !plan.cuts.empty() && plan.recompute != "none";
  if (!recompute_is_divided(plan) && !keeps) return priced(plan.recompute);
  const SectionTable kept = priced("none");
  SectionTable recomputed = priced(plan.recompute);
  if (recompute_is_divided(plan)) recomputed = no_faster_than(std::move(recomputed), kept);
  return merge_tables(recomputed, kept, recomputed_sections(plan));
}

}  // namespace penstock
