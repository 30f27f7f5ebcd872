// The parts of the row. Private to this folder.
#pragma once

#include <string>
#include <string_view>

#include "trainers/lint/lint.h"

namespace penstock {

LintReport lint_verl(std::string_view text, const std::string& file, const LintRequest& request);

}  // namespace penstock
