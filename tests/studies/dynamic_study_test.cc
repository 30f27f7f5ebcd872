#include "studies/dynamic_study.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "studies/dynamic_layouts.h"
#include "tests/costmodel/clusters.h"
#include "tests/costmodel/profiles.h"

namespace penstock {
namespace {

// Six layers: 20 us of launches and 1 us for every token; 100 bytes are kept of a token.
ModelProfile six_layers() {
  std::vector<Measurement> rows;
  for (const int length : {8, 16, 32, 64}) {
    for (const int samples : {1, 2, 4, 8, 16, 32, 64}) {
      const std::int64_t tokens = std::int64_t{samples} * length;
      Measurement m = measured(samples, length, 20'000 + 1'000 * tokens, 40'000 + 2'000 * tokens);
      m.stash = m.weight_stash = m.working_peak = {100 * tokens};
      m.boundary = {10 * tokens};
      rows.push_back(m);
    }
  }
  return model_of(section_type("layer", 1000, std::move(rows)), 6);
}

Question question_of(std::int64_t memory) {
  Question question;
  question.profile.value = six_layers();
  question.cluster.value = eight_per_node(1);
  question.cluster.value.device_types.front().memory = {memory};
  question.cluster.value.device_types.front().reserve = {};
  question.request.gpus = 4;
  question.request.threads = 1;
  return question;
}

// 90 short samples and 10 long ones in a hundred.
DynamicRequest mixed_lengths() {
  DynamicRequest request;
  for (int i = 0; i < 100; ++i) request.samples.push_back({i % 10 == 0 ? 64 : 9 + i % 7, 0});
  request.drawn = {1000, 3, 5};
  request.replays = 200;
  return request;
}

DynamicStudy study(const Question& question, const DynamicRequest& request) {
  SearchProgress progress;
  return study_dynamic(question, request, progress);
}

TEST_CASE("every method plans every sample of every batch once") {
  const DynamicStudy found = study(question_of(1'000'000'000), mixed_lengths());
  REQUIRE(found.report.methods.size() == 4);
  CHECK(found.report.methods.front().name == "dynamic");
  CHECK(found.report.complete);
  for (const DynamicMethod& method : found.report.methods) {
    CAPTURE(method.name);
    CHECK(method.why_not == "");
    REQUIRE(method.steps.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      const DynamicStep& step = method.steps[i];
      const auto& batch = found.report.batches[i];
      CHECK(step.step >= step.makespan);
      CHECK(step.padded_tokens >= step.real_tokens);
      const std::int64_t fed = std::accumulate(
          batch.begin(), batch.end(), std::int64_t{0},
          [](std::int64_t sum, const SampleLength& sample) { return sum + sample.tokens - 1; });
      CHECK(step.real_tokens == fed);
      std::multiset<int> samples;
      double weight = 0.0;
      for (const auto& replica : step.replicas) {
        for (const DynamicMicroBatch& one : replica) {
          samples.insert(one.samples.begin(), one.samples.end());
          weight += one.weight;
        }
      }
      CHECK(samples.size() == batch.size());
      CHECK(std::set<int>(samples.begin(), samples.end()).size() == batch.size());
      CHECK(weight == doctest::Approx(1.0));
    }
  }
}

TEST_CASE("where lengths differ much, shapes of their own are faster than fixed sizes") {
  const DynamicStudy found = study(question_of(1'000'000'000), mixed_lengths());
  const auto& methods = found.report.methods;
  CHECK(methods[0].tokens_per_s() > methods[2].tokens_per_s());
  CHECK(methods[2].name == "fixed size");
}

TEST_CASE("the answer does not depend on the number of threads, and only a clock times it") {
  Question question = question_of(1'000'000'000);
  DynamicRequest request = mixed_lengths();
  const Json one = dynamic_json(study(question, request).report);
  question.request.threads = 3;
  CHECK(dynamic_json(study(question, request).report) == one);
  CHECK(one.find("planning_time_ns") == nullptr);
  Duration clock{};
  request.now = [&] { return clock += std::chrono::milliseconds(1); };
  const DynamicStudy timed = study(question, request);
  REQUIRE(planning_time(timed.report.dynamic()));
  CHECK(planning_time(timed.report.dynamic())->median == std::chrono::milliseconds(1));
}

TEST_CASE("where nothing fits there is a reason and no plan") {
  const DynamicStudy found = study(question_of(5'000), mixed_lengths());
  for (const DynamicMethod& method : found.report.methods) {
    CAPTURE(method.name);
    CHECK(method.why_not != "");
    CHECK(method.steps.empty());
  }
  CHECK_FALSE(found.first);
}

TEST_CASE("pins are kept") {
  Question question = question_of(1'000'000'000);
  question.request.pins.pipeline = 2;
  question.request.pins.chunks = 1;
  const DynamicStudy found = study(question, mixed_lengths());
  REQUIRE(found.first);
  CHECK(found.first->plan.pipeline == 2);
  CHECK(found.first->plan.data == 2);
  CHECK(found.first->plan.chunks == 1);
}

// 16 GPUs on two nodes as PP 1, 2, 4 of six layers: either the ranks of a pipeline are neighbours
// or the replicas of a stage, and which is better may decide between layouts. With them a free
// study of GPT-6.7B on 32 GPUs found 108,048 tokens/s; a pinned one had found 100,933, the free one
// 86,156.
TEST_CASE("a layout is tried in both placements from the start") {
  Question question = question_of(1'000'000'000);
  question.cluster.value = eight_per_node(2);
  question.request.gpus = 16;
  const DynamicRequest request = mixed_lengths();
  const TypicalBatch typical = typical_of({request.samples}, request.rounding);
  std::multiset<std::tuple<int, int, Placement>> found;
  for (const DynamicLayout& layout : dynamic_layouts(question, typical).found) {
    found.emplace(layout.plan.pipeline, layout.plan.data, layout.plan.placement);
  }
  using enum Placement;
  CHECK(found == std::multiset<std::tuple<int, int, Placement>>{{1, 16, kPipelineInner},
                                                                {2, 8, kPipelineInner},
                                                                {2, 8, kDataInner},
                                                                {4, 4, kPipelineInner},
                                                                {4, 4, kDataInner}});
}

// Of two stages per rank there is none on a single GPU, and any schedule runs its one stage.
TEST_CASE("one stage runs under a schedule of several stages per rank") {
  Question question = question_of(1'000'000'000);
  question.request.gpus = 1;
  question.request.pins.schedules = {"interleaved"};
  const DynamicStudy found = study(question, mixed_lengths());
  REQUIRE(found.first);
  CHECK(found.first->plan.pipeline == 1);
  CHECK(found.first->plan.chunks == 1);
}

}  // namespace
}  // namespace penstock
