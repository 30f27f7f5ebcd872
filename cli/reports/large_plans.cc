#include "cli/reports/large_plans.h"

#include "cli/io/plan_json.h"
#include "cli/reports/report_timelines.h"
#include "search/rolled_program.h"

namespace penstock {

bool is_drawn(const Plan& plan) {
  constexpr std::int64_t kMostDrawn = std::int64_t{1} << 18;
  return std::int64_t{plan.stages()} * first_load(plan).micro_batches <= kMostDrawn;
}

PlanFile read_plan_to_draw(const Json& json, const std::string& path) {
  return read_plan_rolled_up(json, path,
                             [](const Plan& plan, std::int64_t) { return !is_drawn(plan); });
}

Loaded<PlanFile> load_plan_to_draw(const std::string& path) {
  const Loaded<Json> json = load_plan_json(path);
  return {read_plan_to_draw(json.value, path), json.file};
}

PlanFile read_plan_for_page(const Json& json, const std::string& path) {
  return read_plan_rolled_up(json, path, [](const Plan&, std::int64_t actions) {
    return actions > static_cast<std::int64_t>(kMostShownActions);
  });
}

}  // namespace penstock
