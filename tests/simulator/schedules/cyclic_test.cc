// The cyclic order by the published example: 4 devices, 8 layers, 8 micro-batches; of a layer
// forward and backward take 1 ms, 1,000 MB stay and as many are needed on top; transfers take
// 0.1 ms.
#include "simulator/schedules/cyclic.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "simulator/lower.h"
#include "simulator/schedules/schedules.h"
#include "simulator/simulate.h"
#include "simulator/stash_bytes.h"
#include "tests/simulator/pipelines.h"
#include "tests/watched.h"

namespace penstock {
namespace {

constexpr std::int64_t kLayer = 1'000'000, kTransfer = 100'000;  // ns
constexpr int kMicroBatches = 8, kDevices = 4;
constexpr std::int64_t kMegabytes = 1'000;  // of a layer; in units of 1 MB

// Stages of so many layers each.
StagePrices prices_of(const std::vector<int>& layers, const std::vector<int>& ranks) {
  StagePrices prices;
  prices.stages = static_cast<int>(layers.size());
  for (std::size_t s = 0; s < layers.size(); ++s) {
    ComputePrice price;
    price.forward.duration = price.fused_backward.duration = Duration{layers[s] * kLayer};
    price.stash = Bytes{layers[s] * kMegabytes};
    price.working_peak = Bytes{kMegabytes};
    prices.compute.push_back(price);
    TransferPrice transfer;
    if (s + 1 < layers.size() && ranks[s] != ranks[s + 1]) {
      transfer.activation.duration = transfer.gradient.duration = Duration{kTransfer};
    }
    prices.transfer.push_back(transfer);
  }
  prices.step.resize(layers.size());
  return prices;
}

struct Result {
  double milliseconds = 0;
  std::int64_t megabytes = 0;
  bool operator==(const Result&) const = default;
};

// The peak of a device: what it holds and works in.
Result result_of(const Schedule& schedule, const StagePrices& prices) {
  const Program program = lower({testing::input_of(schedule)}, {});
  const Timeline timeline = simulate(program, prices, {});
  Bytes most;
  for (const Bytes stash : peak_stash_bytes(program, prices)) most = std::max(most, stash);
  return {static_cast<double>(timeline.step_end.time_since_epoch().count()) / 1e6,
          most.count + kMegabytes};
}

Result published(std::string_view name, int chunks, StageMap map) {
  const ScheduleShape shape{kDevices, chunks, kMicroBatches, 0, 1};
  const std::vector<int> layers(static_cast<std::size_t>(kDevices * chunks), 2 / chunks);
  return result_of(make_schedule(name, shape), prices_of(layers, stage_ranks(map, shape)));
}

// By the cyclic scheduler's own clock: a cycle begins when the last action of the one before has
// ended, what a device does in it goes back to back, and transfers, which pass in the same cycle,
// begin with it.
double own_clock_ms(const std::vector<int>& ranks, std::int64_t each) {
  const CyclicLists lists = cyclic_lists(ranks, kDevices, kMicroBatches);
  std::vector<std::int64_t> length;
  for (std::size_t rank = 0; rank < lists.lists.size(); ++rank) {
    std::map<int, std::int64_t> of_cycle;
    for (std::size_t i = 0; i < lists.cycle[rank].size(); ++i) {
      of_cycle[lists.cycle[rank][i]] += each;
    }
    for (const auto& [cycle, busy] : of_cycle) {
      if (length.size() <= static_cast<std::size_t>(cycle)) {
        length.resize(static_cast<std::size_t>(cycle) + 1, 0);
      }
      auto& longest = length[static_cast<std::size_t>(cycle)];
      longest = std::max(longest, busy);
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t cycle : length) sum += cycle;
  return static_cast<double>(sum) / 1e6;
}

// Any action whose input is there, in the order in which inputs came: the lists that come about.
Schedule first_in_first_out(const std::vector<int>& ranks, const StagePrices& prices) {
  struct Ready {
    std::int64_t at;
    int stage, micro_batch;
    bool forward;
  };
  const int stages = static_cast<int>(ranks.size());
  std::vector<std::vector<Ready>> waiting(kDevices);
  std::vector<std::vector<ComputeAction>> lists(kDevices);
  std::vector<std::int64_t> free(kDevices, 0);
  for (int m = 0; m < kMicroBatches; ++m) waiting[0].push_back({0, 0, m, true});
  for (int left = 2 * stages * kMicroBatches; left > 0; --left) {
    // The device that can start first; each takes what came first.
    std::size_t device = 0;
    std::int64_t start = INT64_MAX;
    for (std::size_t d = 0; d < waiting.size(); ++d) {
      std::stable_sort(waiting[d].begin(), waiting[d].end(),
                       [](const Ready& a, const Ready& b) { return a.at < b.at; });
      if (waiting[d].empty()) continue;
      const std::int64_t at = std::max(free[d], waiting[d].front().at);
      if (at < start) {
        start = at;
        device = d;
      }
    }
    const Ready next = waiting[device].front();
    waiting[device].erase(waiting[device].begin());
    const auto s = static_cast<std::size_t>(next.stage);
    lists[device].push_back({next.forward ? ActionKind::kForward : ActionKind::kFusedBackward,
                             false, StageId{static_cast<std::uint16_t>(s)},
                             MicroBatchId{static_cast<std::uint32_t>(next.micro_batch)}});
    free[device] = start + prices.compute[s].forward.duration.count();
    const bool turns = next.forward && next.stage + 1 == stages;
    const int to = next.forward ? next.stage + (turns ? 0 : 1) : next.stage - 1;
    if (to < 0) continue;
    const auto target = static_cast<std::size_t>(ranks[static_cast<std::size_t>(to)]);
    waiting[target].push_back({free[device] + (target == device ? 0 : kTransfer), to,
                               next.micro_batch, next.forward && !turns});
  }
  return schedule_of_lists("fifo", kMicroBatches, ranks, lists);
}

std::string text_of_list(const std::vector<ComputeAction>& list) {
  std::string text;
  for (const ComputeAction& action : list) {
    text += (text.empty() ? "" : " ") + std::string(name_of(action.kind)) +
            std::to_string(action.micro_batch.value);
  }
  return text;
}

}  // namespace

TEST_CASE("the published table: four devices, eight micro-batches") {
  const std::vector<int> linear{0, 1, 2, 3};
  CHECK(published("1f1b", 1, StageMap::kLoop) == Result{45.6, 9'000});
  CHECK(published("cyclic", 1, StageMap::kLoop) == Result{44.6, 15'000});
  CHECK(own_clock_ms(linear, 2 * kLayer) == 44.0);
  const StagePrices prices = prices_of({2, 2, 2, 2}, linear);
  CHECK(result_of(first_in_first_out(linear, prices), prices) == Result{44.6, 17'000});
  CHECK(published("interleaved", 2, StageMap::kLoop) == Result{39.4, 12'000});
  CHECK(published("cyclic", 2, StageMap::kLoop) == Result{39.4, 16'000});
  CHECK(published("cyclic-v", 2, StageMap::kV) == Result{39.8, 15'000});
}

// Rank r: min(2 (P - 1 - r) + 1, M) forwards, then a backward and a forward in turn.
TEST_CASE("on one stage per rank: 1F1B with twice the warm-up and one more") {
  const std::vector<int> ranks{0, 1};
  const CyclicLists lists = cyclic_lists(ranks, 2, 4);
  CHECK(text_of_list(lists.lists[0]) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(text_of_list(lists.lists[1]) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("the rolled-up schedule is that of the cycles without limits") {
  for (const char* name : {"cyclic", "cyclic-v"}) {
    const ScheduleKind& kind = *find_schedule(name);
    for (int p = 1; p <= 5; ++p) {
      for (int v = kind.fewest_chunks; v <= (kind.most_chunks == 0 ? 3 : 2); ++v) {
        for (const int m : {1, 2, 3, 7, 40}) {
          const ScheduleShape shape{p, v, m, 0, 1};
          const Schedule schedule = kind.generate(shape);
          const CyclicLists lists = cyclic_lists(stage_ranks(kind.map, shape), p, m);
          for (int rank = 0; rank < p; ++rank) {
            CHECK(schedule.list(rank) == lists.lists[static_cast<std::size_t>(rank)]);
          }
        }
      }
    }
  }
}

// Room for two: the third waits until the first is back.
TEST_CASE("a rank lets in what it has room for, and always one") {
  const std::vector<int> ranks{0, 1};
  const std::vector<std::int64_t> taken(8, 10);
  const std::vector<std::int64_t> room{20, 20};
  const CyclicMemory memory{room, taken};
  const CyclicLists lists = cyclic_lists(ranks, 2, 4, &memory);
  CHECK(text_of_list(lists.lists[0]) == "F0 F1 B0 F2 B1 F3 B2 B3");
  const std::vector<std::int64_t> none{0, 0};
  const CyclicMemory tight{none, taken};
  CHECK(text_of_list(cyclic_lists(ranks, 2, 4, &tight).lists[0]) == "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST_CASE("within any room that holds each micro-batch alone, no rank holds more") {
  testing::Random random(3);
  for (int i = 0; i < testing::draws(500); ++i) {
    CAPTURE(i);
    const int p = random.between(1, 5), v = random.between(1, 3), m = random.between(1, 9);
    const StageMap map = v == 2 && random.coin() ? StageMap::kV : StageMap::kLoop;
    const ScheduleShape shape{p, v, m, 0, 1};
    const std::vector<int> ranks = stage_ranks(map, shape);
    std::vector<std::int64_t> taken, room(static_cast<std::size_t>(p), 0);
    for (int k = 0; k < p * v * m; ++k) taken.push_back(random.between(0, 20));
    const auto at = [&](int stage, int micro_batch) {
      return taken[static_cast<std::size_t>(stage * m + micro_batch)];
    };
    for (int micro_batch = 0; micro_batch < m; ++micro_batch) {
      std::vector<std::int64_t> alone(room.size(), 0);
      for (int s = 0; s < p * v; ++s) {
        alone[static_cast<std::size_t>(ranks[static_cast<std::size_t>(s)])] += at(s, micro_batch);
      }
      for (std::size_t r = 0; r < room.size(); ++r) room[r] = std::max(room[r], alone[r]);
    }
    for (std::int64_t& of : room) of += random.between(0, 40);
    const CyclicMemory memory{room, taken};
    const CyclicLists lists = cyclic_lists(ranks, p, m, &memory);
    std::size_t actions = 0;
    for (std::size_t r = 0; r < room.size(); ++r) {
      std::int64_t held = 0;
      for (const ComputeAction& action : lists.lists[r]) {
        const std::int64_t bytes =
            at(action.stage.value, static_cast<int>(action.micro_batch.value));
        held += action.kind == ActionKind::kForward ? bytes : -bytes;
        REQUIRE(held <= room[r]);
      }
      actions += lists.lists[r].size();
    }
    CHECK(actions == static_cast<std::size_t>(2 * p * v * m));
    // They can be carried out.
    const Schedule schedule = schedule_of_lists("cyclic", m, ranks, lists.lists);
    CHECK_NOTHROW(lower({testing::input_of(schedule)}, {}));
  }
}

}  // namespace penstock
