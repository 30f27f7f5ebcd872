#include "core/recompute_sections.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace penstock {
namespace {

int sections_of(const Plan& plan, int stage) {
  return plan.end_section(stage) - plan.first_section(stage);
}

std::string part_words(const Plan& plan, int stage) {
  const int count = recomputed_sections_of(plan, stage), all = sections_of(plan, stage);
  const std::string words = count == 0     ? "none of"
                            : count == all ? "all"
                                           : std::to_string(count) + " of";
  return words + " " + std::to_string(all);
}

std::string stage_words(int first, int last) {
  if (first == last) return " on stage " + std::to_string(first);
  return " on stages " + std::to_string(first) + (last == first + 1 ? " and " : " to ") +
         std::to_string(last);
}

}  // namespace

int recomputed_sections_of(const Plan& plan, int stage) {
  if (plan.recompute == "none") return 0;
  if (!recompute_is_divided(plan)) return sections_of(plan, stage);
  const auto of_copy = static_cast<std::size_t>(stage % plan.stages_per_copy());
  return of_copy < plan.recompute_sections.size() ? plan.recompute_sections[of_copy] : 0;
}

RecomputeCount count_recomputed(const Plan& plan) {
  RecomputeCount count;
  for (int stage = 0; stage < plan.stages_per_copy(); ++stage) {
    const int of_stage = recomputed_sections_of(plan, stage);
    count.sections += of_stage;
    count.most_of_a_stage = std::max(count.most_of_a_stage, of_stage);
    count.least_of_a_stage = stage == 0 ? of_stage : std::min(count.least_of_a_stage, of_stage);
  }
  return count;
}

std::vector<bool> recomputed_sections(const Plan& plan) {
  std::vector<bool> recomputed(static_cast<std::size_t>(plan.cuts.back()), false);
  for (int stage = 0; stage < plan.stages_per_copy(); ++stage) {
    const int first = plan.first_section(stage);
    const int end = std::min(first + recomputed_sections_of(plan, stage), plan.end_section(stage));
    std::fill(recomputed.begin() + first, recomputed.begin() + end, true);
  }
  return recomputed;
}

void set_recompute_sections(Plan& plan, std::vector<int> sections) {
  plan.recompute_sections = std::move(sections);
  const int recomputed = count_recomputed(plan).sections;
  if (recomputed == 0) plan.recompute = "none";
  if (recomputed == 0 || recomputed == plan.cuts.back()) plan.recompute_sections.clear();
}

std::string recompute_in_short(const Plan& plan) {
  if (!recompute_is_divided(plan) || plan.cuts.empty()) return plan.recompute;
  return plan.recompute + " " + std::to_string(count_recomputed(plan).sections) + "/" +
         std::to_string(plan.cuts.back());
}

std::string recompute_in_words(const Plan& plan) {
  if (plan.recompute == "none") return "none";
  if (!recompute_is_divided(plan) || plan.cuts.empty()) return plan.recompute + " in all sections";
  std::vector<std::string> parts;
  const int stages = plan.stages_per_copy();
  for (int first = 0; first < stages;) {
    int last = first;
    const std::string part = part_words(plan, first);
    while (last + 1 < stages && part_words(plan, last + 1) == part) ++last;
    parts.push_back("in " + part + (parts.empty() ? " sections" : "") + stage_words(first, last));
    first = last + 1;
  }
  std::string words = plan.recompute + " ";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) words += i + 1 == parts.size() ? " and " : ", ";
    words += parts[i];
  }
  return words;
}

}  // namespace penstock
