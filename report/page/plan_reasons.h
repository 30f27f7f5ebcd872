// Why a plan is where it is among others: what makes it slower, or faster, than the first one.
#pragma once

#include <string>

#include "core/values/evaluation.h"
#include "core/values/plan.h"

namespace penstock {

// "3.1 % slower than plan 1: larger bubble (6.8 % of the step against 5.2 %); needs 4.1 GiB less".
// The causes are the parts of the busiest rank's time that differ most in that direction.
std::string reason_behind(const Plan& first, const Evaluation& first_evaluation, const Plan& plan,
                          const Evaluation& evaluation);

}  // namespace penstock
