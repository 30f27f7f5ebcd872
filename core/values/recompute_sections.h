// How much of a plan recomputes: Plan::recompute names a mode, and Plan::recompute_sections in how
// many sections of each stage it is used.
#pragma once

#include <string>
#include <vector>

#include "core/values/plan.h"

namespace penstock {

// The mode is used in some sections and not in others.
inline bool recompute_is_divided(const Plan& plan) { return !plan.recompute_sections.empty(); }

// Varuna's last rank runs a backward right after its forward and recomputes nothing, whatever the
// mode: it keeps the activations of that one micro-batch (docs/schedules.md, "varuna").
bool last_rank_keeps(const Plan& plan);

// Of this stage; all of its sections where that is not divided, none in mode "none". The plan's
// cuts are set.
int recomputed_sections_of(const Plan& plan, int stage);

// Of one copy of the weights.
struct RecomputeCount {
  int sections = 0;
  int most_of_a_stage = 0, least_of_a_stage = 0;
};
RecomputeCount count_recomputed(const Plan& plan);

// Of every section of the model: whether it uses the mode.
std::vector<bool> recomputed_sections(const Plan& plan);

// So many sections of each stage, said in the one way that stands for it: mode "none" where there
// are none, no numbers where they are all. The plan's mode and cuts are set.
void set_recompute_sections(Plan& plan, std::vector<int> sections);

// For tables: "full", "full 7/34": seven of 34 sections.
std::string recompute_in_short(const Plan& plan);
// "full in all sections"; "full in 13 of 86 sections (stages 0 to 3, 6)".
std::string recompute_in_words(const Plan& plan);
// Where it is divided: "13 of 86 sections (stages 0 to 3, 6)".
std::string recompute_places(const Plan& plan);

}  // namespace penstock
