// The findings of a lint in words, as JSON, and as annotations of GitHub's CI.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "report/screen.h"
#include "trainers/lint/lint.h"

namespace penstock {

// One paragraph per finding: what, where, why, how to fix it; then what was judged, and what not.
std::string lint_text(const LintReport& report, const std::string& file, Screen screen);

// Its parts, for reports on several files: the paragraphs of the findings; "1 error, 2 warnings",
// "no findings", or what could not be judged; the rules that lack the same thing on one line.
std::string findings_text(const std::vector<LintFinding>& findings, const std::string& file,
                          Screen screen);
std::string verdict_text(const LintReport& report);
// Whether any size of the job was read: without one nothing could be judged.
bool has_sizes(const LintReport& report);
std::string gaps_text(const std::vector<LintGap>& gaps, Screen screen);
// "torchtitan 0.2"
std::string target_text(const LintReport& report);

// "::error file=launch.sh,line=27,title=E010::..." a line per finding.
std::string lint_annotations(const LintReport& report, const std::string& file);

Json to_json(const LintReport& report, const std::string& file);

}  // namespace penstock
