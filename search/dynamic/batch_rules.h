// The settings of the rules that micro-batches of different shapes are compared with.
#pragma once

#include <vector>

#include "core/values/plan.h"
#include "search/dynamic/plan_batch.h"

namespace penstock {

// So that a replica has 1, 2, 4 .. 32 micro-batches for every rank of its pipeline; `whole`: what a
// global batch has of the rule's amount, in tokens, samples or rows.
std::vector<BatchRule> rules_of(BatchMethod method, const Plan& layout, double whole);

// What "dynamic" is never to be slower than: token budgets and fixed sizes. Rows of several samples
// are none of its plans unless it packs.
std::vector<BatchRule> rival_rules(const Plan& layout, double tokens, double samples);

}  // namespace penstock
