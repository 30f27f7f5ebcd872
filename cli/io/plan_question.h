// The question that a plan answered, made again from the files that the plan names: for asking it
// again with one thing changed. Nothing is used that has changed since the plan was made.
#pragma once

#include <string>

#include "core/values/plan_file.h"
#include "search/question.h"

namespace penstock {

// What a plan file says of the question it answers: by it the question can be asked again.
void note_question(const Question& question, PlanFile& file);

// Files are looked for where the plan says, then beside the plan, which is at `path`. They count
// when their hashes are those of the plan and when the plan, priced with them, costs what its file
// says. Of a plan that was made from a config.json, the estimate is made again; with all CP and EP
// that a search tries, where plans with others are asked about.
PlanQuestion question_of(const PlanFile& file, const std::string& path, bool all_degrees = false);
// The same of a plan whose batch may be any, and without that comparison. Files that are named
// (empty: not) are taken instead of the plan's, whatever their hash.
PlanQuestion measured_question_of(const PlanFile& file, const std::string& path,
                                  const std::string& profile, const std::string& cluster);

}  // namespace penstock
