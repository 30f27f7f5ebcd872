// Why a plan was not made otherwise: the best plan with some choices pinned, beside this one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "report/screen.h"

namespace penstock {

struct WhyNot {
  std::string asked;                        // "P=8, D=8"
  std::vector<std::string> contradictions;  // not empty: no search was needed
  std::string remark;                       // what else is to be known of the question
  SearchResult result;                      // with these pins
  // How far the ratio of the two step times may be off, relative; nine of ten lie within.
  double relative_half_width = 0.0;
};

// `plan` and `now`: the one that was asked about.
std::string why_not_text(const WhyNot& why, const Plan& plan, const Evaluation& now, Screen screen);
Json to_json(const WhyNot& why, const Plan& plan, const Evaluation& now);

}  // namespace penstock
