#include "core/values/recompute_sections.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/values/rule_facts.h"

namespace penstock {
namespace {

int sections_of(const Plan& plan, int stage) {
  return plan.end_section(stage) - plan.first_section(stage);
}

constexpr std::size_t kMostRanges = 3;  // of stages that are named one by one

// "stage 2", "stages 0 to 3, 6", "9 of 16 stages"; "all stages" go without saying.
std::string stage_words(const Plan& plan) {
  std::vector<std::string> ranges;
  int stages = 0;
  const int all = plan.stages_per_copy();
  for (int first = 0; first < all; ++first) {
    if (recomputed_sections_of(plan, first) == 0) continue;
    int last = first;
    while (last + 1 < all && recomputed_sections_of(plan, last + 1) > 0) ++last;
    ranges.push_back(std::to_string(first) +
                     (last > first ? " to " + std::to_string(last) : std::string()));
    stages += last - first + 1;
    first = last;
  }
  if (stages == all) return "";
  if (ranges.size() > kMostRanges) {
    return " (" + std::to_string(stages) + " of " + std::to_string(all) + " stages)";
  }
  std::string words = stages == 1 ? " (stage " : " (stages ";
  for (std::size_t i = 0; i < ranges.size(); ++i) words += (i > 0 ? ", " : "") + ranges[i];
  return words + ")";
}

}  // namespace

bool last_rank_keeps(const Plan& plan) {
  return facts_of(rule_of_schedule(plan.schedule)).last_rank_keeps;
}

int recomputed_sections_of(const Plan& plan, int stage) {
  if (plan.recompute == "none") return 0;
  if (last_rank_keeps(plan) && stage == plan.stages() - 1) return 0;
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
  return plan.recompute + " in " + recompute_places(plan);
}

std::string recompute_places(const Plan& plan) {
  return std::to_string(count_recomputed(plan).sections) + " of " +
         std::to_string(plan.cuts.back()) + " sections" + stage_words(plan);
}

}  // namespace penstock
