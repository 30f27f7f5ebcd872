#include "profiler/measure_links.h"

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/profiler/local_transport.h"

namespace penstock {
namespace {

Buffer pool_of(std::vector<float>& memory) {
  Buffer buffer;
  buffer.data = reinterpret_cast<std::byte*>(memory.data());
  buffer.elements = memory.size();
  buffer.type = ElementType::kFloat32;
  return buffer;
}

LinkPlan small_plan() {
  LinkPlan plan;
  plan.smallest = {1024};
  plan.largest = {5000};  // so 1, 2 and 4 KiB
  plan.warm_up = 1;
  plan.least = plan.most = 5;
  return plan;
}

class CountingProgress : public ProfilingProgress {
 public:
  int updates = 0, parts = 0, stop_after = 1 << 20;
  std::vector<std::string> what;
  void update(const std::string& text, int, int of) override {
    ++updates;
    parts = of;
    what.push_back(text);
  }
  bool stop() override { return updates > stop_after; }
};

// Rank 0's samples of a job of `size` ranks.
LinkSamples measured(tests::LocalJob& job, const LinkPlan& plan, const LinkLoad& load,
                     CountingProgress& progress) {
  LinkSamples result;
  job.run([&](Transport& transport) {
    std::vector<float> memory(1 << 16);
    ProfilingProgress silent;
    const LinkSamples samples =
        measure_links(transport, pool_of(memory), plan, load,
                      transport.rank() == 0 ? static_cast<ProfilingProgress&>(progress) : silent);
    if (transport.rank() == 0) {
      result = samples;
    } else {
      CHECK(samples.links.empty());
    }
  });
  return result;
}

// 3 sizes x (3 patterns + 3 kinds of collectives x 2 numbers of participants).
TEST_CASE("all sizes are measured in all patterns and among any number of ranks") {
  tests::LocalJob job(3);
  CountingProgress progress;
  const LinkSamples samples = measured(job, small_plan(), {}, progress);
  CHECK(samples.complete);
  CHECK(progress.parts == 27);
  CHECK(progress.updates == 27);
  REQUIRE(samples.links.size() == 9);
  CHECK(samples.links[0].bytes == Bytes{1024});
  CHECK(samples.links[8].bytes == Bytes{4096});
  CHECK(samples.links[8].pattern == LinkPattern::kBothWays);
  CHECK(samples.links[8].time.count == 5);
  CHECK_FALSE(samples.links[8].under_load);
  REQUIRE(samples.collectives.size() == 18);
  CHECK(samples.collectives[1].participants == 3);
  CHECK(samples.collectives[1].kind == CollectiveKind::kAllReduce);
  // Per size one for warming up and five that count, on every member.
  CHECK(job.collectives.at("all_gather 2") == 3 * 6 * 2);
  CHECK(job.collectives.at("all_reduce 3") == 3 * 6 * 3);
}

TEST_CASE("under load everything is measured once more") {
  tests::LocalJob job(2);
  CountingProgress progress;
  LinkPlan plan = small_plan();
  plan.collectives.clear();
  std::atomic<int> starts = 0, stops = 0;
  const LinkSamples samples = measured(job, plan, {[&] { ++starts; }, [&] { ++stops; }}, progress);
  CHECK(starts == 2);  // on every rank
  CHECK(stops == 2);
  REQUIRE(samples.links.size() == 18);
  CHECK_FALSE(samples.links[8].under_load);
  CHECK(samples.links[9].under_load);
  CHECK(progress.parts == 18);
}

// A nanosecond for each of the two halves: none of them gets to its first size.
TEST_CASE("a budget is divided between idle links and those under load") {
  tests::LocalJob job(2);
  CountingProgress progress;
  LinkPlan plan = small_plan();
  plan.budget = Duration{2};
  std::atomic<int> starts = 0;
  const LinkSamples samples = measured(job, plan, {[&] { ++starts; }, [] {}}, progress);
  CHECK_FALSE(samples.complete);
  CHECK(samples.links.empty());
  CHECK(starts == 2);  // what is under load had its turn
  CHECK(progress.updates == 2);
}

TEST_CASE("the largest size that a run sends is measured whatever the budget") {
  tests::LocalJob job(2);
  CountingProgress progress;
  LinkPlan plan = small_plan();
  plan.budget = Duration{2};
  plan.at_least = {3000};  // so 4 KiB
  const LinkSamples samples = measured(job, plan, {}, progress);
  CHECK_FALSE(samples.complete);
  REQUIRE(samples.links.size() == 3);
  CHECK(samples.links[0].bytes.count == 4096);
  CHECK(samples.collectives.size() == 3);
}

TEST_CASE("rank 0 stops all ranks, and what was measured is kept") {
  tests::LocalJob job(3);
  CountingProgress progress;
  progress.stop_after = 4;
  const LinkSamples samples = measured(job, small_plan(), {}, progress);
  CHECK_FALSE(samples.complete);
  CHECK(samples.links.size() == 3);
  CHECK(samples.collectives.size() == 1);
  CHECK(progress.what[0] == "1.0 KiB between two ranks");
}

}  // namespace
}  // namespace penstock
