// What the answer to a question leaves out, the weightiest for this model first.
#pragma once

#include <string>
#include <vector>

#include "core/values/evaluation.h"
#include "search/question.h"

namespace penstock {

// Short phrases: of a measured model with experts, ranks of experts; of an estimated one, parts of
// its config.json that the estimate leaves out, loads of experts that differ, and layers that do.
std::vector<std::string> not_modelled_here(const Question& question);

}  // namespace penstock
