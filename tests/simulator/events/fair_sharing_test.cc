// Max-min fair rates worked out on paper, and random networks against the definition.
#include "simulator/events/fair_sharing.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using Use = FairSharing::Use;
using Rate = FairSharing::Rate;
using Rates = std::map<FairSharing::Flow, Rate>;

// What rebalance() changes, by flow.
Rates changes(FairSharing& sharing) {
  Rates rates;
  sharing.rebalance(
      [&](FairSharing::Flow flow, Rate rate, FairSharing::Link) { rates[flow] = rate; });
  return rates;
}

TEST_CASE("a flow alone has its limit, and nothing changes for it") {
  FairSharing sharing({100});
  const std::vector<Use> path{{0, 1}};
  sharing.add(0, path.data(), 1, 60);
  CHECK(changes(sharing).empty());
  CHECK(sharing.rate(0) == 60);
}

TEST_CASE("two flows on one link get half each, and the whole when the other ends") {
  FairSharing sharing({100});
  const std::vector<Use> path{{0, 1}};
  sharing.add(0, path.data(), 1, 100);
  sharing.add(1, path.data(), 1, 100);
  CHECK(changes(sharing) == Rates{{0, 50}, {1, 50}});
  sharing.remove(0);
  CHECK(changes(sharing) == Rates{{1, 100}});
}

// Link 0 holds 1, link 1 holds 2; flow 0 passes both, flow 1 link 0, flow 2 link 1. Link 0 is full
// at 1/2 each; then link 1 has 2 - 1/2 left for flow 2. In units of 1/60: 60, 120; 30, 30, 90.
TEST_CASE("a long flow and two short ones") {
  FairSharing sharing({60, 120});
  const std::vector<Use> both{{0, 1}, {1, 1}}, first{{0, 1}}, second{{1, 1}};
  sharing.add(0, both.data(), 2, 60);
  sharing.add(1, first.data(), 1, 60);
  sharing.add(2, second.data(), 1, 120);
  CHECK(changes(sharing) == Rates{{0, 30}, {1, 30}, {2, 90}});
}

// The textbook's case: links of 1 and 1, two flows over both and one over each: 1/3 on either link.
TEST_CASE("three on a link get a third each") {
  FairSharing sharing({90, 90});
  const std::vector<Use> both{{0, 1}, {1, 1}}, first{{0, 1}}, second{{1, 1}};
  sharing.add(0, both.data(), 2, 90);
  sharing.add(1, both.data(), 2, 90);
  sharing.add(2, first.data(), 1, 90);
  sharing.add(3, second.data(), 1, 90);
  CHECK(changes(sharing) == Rates{{0, 30}, {1, 30}, {2, 30}, {3, 30}});
}

// 100 shared by one that wants 10 and two that want 80: 10, 45, 45.
TEST_CASE("what a slow flow leaves over goes to the others") {
  FairSharing sharing({100});
  const std::vector<Use> path{{0, 1}};
  sharing.add(0, path.data(), 1, 10);
  sharing.add(1, path.data(), 1, 80);
  sharing.add(2, path.data(), 1, 80);
  CHECK(changes(sharing) == Rates{{1, 45}, {2, 45}});
  CHECK(sharing.rate(0) == 10);
}

// Two devices of a rank send through one card: its flow counts twice. 90 = 2x + x.
TEST_CASE("a flow may use a link several times") {
  FairSharing sharing({90});
  const std::vector<Use> twice{{0, 2}}, once{{0, 1}};
  sharing.add(0, twice.data(), 1, 45);
  sharing.add(1, once.data(), 1, 90);
  CHECK(changes(sharing) == Rates{{0, 30}, {1, 30}});
}

// The definition: no link carries more than it can, and whoever has less than his limit passes a
// full link on which nobody has more than he. A division leaves less than a byte per second over
// for every use.
void check_max_min(const std::vector<Rate>& capacities,
                   const std::map<FairSharing::Flow, std::pair<std::vector<Use>, Rate>>& flows,
                   const FairSharing& sharing) {
  std::vector<Rate> carried(capacities.size(), 0), most(capacities.size(), 0);
  std::vector<Rate> uses(capacities.size(), 0);
  for (const auto& [flow, path] : flows) {
    for (const Use& use : path.first) {
      carried[use.link] += sharing.rate(flow) * use.uses;
      most[use.link] = std::max(most[use.link], sharing.rate(flow));
      uses[use.link] += use.uses;
    }
  }
  for (std::size_t l = 0; l < capacities.size(); ++l) CHECK(carried[l] <= capacities[l]);
  for (const auto& [flow, path] : flows) {
    const Rate rate = sharing.rate(flow);
    CHECK(rate <= path.second);
    if (rate == path.second) continue;
    const bool bound = std::any_of(path.first.begin(), path.first.end(), [&](const Use& use) {
      return carried[use.link] > capacities[use.link] - uses[use.link] &&
             most[use.link] <= rate + uses[use.link];
    });
    CHECK(bound);
  }
}

TEST_CASE("random flows come and go, and the rates stay max-min fair") {
  testing::Random random(11);
  for (int round = 0; round < testing::draws(200); ++round) {
    std::vector<Rate> capacities;
    for (int l = random.between(1, 6); l > 0; --l) {
      capacities.push_back(random.between(100'000, 1'000'000));
    }
    FairSharing sharing(capacities);
    std::map<FairSharing::Flow, std::pair<std::vector<Use>, Rate>> flows;
    for (int step = 0; step < 30; ++step) {
      const auto flow = static_cast<FairSharing::Flow>(random.between(0, 9));
      if (flows.contains(flow)) {
        sharing.remove(flow);
        flows.erase(flow);
      } else {
        auto& [path, limit] = flows[flow];
        limit = random.between(1'000, 1'000'000);
        for (std::uint32_t l = 0; l < capacities.size(); ++l) {
          if (random.coin()) path.push_back({l, static_cast<std::uint32_t>(random.between(1, 3))});
        }
        for (const Use& use : path) limit = std::min(limit, capacities[use.link] / use.uses);
        sharing.add(flow, path.data(), path.size(), limit);
      }
      if (random.coin()) continue;  // several changes at once
      (void)changes(sharing);
      check_max_min(capacities, flows, sharing);
    }
  }
}

}  // namespace
}  // namespace penstock
