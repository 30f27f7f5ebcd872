// What keeping the optimizer's state on the host would do where nothing fits without it.
#pragma once

#include <string>

#include "search/best_plans.h"
#include "search/question.h"

namespace penstock {

// One sentence, with the option that asks for it; empty where that does not help, or was asked.
std::string offload_remedy(Question question, SearchProgress& progress);

}  // namespace penstock
