// What the computing of a rank is made of: the named parts that the prices of its sections were
// added up from.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/profile.h"
#include "report/screen.h"

namespace penstock {

// Of one micro-batch on all stages of a rank. Empty terms: the profile does not say.
struct WorkTerms {
  int rank = 0;
  std::vector<TimeTerm> terms;
};

std::string work_terms_table(const std::vector<TimeTerm>& terms, Screen screen);
Json to_json(const WorkTerms& work);

}  // namespace penstock
