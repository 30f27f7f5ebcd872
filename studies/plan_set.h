// The best plan for every number of GPUs: what more of them would bring.
#pragma once

#include <vector>

#include "report/page/report_data.h"
#include "search/question.h"

namespace penstock {

// For how many GPUs it is worked out: all numbers up to 64; of more GPUs 64 numbers, spread evenly,
// the powers of two and `gpus` among them.
std::vector<int> plan_set_sizes(int gpus);

struct PlanSet {
  std::vector<StaircaseStep> steps;  // one per size
  bool complete = true;              // false: `progress` ended it, and there are no steps
};

// One search for all `sizes` (ascending). `result` is that of the question itself: automatic
// schedules are tried for all its GPUs only, so that its best plan may be better there. A step is
// never slower than the one before it.
PlanSet plan_set(const Question& question, const SearchResult& result,
                 const std::vector<int>& sizes, SearchProgress& progress);

}  // namespace penstock
