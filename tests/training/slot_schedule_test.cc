#include "training/slot_schedule.h"

#include <vector>

#include <doctest/doctest.h>

namespace penstock {
namespace {

using enum ActionKind;

// Three shards, two passes; the gradients go to the host, where the last pass updates.
const SlotSchedule kOnHost{2,
                           {{kForward, 0},
                            {kReshard, 0},
                            {kLoad, 2},
                            {kForward, 1},
                            {kForward, 2},
                            {kFusedBackward, 2},
                            {kStore, 2},
                            {kReshard, 2},
                            {kLoad, 0},
                            {kFusedBackward, 1},
                            {kStore, 1},
                            {kStore, 0},
                            {kForward, 0},
                            {kFusedBackward, 0},
                            {kOptimizer, 0},
                            {kStore, 0},
                            {kReshard, 0},
                            {kLoad, 0}}};

TEST_CASE("a stage that is loaded behind its update was updated on the host") {
  CHECK(kOnHost.updates_on_host());
  SlotSchedule on_device = kOnHost;
  on_device.actions.resize(on_device.actions.size() - 2);
  CHECK_FALSE(on_device.updates_on_host());
}

TEST_CASE("passes are copies back of one stage, and residents what is used before it is loaded") {
  CHECK(kOnHost.passes() == 2);
  CHECK(kOnHost.residents() == std::vector<int>{0, 1});
  CHECK_FALSE(kOnHost.has_norm());
}

}  // namespace
}  // namespace penstock
