// What the checker finds of memory and of the devices that ranks are on.
#include <string>

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "tests/core/findings_of.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

std::string findings_with(const Edits& edits) { return findings_of(tiny_plan(edits)); }

TEST_CASE("found: memory that is off by one byte") {
  CHECK(findings_with({{R"("stash_bytes": 200)", R"("stash_bytes": 201)"}}) ==
        "rank 0: stash: expected 200 bytes, the prediction says 201");
  CHECK(findings_with(
            {{R"("memory": {"parameters_bytes": 20)", R"("memory": {"parameters_bytes": 19)"}}) ==
        "rank 1: parameters: expected 20 bytes, the prediction says 19");
  CHECK(findings_with({{R"("communication_bytes": 10)", R"("communication_bytes": 11)"}}) ==
        "rank 0: communication: expected 10 bytes, the prediction says 11");
  CHECK(findings_with({{R"("working_peak_bytes": 7, "communication)",
                        R"("working_peak_bytes": 8, "communication)"}}) ==
        "rank 0: working peak: expected 7 bytes, the prediction says 8");
  CHECK(findings_with({{R"("reserve_bytes": 50},)", R"("reserve_bytes": 49},)"}}) ==
        "rank 0: reserve: expected 50 bytes, the prediction says 49");
}

TEST_CASE("found: a rank of a mixed plan without its own type's memory") {
  PlanFile file = tiny_plan(two_device_types());
  CHECK(findings_of(file) == "rank 1: capacity: expected 900 bytes, the prediction says 1000");
  file.prediction.ranks[1].capacity = Bytes{900};
  CHECK(findings_of(file).empty());
  CHECK(check(file).replayed == Duration(10110));
  file.cluster.other_devices[0].memory = file.prediction.ranks[1].capacity = Bytes{230};
  CHECK(findings_of(file) == "rank 1: needs 231 bytes, 1 more than the device has");
}

TEST_CASE("found: device types that do not belong to the ranks") {
  const PlanFile file = tiny_plan(two_device_types());
  const auto with = [&](auto change) {
    PlanFile changed = file;
    change(changed);
    return findings_of(changed);
  };
  CHECK(with([](PlanFile& f) { f.cluster.other_devices.clear(); }) ==
        "/cluster: entries of device type 'old': expected 1, found 0");
  CHECK(with([](PlanFile& f) { f.cluster.other_devices[0].name = "new"; }) ==
        "/cluster: entries of device type 'old': expected 1, found 0\n"
        "/plan/rank_devices: no rank is on 'new'");
  CHECK(with([](PlanFile& f) { f.plan.rank_devices.pop_back(); }) ==
        "/plan/rank_devices: ranks: expected 2, found 1\n"
        "/plan/rank_devices: no rank is on 'old'\n"
        "/plan/rank_devices: all ranks are on one type");
  CHECK(with([](PlanFile& f) { f.plan.device = "old"; }) ==
        "/plan/rank_devices: rank 0 is on 'toy', not on 'old', the plan's device\n"
        "/cluster: entries of device type 'old': expected 1, found 2\n"
        "/cluster: entries of device type 'toy': expected 1, found 0");
  CHECK(with([](PlanFile& f) { f.plan.rank_devices.clear(); }) ==
        "/cluster/other_devices: types beside the only one: expected 0, found 1");
}

TEST_CASE("found: more memory than the device has") {
  CHECK(findings_with({{R"("memory_per_device_bytes": 1000)", R"("memory_per_device_bytes": 299)"},
                       {R"("capacity_bytes": 1000)", R"("capacity_bytes": 299)"},
                       {R"("capacity_bytes": 1000)", R"("capacity_bytes": 299)"}}) ==
        "rank 0: needs 300 bytes, 1 more than the device has");
  CHECK(findings_with({{"\"memory_per_device_bytes\": 1000", "\"memory_per_device_bytes\": 300"},
                       {R"("capacity_bytes": 1000)", R"("capacity_bytes": 300)"},
                       {R"("capacity_bytes": 1000)", R"("capacity_bytes": 300)"}})
            .empty());
  CHECK(findings_with({{R"("capacity_bytes": 1000)", R"("capacity_bytes": 1001)"}}) ==
        "rank 0: capacity: expected 1000 bytes, the prediction says 1001");
}

}  // namespace
}  // namespace penstock
