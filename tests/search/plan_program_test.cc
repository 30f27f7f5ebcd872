#include "search/plan_program.h"

#include <tuple>

#include <doctest/doctest.h>

#include "simulator/liveness.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"

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
  REQUIRE(least_held_of(plan) == least_held(schedules_of(plan).schedules[0]));
  REQUIRE(telling_micro_batches(plan) <= plan.global_batch);
}

TEST_CASE("liveness on the micro-batches that tell is the whole Program's") {
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (int p = 1; p <= 10; ++p) {
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

// Up to 2 P (V + 1) micro-batches they are all counted.
TEST_CASE("the lower bound of what is held is counted on few micro-batches") {
  for (const ScheduleKind* kind : testing::static_kinds()) {
    for (int p = 1; p <= 8; ++p) {
      for (int v = 1; v <= 4; ++v) {
        for (int m = p * (2 * v + 1); m <= p * (2 * v + 7); ++m) {
          Plan plan = plan_of(p, 1, 1, m);
          testing::set_schedule(plan, *kind, v);
          if (!why_no_program(plan).empty()) continue;
          CAPTURE(plan.schedule);
          CAPTURE(p);
          CAPTURE(plan.chunks);
          CAPTURE(m);
          REQUIRE(least_held_of(plan) == least_held(schedules_of(plan).schedules[0]));
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

}  // namespace
}  // namespace penstock
