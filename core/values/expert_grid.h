// Where the experts of a plan lie: whether its grid has a place for them.
#pragma once

#include <string>

#include "core/values/plan.h"

namespace penstock {

// Why the ranks of a stage cannot have experts between them like this; empty when they can. Ranks
// that have the experts of a layer between them are neighbours in a stage, as Megatron-LM's order
// tp-cp-ep-dp-pp has them (core/parallel_state.py).
std::string why_no_expert_grid(const Plan& plan);

// Whether so many neighbours, which hold parts of the same weights, have whole experts between them
// where `ranks` of them have all.
bool hold_whole_experts(int devices, int ranks);

// "EP 8", "EP 8 x ETP 2"; empty where every rank has its part of all experts.
std::string expert_words(const Plan& plan);

// The degrees beside TP, PP and DP that are not 1, as they follow TP: " x CP 2 (ulysses) x EP 8".
std::string other_degrees_words(const Plan& plan);

// How replicas and context ranks of a plan on this grid have to be a multiple: of them EP ETP ranks
// have all experts.
int replicas_multiple(const OtherDegrees& others, int tensor);

}  // namespace penstock
