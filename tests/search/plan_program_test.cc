#include "search/plan_program.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>

#include <doctest/doctest.h>

#include "simulator/held_counts.h"
#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "simulator/schedules/v_half_min.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

Plan plan_of(int pipeline, int data, int micro_batch_size, int global_batch) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  plan.micro_batch_size = micro_batch_size;
  plan.global_batch = global_batch;
  return plan;
}

Program the_program(const Plan& plan) {
  return program_of(schedules_of(plan), lowering_of(plan, {}, false, {}));
}

int samples_of(const Program& program, const Pipeline& pipeline) {
  int samples = 0;
  for (std::uint32_t m = 0; m < pipeline.micro_batches; ++m) {
    samples += program.micro_batches[pipeline.first_micro_batch + m].samples;
  }
  return samples;
}

TEST_CASE("the samples of all replicas sum to the batch") {
  for (int data = 1; data <= 7; ++data) {
    for (int batch = data; batch <= 40; ++batch) {
      for (const int b : {1, 2, 3, 5, 8, 64}) {
        const Program program = the_program(plan_of(2, data, b, batch));
        int samples = 0;
        int replicas = 0;
        for (const Pipeline& pipeline : program.pipelines) {
          samples += pipeline.replicas * samples_of(program, pipeline);
          replicas += pipeline.replicas;
        }
        REQUIRE(samples == batch);
        REQUIRE(replicas == data);
      }
    }
  }
}

TEST_CASE("the last micro-batch is short when b does not divide the samples") {
  const Plan plan = plan_of(1, 1, 4, 10);
  const Program program = the_program(plan);
  REQUIRE(program.micro_batches.size() == 3);
  CHECK(program.micro_batches[0].samples == 4);
  CHECK(program.micro_batches[2].samples == 2);
  CHECK(program.micro_batches[0].shape == 0);
  CHECK(program.micro_batches[2].shape == 1);
  CHECK(micro_batch_shapes(plan) == std::vector<MicroBatchShape>{{4, 0, 0}, {2, 0, 0}});
}

TEST_CASE("replicas that differ by a sample are two pipelines, the longer first") {
  const Plan plan = plan_of(2, 3, 2, 20);  // 7, 7 and 6 samples
  const auto loads = replica_loads(plan);
  REQUIRE(loads.size() == 2);
  CHECK(loads[0].replicas == 2);
  CHECK(loads[0].samples == 7);
  CHECK(loads[0].micro_batches == 4);
  CHECK(loads[1].replicas == 1);
  CHECK(loads[1].samples == 6);
  CHECK(loads[1].micro_batches == 3);
  const Program program = the_program(plan);
  REQUIRE(program.pipelines.size() == 2);
  CHECK(program.ranks() == 4);
  CHECK(replica_loads(plan_of(2, 5, 2, 20)).size() == 1);
}

TEST_CASE("why_no_program names what is wrong with either pipeline") {
  Plan plan = plan_of(2, 1, 1, 7);
  plan.schedule = "interleaved";
  CHECK(why_no_program(plan).starts_with("V = 1: this schedule needs at least 2 chunks"));
  plan.chunks = 2;
  CHECK(
      why_no_program(plan).starts_with("interleaved: M = 7 cannot be divided into 3 equal rounds"));
  plan.global_batch = 15;  // 8 and 7 samples
  plan.data = 2;
  CHECK(why_no_program(plan).starts_with("interleaved: M = 7 cannot"));
  plan.global_batch = 16;
  CHECK(why_no_program(plan).empty());
  plan.schedule = "3f1b";
  CHECK(why_no_program(plan) == "unknown schedule '3f1b'");
}

// v-half whose drain begins before its last rank is filled (v_half_min.cc).
bool drains_early(std::string_view schedule, int ranks, int micro_batches) {
  return schedule == "v-half" && 5 * micro_batches > 3 * ranks && micro_batches < ranks + 2;
}

bool is_within(std::span<const Held> less, std::span<const Held> more) {
  return std::equal(less.begin(), less.end(), more.begin(), [](const Held& a, const Held& b) {
    return a.stash <= b.stash && a.weight_stash <= b.weight_stash;
  });
}

// Where no rank holds more, no stage has fewer forwards waiting, and the first one as many.
void check_bounds(const HeldCounts& bound, const HeldCounts& lists) {
  for (std::size_t r = 0; r < lists.ranks(); ++r) {
    CAPTURE(r);
    for (std::size_t i = 0; i < bound.peaks(r); ++i) {
      bool found = false;
      for (std::size_t j = 0; j < lists.peaks(r); ++j) {
        found = found || is_within(bound.peak(r, i), lists.peak(r, j));
      }
      CHECK(found);
    }
  }
  for (int s = 0; s < static_cast<int>(lists.stages()); ++s) {
    CHECK(bound.most_stash(s) >= lists.most_stash(s));
  }
  CHECK(bound.most_stash(0) == lists.most_stash(0));
}

// What a search takes for the least that is held, and what the lists hold.
void check_least(std::string_view schedule, int ranks, int micro_batches, const HeldCounts& least,
                 const HeldCounts& lists) {
  if (drains_early(schedule, ranks, micro_batches)) {
    check_bounds(least, lists);
  } else {
    CHECK(least == lists);
  }
}

void check_least(const Plan& plan) {
  check_least(plan.schedule, plan.pipeline, first_load(plan).micro_batches, least_held_of(plan),
              least_held(schedules_of(plan).schedules[0]));
}

// The counts that a search takes from few micro-batches are those of the whole Program.
void compare_counts(const Plan& plan) {
  if (!why_no_program(plan).empty()) return;
  CAPTURE(plan.schedule);
  CAPTURE(plan.pipeline);
  CAPTURE(plan.chunks);
  CAPTURE(plan.group);
  CAPTURE(plan.global_batch);
  const Program program = the_program(plan);
  const auto expected = liveness(program);
  REQUIRE(liveness_of(plan) == expected);
  check_least(plan);
  REQUIRE(telling_micro_batches(plan) <= plan.global_batch);
}

TEST_CASE("liveness on the micro-batches that tell is the whole Program's") {
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (int p = 1; p <= (testing::kWatched ? 5 : 10); ++p) {
      for (int v = 1; v <= 4; ++v) {
        for (int m = 1; m <= 5 * p; ++m) {
          Plan plan = plan_of(p, 1, 1, m);
          testing::set_schedule(plan, *kind, v);
          compare_counts(plan);
        }
      }
    }
  }
}

bool hold_as_much(const LiveCounts& a, const LiveCounts& b) {
  return std::equal(a.stash.begin(), a.stash.end(), b.stash.begin(), std::greater_equal<>()) &&
         std::equal(a.weight_stash.begin(), a.weight_stash.end(), b.weight_stash.begin(),
                    std::greater_equal<>());
}

// Of one rank: what it holds as the plan says, and what it holds in one of the replicas.
void compare_with_replica(const RankLiveness& told, const RankLiveness& held) {
  for (const LiveCounts& peak : held.peaks) {
    REQUIRE(std::any_of(told.peaks.begin(), told.peaks.end(),
                        [&](const LiveCounts& other) { return hold_as_much(other, peak); }));
  }
  REQUIRE(told.peak_chunks >= held.peak_chunks);
  for (std::size_t c = 0; c < told.stages.size(); ++c) {
    REQUIRE(told.activation_receives[c] >= held.activation_receives[c]);
    REQUIRE(told.gradient_receives[c] >= held.gradient_receives[c]);
  }
  REQUIRE(std::includes(told.overlaps.begin(), told.overlaps.end(), held.overlaps.begin(),
                        held.overlaps.end()));
}

// Nothing that no replica holds is told either.
void compare_with_replicas(const RankLiveness& told, const RankLiveness& a, const RankLiveness& b) {
  for (const LiveCounts& peak : told.peaks) {
    REQUIRE((std::find(a.peaks.begin(), a.peaks.end(), peak) != a.peaks.end() ||
             std::find(b.peaks.begin(), b.peaks.end(), peak) != b.peaks.end()));
  }
  REQUIRE(told.peak_chunks == std::max(a.peak_chunks, b.peak_chunks));
  for (std::size_t c = 0; c < told.stages.size(); ++c) {
    REQUIRE(told.activation_receives[c] ==
            std::max(a.activation_receives[c], b.activation_receives[c]));
    REQUIRE(told.gradient_receives[c] == std::max(a.gradient_receives[c], b.gradient_receives[c]));
  }
  REQUIRE(told.overlaps.size() == std::max(a.overlaps.size(), b.overlaps.size()));
}

// What all replicas hold at most, whatever a rank's activations take.
void compare_bytes(const Plan& plan, const std::vector<RankLiveness>& told) {
  const HeldCounts all(told), counted = exactly_held_of(plan);
  testing::Random random(static_cast<std::uint64_t>(plan.global_batch));
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    std::vector<std::int64_t> stash, weight_stash;
    for (std::size_t c = 0; c < told[rank].stages.size(); ++c) {
      stash.push_back(random.between(0, 50));
      weight_stash.push_back(random.between(0, 50));
    }
    const auto most = [&](const HeldCounts& counts) {
      std::int64_t peak = 0;
      for (std::size_t i = 0; i < counts.peaks(rank); ++i) {
        std::int64_t sum = 0;
        for (std::size_t c = 0; c < stash.size(); ++c) {
          const Held& held = counts.peak(rank, i)[c];
          sum += held.stash * stash[c] + held.weight_stash * weight_stash[c];
        }
        peak = std::max(peak, sum);
      }
      return peak;
    };
    REQUIRE(most(all) == most(counted));
  }
}

// Two replicas, of which one has a micro-batch less than the other.
TEST_CASE("the replica that holds most counts, be it the one with a micro-batch less") {
  int plans = 0, told_of_both = 0;
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (int p = 1; p <= (testing::kWatched ? 4 : 6); ++p) {
      for (int v = 1; v <= 3; ++v) {
        for (int m = 2; m <= 5 * p + 4; ++m) {
          Plan plan = plan_of(p, 2, 1, 2 * m - 1);
          testing::set_schedule(plan, *kind, v);
          if (!why_no_program(plan).empty()) continue;
          CAPTURE(plan.schedule);
          CAPTURE(p);
          CAPTURE(plan.chunks);
          CAPTURE(plan.group);
          CAPTURE(m);
          const auto told = liveness_of(plan), held = liveness(the_program(plan), 2);
          const auto ranks = static_cast<std::size_t>(p);
          for (std::size_t r = 0; r < ranks; ++r) {
            compare_with_replica(told[r], held[r]);
            compare_with_replica(told[r], held[r + ranks]);
            compare_with_replicas(told[r], held[r], held[r + ranks]);
          }
          compare_bytes(plan, told);
          ++plans;
          told_of_both += counted_of_fewer(plan) > 0 ? 1 : 0;
        }
      }
    }
  }
  CHECK(plans > (testing::kWatched ? 400 : 1000));
  CHECK(told_of_both > (testing::kWatched ? 20 : 50));
}

// Rank 0 of interleaved, P = 2, V = 2. With 4 micro-batches it starts two groups of 2: both of
// chunk 0, both of chunk 1, and one more of chunk 0 before the first backward. With 3 all are one
// group: three of chunk 0, then three of chunk 1, and only then can the first backward begin.
TEST_CASE("interleaved with 3 micro-batches holds more than with 4, by hand") {
  Plan plan = plan_of(2, 2, 1, 7);
  plan.schedule = "interleaved";
  plan.chunks = 2;
  const auto held = [&](int data, int batch) {
    plan.data = data;
    plan.global_batch = batch;
    return liveness_of(plan)[0].peak_chunks;
  };
  CHECK(held(1, 4) == 5);
  CHECK(held(1, 3) == 6);
  CHECK(held(2, 7) == 6);
  CHECK(counted_of_fewer(plan) == 3);
}

// Up to 2 P (V + 1) micro-batches they are all counted; on the V up to 2 P + 1.
TEST_CASE("the lower bound of what is held is counted on few micro-batches") {
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (int p = 1; p <= (testing::kWatched ? 4 : 8); ++p) {
      for (int v = 1; v <= (testing::kWatched ? 3 : 4); ++v) {
        const int first = kind->map == StageMap::kV ? 2 * p : p * (2 * v + 1);
        for (int m = first; m <= p * (2 * v + 7); ++m) {
          Plan plan = plan_of(p, 1, 1, m);
          testing::set_schedule(plan, *kind, v);
          if (!why_no_program(plan).empty()) continue;
          CAPTURE(plan.schedule);
          CAPTURE(p);
          CAPTURE(plan.chunks);
          CAPTURE(m);
          check_least(plan);
          Plan counted = plan;  // a search shares the exact counts, too
          counted.global_batch = counted_micro_batches(plan);
          REQUIRE(liveness_of(counted) == liveness_of(plan));
        }
      }
    }
  }
}

TEST_CASE("and so with interleaving groups, ragged ones too") {
  for (int p = 2; p <= 10; ++p) {
    for (int v = 2; v <= 4; ++v) {
      for (int m = p; m <= 5 * p; m += p > 5 ? 3 : 1) {
        for (const int group : {p, p + 1, 2 * p - 1, 2 * p, m / 2, m}) {
          Plan plan = plan_of(p, 1, 1, m);
          plan.schedule = "interleaved";
          plan.chunks = v;
          plan.group = group;
          compare_counts(plan);
        }
      }
    }
  }
}

TEST_CASE("and so with many chunks and many micro-batches") {
  for (const auto& [p, v, m] :
       {std::tuple{2, 8, 60}, std::tuple{3, 6, 90}, std::tuple{4, 8, 200}, std::tuple{10, 2, 99},
        std::tuple{16, 3, 80}, std::tuple{33, 3, 99}}) {
    for (const ScheduleKind* kind : testing::static_kinds()) {
      Plan plan = plan_of(p, 1, 1, m);
      testing::set_schedule(plan, *kind, v);
      compare_counts(plan);
    }
  }
}

// Whether there is a formula.
bool compare_by_formula(const char* name, const ScheduleShape& shape) {
  const auto alike = held_as_in_lists(*find_schedule(name), shape);
  if (!alike) return false;
  CAPTURE(name);
  CAPTURE(shape.ranks);
  CAPTURE(shape.micro_batches);
  check_least(name, shape.ranks, shape.micro_batches, least_held(*alike),
              least_held(make_schedule(name, shape)));
  return true;
}

// The formulas were read off the lists, so they are what these are compared with.
TEST_CASE("what v-half and v-min hold by their formulas is what their lists hold") {
  int by_formula = 0;
  for (const char* name : {"v-half", "v-min"}) {
    for (int ranks = 2; ranks <= testing::draws(40); ++ranks) {
      for (int micro_batches = 1; micro_batches <= ranks + 3; ++micro_batches) {
        by_formula += compare_by_formula(name, {ranks, 2, micro_batches, 0, 1}) ? 1 : 0;
      }
    }
  }
  CHECK(by_formula >
        (testing::kWatched ? 20 : 1000));  // an eighth of the ranks: a 64th of the shapes
  testing::Random random(29);
  for (int drawn = 0; drawn < testing::draws(8); ++drawn) {
    const int ranks = random.between(41, 512);
    compare_by_formula(drawn % 2 == 0 ? "v-half" : "v-min",
                       {ranks, 2, random.between(1, ranks + 3), 0, 1});
  }
  const ScheduleKind& half = *find_schedule("v-half");
  CHECK_FALSE(held_as_in_lists(*find_schedule("v-min"), {5, 2, 9, 0, 1}));
  CHECK(held_as_in_lists(half, {512, 2, 5, 0, 1}));
  CHECK_FALSE(held_as_in_lists(half, {513, 2, 5, 0, 1}));  // nobody compared so many ranks
  CHECK_FALSE(held_as_in_lists(*find_schedule("zb-v"), {20, 2, 5, 0, 1}));
}

TEST_CASE("and so with the runs of interleaved lists") {
  for (const char* name : {"interleaved", "interleaved-zb"}) {
    const bool has_groups = find_schedule(name)->has_groups;
    for (int p = 1; p <= testing::draws(9); ++p) {
      for (int v = 2; v <= 5; ++v) {
        for (int m = 1; m <= 6 * p; ++m) {
          for (const int group : {0, p, p + 1, 2 * p - 1, m / 2, m}) {
            const ScheduleShape shape{p, v, m, group, 1};
            if ((group > 0 && !has_groups) || !why_no_schedule(*find_schedule(name), shape).empty())
              continue;
            CAPTURE(v);
            CAPTURE(group);
            REQUIRE(compare_by_formula(name, shape));
          }
        }
      }
    }
  }
  testing::Random random(30);
  int compared = 0;
  for (int drawn = 0; drawn < testing::draws(40); ++drawn) {
    const int p = random.between(10, 60);
    const ScheduleShape shape{p, random.between(2, 8), random.between(1, 300), 0, 1};
    for (const char* name : {"interleaved", "interleaved-zb"}) {
      if (!why_no_schedule(*find_schedule(name), shape).empty()) continue;
      CAPTURE(shape.chunks);
      compared += compare_by_formula(name, shape) ? 1 : 0;
    }
  }
  CHECK(compared > (testing::kWatched ? 1 : 20));
}

}  // namespace
}  // namespace penstock
