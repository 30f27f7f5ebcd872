#include "report/ties.h"

#include <fmt/format.h>

#include "report/words.h"

namespace penstock {

std::string ties_with_first(const std::vector<int>& plans) {
  if (plans.empty()) return "";
  if (plans.size() == 1) return fmt::format("Plan {} ties with plan 1", plans[0]);
  if (plans.size() == 2) return fmt::format("Plans {} and {} tie with plan 1", plans[0], plans[1]);
  return fmt::format("Plans {} tie with plan 1", ranges(plans));
}

}  // namespace penstock
