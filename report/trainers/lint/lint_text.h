// The findings of a lint in words, as JSON, and as annotations of GitHub's CI.
#pragma once

#include <string>

#include "core/values/json.h"
#include "report/trainers/lint/lint.h"

namespace penstock {

// One paragraph per finding: what, where, why, how to fix it; then what was judged, and what not.
std::string lint_text(const LintReport& report, const std::string& file);

// "::error file=launch.sh,line=27,title=E010::..." a line per finding.
std::string lint_annotations(const LintReport& report, const std::string& file);

Json to_json(const LintReport& report, const std::string& file);

}  // namespace penstock
