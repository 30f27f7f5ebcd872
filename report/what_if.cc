#include "report/what_if.h"

#include "report/screen.h"
#include "report/table.h"
#include "report/words.h"

namespace penstock {
namespace {

double saved_share(Duration now, Duration then) {
  if (now <= Duration{}) return 0.0;
  return static_cast<double>((now - then).count()) / static_cast<double>(now.count());
}

}  // namespace

std::string what_if_table(Duration now, const std::vector<WhatIf>& changes, Screen screen) {
  TextTable table({{"  if", true}, {"step"}, {"saves"}});
  table.add({"  (as it is)", aligned(now), ""});
  for (const WhatIf& change : changes) {
    table.add({"  " + change.change, aligned(change.step_time),
               percent(saved_share(now, change.step_time))});
  }
  return table.text(screen.width());
}

Json what_if_json(Duration now, const std::vector<WhatIf>& changes) {
  Json json = Json::array();
  for (const WhatIf& change : changes) {
    json.push(Json::object()
                  .set("change", change.change)
                  .set("step_time_ns", std::int64_t{change.step_time.count()})
                  .set("saved_share", saved_share(now, change.step_time)));
  }
  return json;
}

}  // namespace penstock
