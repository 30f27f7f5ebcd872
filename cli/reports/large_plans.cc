#include "cli/reports/large_plans.h"

#include <fmt/format.h>

#include "cli/io/plan_json.h"
#include "cli/reports/report_timelines.h"
#include "core/values/error.h"
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

Loaded<PlanFile> load_plan_written_out(const std::string& path, const std::string& what,
                                       std::int64_t most_actions, const std::string& remedy) {
  const Loaded<Json> json = load_plan_json(path);
  const auto refuse_endless = [&](const Plan&, std::int64_t actions) {
    if (actions > most_actions) {
      throw_bad_input(fmt::format("{}: {} needs every one of its {} actions, at most {}\nhelp: {}",
                                  path, what, actions, most_actions, remedy));
    }
    return false;
  };
  return {read_plan_rolled_up(json.value, path, refuse_endless), json.file};
}

PlanFile read_plan_for_page(const Json& json, const std::string& path) {
  return read_plan_rolled_up(json, path, [](const Plan&, std::int64_t actions) {
    return actions > static_cast<std::int64_t>(kMostShownActions);
  });
}

}  // namespace penstock
