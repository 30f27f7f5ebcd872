#include "cli/answers/options/option_remarks.h"

#include "cli/answers/options/remark_tables.h"

namespace penstock {

const std::vector<Remark>& option_remarks() {
  static const std::vector<Remark> kAll = [] {
    std::vector<Remark> all;
    for (const auto table : {remarks_to_one_verb(), remarks_on_layouts(), remarks_on_searches()}) {
      all.insert(all.end(), table.begin(), table.end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace penstock
