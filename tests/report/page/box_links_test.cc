#include "report/page/box_links.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/simulate.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

// The step of tests/core/tiny_plan.h as if it had been measured, each rank late by its own time.
MeasuredStep measured(const PlanFile& plan, const std::vector<Duration>& late) {
  const Timeline timeline = simulate(plan.program, plan.prices, plan.executor);
  MeasuredStep step;
  step.step_time = timeline.step_end.time_since_epoch() + Duration{1000};
  for (int r = 0; r < plan.program.ranks(); ++r) {
    MeasuredRank rank{.rank = r, .pipeline_rank = r, .start = {}, .end = {}};
    for (std::size_t i = 0; i < plan.program.actions.size(); ++i) {
      if (plan.program.rank_of(plan.program.actions[i]).value != r) continue;
      const Duration shift = late[static_cast<std::size_t>(r)];
      rank.start.push_back(timeline.start[i].time_since_epoch() + shift);
      rank.end.push_back(timeline.end[i].time_since_epoch() + shift);
    }
    step.ranks.push_back(rank);
  }
  return step;
}

std::string waited_for(const PlanFile& plan, const MeasuredStep& step, const std::string& name) {
  const StepTrace trace = trace_of(plan, step);
  const TimelineRows rows = rows_of(trace);
  const BoxLinks links = measured_links_of(trace, rows, plan.program);
  for (std::uint32_t box = 0; box < rows.boxes.size(); ++box) {
    if (TimelineRows::slice(trace, rows.boxes[box]).name != name) continue;
    const std::uint32_t before = links.waited_for[box];
    return before == kNoBox ? "-" : TimelineRows::slice(trace, rows.boxes[before]).name;
  }
  return "no such box";
}

TEST_CASE("a measured box waited for what ended last of its send and its predecessor") {
  const PlanFile plan = tiny_plan();
  const MeasuredStep step = measured(plan, {Duration{0}, Duration{0}});
  CHECK(waited_for(plan, step, "0F0") == "-");
  CHECK(waited_for(plan, step, "0F1") == "0F0");
  CHECK(waited_for(plan, step, "1F0") == "0SEND_F0");
  CHECK(waited_for(plan, step, "1F1") == "1B0");
  CHECK(waited_for(plan, step, "0B1") == "1SEND_B1");
  CHECK(waited_for(plan, step, "0SEND_F1") == "0F1");
  CHECK(waited_for(plan, step, "0NORM") == "0B1");
  CHECK(waited_for(plan, step, "0OPT") == "0NORM");
}

// The clock of rank 1 is 600 ns ahead: its gradients arrive at 5.6 and 8.6 us, after B0 and B1 of
// rank 0 began. What cannot be is not shown: B1 has its predecessor.
TEST_CASE("what ended after a measured box began is not what it waited for") {
  const PlanFile plan = tiny_plan();
  const MeasuredStep step = measured(plan, {Duration{0}, Duration{600}});
  CHECK(waited_for(plan, step, "0B1") == "0B0");
  CHECK(waited_for(plan, step, "1F0") == "0SEND_F0");
}

}  // namespace
}  // namespace penstock
