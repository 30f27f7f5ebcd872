// What an estimate rests on, in words. Private to estimator/.
#pragma once

#include <string>
#include <vector>

#include "estimator/estimate_choices.h"

namespace penstock {

// Of the device's rates, with what they were fitted on.
std::string shares_in_words(const EstimateChoices& choices);

// `degrees`: T that there are rows for.
void add_assumptions(const EstimateChoices& choices, const std::vector<int>& degrees,
                     std::vector<std::string>& list);

}  // namespace penstock
