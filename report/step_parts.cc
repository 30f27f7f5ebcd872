#include "report/step_parts.h"

#include <fmt/format.h>

#include "report/measures.h"
#include "report/screen.h"
#include "report/table.h"
#include "report/time_table.h"
#include "report/words.h"

namespace penstock {
namespace {

std::vector<std::int64_t> tenths_of(const std::vector<StepPart>& parts) {
  std::vector<Duration> times;
  times.reserve(parts.size());
  for (const StepPart& part : parts) times.push_back(part.time);
  return tenths_of_percent(times);
}

// "5.1 %": how much more the cluster does in the same time; nothing where the step would be empty.
std::string faster_text(Duration step, const StepPart& part) {
  if (part.step_if_zero <= Duration{}) return "-";
  return percent(more_speed(step, part.step_if_zero));
}

}  // namespace

std::string step_parts_table(Duration step, const std::vector<StepPart>& parts, Screen screen) {
  TextTable table({{"  part", true},
                   {"time"},
                   {"share", false, 2, 1},
                   {"if zero: step"},
                   {"faster"},
                   {"", true, 1},
                   {"", true, 2, 2}});
  const std::vector<std::int64_t> tenths = tenths_of(parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const StepPart& part = parts[i];
    table.add({"  " + part.name, aligned(part.time),
               fmt::format("{}.{} %", tenths[i] / 10, tenths[i] % 10), aligned(part.step_if_zero),
               faster_text(step, part), part.is_bound ? "at most" : "", part.meaning});
  }
  return table.text(screen.width(120));
}

Json to_json(Duration step, const std::vector<StepPart>& parts) {
  const std::vector<std::int64_t> tenths = tenths_of(parts);
  Json json = Json::array();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const StepPart& part = parts[i];
    Json one = Json::object()
                   .set("part", part.name)
                   .set("time_ns", std::int64_t{part.time.count()})
                   .set("share_percent", static_cast<double>(tenths[i]) / 10.0)
                   .set("step_time_if_zero_ns", std::int64_t{part.step_if_zero.count()});
    if (part.step_if_zero > Duration{}) {
      one.set("more_speed_if_zero", more_speed(step, part.step_if_zero));
    }
    json.push(one.set("basis", part.is_bound ? "bound" : "replayed"));
  }
  return json;
}

}  // namespace penstock
