#include "report/page/timeline_payload.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/critical_path.h"
#include "simulator/simulate.h"
#include "tests/core/tiny_plan.h"
#include "tests/report/page/unpacked.h"

namespace penstock {
namespace {

struct Made {
  PlanFile plan;
  StepTrace trace;
  TimelineRows rows;
  BoxLinks links;
};

Made made_of(const PlanFile& plan, Duration stretch = Duration{1}) {
  Made made;
  made.plan = plan;
  const Timeline timeline = simulate(plan.program, plan.prices, plan.executor);
  made.trace = trace_of(plan, timeline);
  made.trace.length *= stretch.count();
  for (TraceRank& rank : made.trace.ranks) {
    for (TraceSlice& slice : rank.slices) {
      slice.start *= stretch.count();
      slice.end *= stretch.count();
    }
  }
  made.rows = rows_of(made.trace);
  made.links = links_of(made.trace, made.rows, plan.program,
                        bound_by(plan.program, timeline, plan.executor));
  return made;
}

std::string name(const Made& made, std::uint32_t box) {
  return TimelineRows::slice(made.trace, made.rows.boxes[box]).name;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

std::vector<std::string> names(const Made& made) {
  std::vector<std::string> all;
  for (std::uint32_t box = 0; box < made.rows.boxes.size(); ++box) all.push_back(name(made, box));
  return all;
}

// tests/core/tiny_plan.h draws the step. NORM and OPT are the last two of each rank.
TEST_CASE("boxes go by rank, lane and start") {
  const Made made = made_of(tiny_plan());
  CHECK(joined(names(made)) ==
        "0F0 0F1 0B0 0B1 0OPT 0SEND_F0 0SEND_F1 0NORM "
        "1F0 1B0 1F1 1B1 1OPT 1SEND_B0 1SEND_B1 1NORM");
  REQUIRE(made.rows.rows.size() == 6);
  CHECK(made.rows.rows[1].lane == TraceLane::kSends);
  CHECK(made.rows.rows[1].first == 5);
  CHECK(made.rows.rows[1].count == 2);
  CHECK(made.rows.rows[5].rank == 1);
  CHECK(made.rows.boxes[15].row == 5);
}

// F1 of rank 1 was there at 2.5 us, but rank 1 computed until 4.5 us: it waited for 1B0. B1 of rank
// 0 waited for the transfer that ended at 8 us, not for B0, which ended at 7 us.
TEST_CASE("every box knows what it waited for, and the critical path is as long as the step") {
  const Made made = made_of(tiny_plan());
  std::vector<std::string> waits, path;
  Duration on_path{};
  for (std::uint32_t box = 0; box < made.rows.boxes.size(); ++box) {
    const std::uint32_t before = made.links.waited_for[box];
    waits.push_back(before == kNoBox ? "-" : name(made, before));
    const TraceSlice& slice = TimelineRows::slice(made.trace, made.rows.boxes[box]);
    if (!made.links.critical[box]) continue;
    path.push_back(slice.name);
    on_path += slice.end - slice.start;
  }
  CHECK(joined(waits) ==
        "- 0F0 1SEND_B0 1SEND_B1 0NORM 0F0 0F1 0B1 "
        "0SEND_F0 1F0 1B0 1F1 1NORM 1B0 1B1 0B1");
  CHECK(joined(path) == "0F0 0B1 0OPT 0SEND_F0 0NORM 1F0 1B0 1F1 1B1 1SEND_B1");
  CHECK(on_path == Duration{10'110});
}

TEST_CASE("the payload holds the boxes and the memory in the order that the page reads") {
  const Made made = made_of(tiny_plan());
  const TimelinePayload payload =
      timeline_payload({"timeline-0", "Plan 1", 0}, made.plan, made.trace, made.rows, made.links);
  CHECK(payload.payload.id == "timeline-0");
  // Rank 0: F0 0, F1 1, B0 7, B1 10 us; rank 1: at 0 nothing, F0 1.5, B0 4.5, F1 4.5, B1 7.5 us.
  const auto all = testing::unpacked(payload.payload.text, 16, 4 + 4);
  CHECK(all.start == std::vector<std::uint32_t>{0, 1000, 5000, 8000, 10'010, 1000, 2000, 10'000,
                                                1500, 2500, 4500, 5500, 10'010, 4500, 7500,
                                                10'000});
  CHECK(all.duration == std::vector<std::uint32_t>{1000, 1000, 2000, 2000, 100, 500, 500, 10, 1000,
                                                   2000, 1000, 2000, 100, 500, 500, 10});
  CHECK(all.micro_batch[3] == 1);
  CHECK(all.micro_batch[4] == kNoBox);
  CHECK(all.bytes[0] == 0.0);
  CHECK(all.bytes[5] == 5.0);
  CHECK(all.waited_for == made.links.waited_for);
  CHECK(all.row[5] == 1);
  CHECK(all.stage[8] == 1);
  CHECK(all.kind[2] == static_cast<std::uint8_t>(ActionKind::kFusedBackward));
  CHECK(all.flags[0] == 1);
  CHECK(all.flags[1] == 0);
  CHECK(std::vector(all.point_time.begin(), all.point_time.begin() + 4) ==
        std::vector<std::uint32_t>{0, 1000, 7000, 10'000});
  CHECK(std::vector(all.stash.begin(), all.stash.begin() + 4) ==
        std::vector<double>{100, 200, 100, 0});
}

TEST_CASE("the peak of a rank is named by what it computes then") {
  const Made made = made_of(tiny_plan());
  const Json about =
      timeline_payload({"timeline-0", "Plan 1", 0}, made.plan, made.trace, made.rows, made.links)
          .about;
  CHECK(about.find("tick_ns")->text() == "1");
  CHECK(about.find("length_ns")->text() == "10110");
  const Json& rank = about.find("memory")->elements().at(0);
  // 200 B of stash and the 100 B that tiny_plan.h sums up.
  CHECK(rank.find("peak_bytes")->text() == "300");
  CHECK(rank.find("peak_at_ns")->text() == "1000");
  CHECK(rank.find("peak_at")->text() == "0F1");
  CHECK(rank.find("constant_bytes")->find("optimizer_state")->text() == "12");
}

// 10,110 ns a million times are 10.11 s; 2^32 - 1 ns are 4.29 s, so that a tick is 3 ns.
TEST_CASE("a step of more nanoseconds than 32 bits hold is told in ticks") {
  CHECK(tick_of(Duration{0}) == 1);
  CHECK(tick_of(Duration{0xFFFF'FFFF}) == 1);
  CHECK(tick_of(Duration{0x1'0000'0000}) == 2);
  const Made made = made_of(tiny_plan(), Duration{1'000'000});
  const auto payload =
      timeline_payload({"timeline-0", "Plan 1", 0}, made.plan, made.trace, made.rows, made.links);
  CHECK(payload.about.find("tick_ns")->text() == "3");
  const auto all = testing::unpacked(payload.payload.text, 16, 8);
  CHECK(all.start[2] == 5'000'000'000 / 3);
  CHECK(all.duration[2] == 7'000'000'000 / 3 - 5'000'000'000 / 3);
}

// Two boxes of a nanosecond each within one tick of 3 ns: both are seen, one behind the other.
TEST_CASE("boxes shorter than a tick do not overlap") {
  StepTrace trace{.what = "predicted", .length = Duration{0x2'0000'0000}, .ranks = {}, .flows = {}};
  TraceRank rank;
  for (int i = 0; i < 3; ++i) {
    TraceSlice slice;
    slice.start = Duration{30 + i};
    slice.end = Duration{31 + i};
    rank.slices.push_back(slice);
  }
  trace.ranks.push_back(rank);
  const TimelineRows rows = rows_of(trace);
  const BoxLinks links{.waited_for = {kNoBox, 0, 1}, .critical = {true, true, true}};
  const auto payload = timeline_payload({"timeline-0", "", 0}, tiny_plan(), trace, rows, links);
  const auto all = testing::unpacked(payload.payload.text, 3, 0);
  CHECK(all.start == std::vector<std::uint32_t>{10, 11, 12});
  CHECK(all.duration == std::vector<std::uint32_t>{1, 1, 1});
}

TEST_CASE("a step without boxes has a payload without arrays") {
  StepTrace trace{.what = "predicted", .length = Duration{}, .ranks = {}, .flows = {}};
  const TimelineRows rows = rows_of(trace);
  const BoxLinks links = measured_links_of(trace, rows, {});
  const auto payload = timeline_payload({"timeline-0", "", 0}, tiny_plan(), trace, rows, links);
  CHECK(testing::gunzipped(testing::decoded_base64(payload.payload.text)).empty());
  CHECK(payload.about.find("boxes")->text() == "0");
}

}  // namespace
}  // namespace penstock
