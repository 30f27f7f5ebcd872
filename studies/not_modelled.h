// What the answer to a question leaves out, the weightiest for this model first.
#pragma once

#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "search/question.h"

namespace penstock {

// Short phrases. A model with experts misses expert parallelism most; what the search had to leave
// out for its size is named, too.
std::vector<std::string> not_modelled_here(const Question& question);

}  // namespace penstock
