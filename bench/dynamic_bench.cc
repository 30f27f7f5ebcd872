// Planning a batch of samples of different lengths: the exact split alone, whole plans of 65,536
// tokens, and such plans one after the other. Lengths are drawn from FLAN's chain-of-thought
// samples, costs are GPT-6.7B's on A100s.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/files/format.h"
#include "core/files/read_sample_lengths.h"
#include "core/values/json.h"
#include "search/dynamic/batch_rules.h"
#include "search/dynamic/form_micro_batches.h"
#include "search/dynamic/plan_batch.h"
#include "search/dynamic/profile_costs.h"
#include "search/dynamic/range_rows.h"
#include "search/dynamic/sample_orders.h"
#include "search/dynamic/split_exactly.h"
#include "search/in_parallel.h"
#include "studies/cached_costs.h"

namespace penstock {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct World {
  ModelProfile profile;
  ClusterSpec cluster;
  LengthBatch samples;
};
const World& world() {
  static const World world = [] {
    const std::string profile = "data/profiles/gpt-6.7b.a100-40gb.all-lengths.json";
    const std::string cluster = "data/clusters/a100-40gb-p4d-8x8.json";
    const std::string lengths = "data/lengths/flan-cot.csv";
    World read{read_profile(parse_json(text_of(profile), profile), profile),
               read_cluster(parse_json(text_of(cluster), cluster), cluster),
               {}};
    for (const SampleLength& sample : read_sample_lengths(text_of(lengths), lengths).samples) {
      read.samples.push_back({sample.tokens + sample.decoder_tokens, 0});
    }
    return read;
  }();
  return world;
}

// Every so manieth sample, from the first on.
LengthBatch some_samples(std::size_t count) {
  LengthBatch batch;
  for (std::size_t i = 0; i < count; ++i) {
    batch.push_back(world().samples[i * 7919 % world().samples.size()]);
  }
  return batch;
}
LengthBatch batch_of_tokens(std::int64_t tokens, std::size_t& next) {
  LengthBatch batch;
  for (; tokens > 0; ++next) {
    batch.push_back(world().samples[next * 7919 % world().samples.size()]);
    tokens -= batch.back().tokens;
  }
  return batch;
}

Plan layout_of(int pipeline, int data, int tensor) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  plan.tensor = tensor;
  plan.device = "a100-40gb";
  const int sections = static_cast<int>(world().profile.sections.size());
  for (int s = 0; s <= pipeline; ++s) plan.cuts.push_back(sections * s / pipeline);
  return plan;
}

struct Asked {
  Asked(int pipeline, int data, int tensor)
      : inputs{&world().profile, &world().cluster, {}, {}},
        layout(layout_of(pipeline, data, tensor)),
        costs(inputs, layout, "none"),
        cached(std::make_unique<ProfileCosts>(inputs, layout, "none")) {
    question.layout = layout;
    question.recompute = {{"none", &costs}};
    question.capacity = costs.capacity();
    question.reserve = costs.reserve();
  }
  PlanInputs inputs;
  Plan layout;
  ProfileCosts costs;
  CachedCosts cached;
  BatchQuestion question;
};

// samples
void split_samples(benchmark::State& state) {
  const Asked asked(4, 1, 2);
  const LengthBatch batch = some_samples(static_cast<std::size_t>(state.range(0)));
  ShapeTable shapes(asked.costs, asked.layout, asked.question.executor, asked.question.capacity,
                    asked.question.reserve);
  const RangeRows rows =
      range_rows(batch, sample_orders(batch).front(), asked.question.rounding, shapes);
  const RangeTimes times = times_within(rows, shapes, HeldAtOnce::kOne, shapes.limit());
  std::int64_t evaluations = 0;
  for (auto _ : state) {
    const Split split = split_exactly(times, {4, 1, 1});
    evaluations = split.evaluations;
    benchmark::DoNotOptimize(split);
  }
  std::int64_t ranges = 0;
  for (std::size_t i = 0; i < times.samples(); ++i) {
    ranges += static_cast<std::int64_t>(times.from(i).size());
  }
  state.counters["evaluations"] = static_cast<double>(evaluations);
  state.counters["ranges"] = static_cast<double>(ranges);
  state.counters["shapes"] = static_cast<double>(shapes.size());
}
BENCHMARK(split_samples)
    ->ArgName("samples")
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

// P, D, T; nothing is priced yet. `rivals`: what token budgets and fixed sizes form is weighed,
// too.
void plan_tokens(benchmark::State& state) {
  Asked asked(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
              static_cast<int>(state.range(2)));
  std::size_t next = 0;
  const LengthBatch batch = batch_of_tokens(65'536, next);
  if (state.range(3) > 0) {
    asked.question.rivals = rival_rules(asked.layout, 65'536.0, static_cast<double>(batch.size()));
  }
  BatchPlan plan;
  for (auto _ : state) plan = plan_batch(asked.question, batch);
  if (!plan.why_not.empty()) state.SkipWithError(plan.why_not.c_str());
  state.counters["samples"] = static_cast<double>(batch.size());
  state.counters["shapes"] = static_cast<double>(plan.counts.shapes);
  state.counters["splits"] = static_cast<double>(plan.counts.splits);
  state.counters["replays"] = static_cast<double>(plan.counts.replays);
  state.counters["step_ms"] = static_cast<double>(plan.makespan().count()) / 1e6;
}
BENCHMARK(plan_tokens)
    ->ArgNames({"P", "D", "T", "rivals"})
    ->Args({4, 1, 2, 0})
    ->Args({8, 8, 1, 0})
    ->Args({4, 1, 2, 1})
    ->Args({8, 8, 1, 1})
    ->Unit(benchmark::kMillisecond);

// P, D, T: one batch after the other as a planner beside training meets them, the first two planned
// before. `threads` plan so many at once, each by itself, with the prices that all of them found.
constexpr std::size_t kInAdvance = 2, kInTurn = 8;
void plan_batch_after_batch(benchmark::State& state) {
  Asked asked(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
              static_cast<int>(state.range(2)));
  const auto threads = static_cast<int>(state.range(3));
  asked.question.recompute = {{"none", &asked.cached}};
  std::size_t next = 0;
  for (std::size_t i = 0; i < kInAdvance; ++i) {
    benchmark::DoNotOptimize(plan_batch(asked.question, batch_of_tokens(65'536, next)));
  }
  std::vector<LengthBatch> batches;
  for (std::size_t i = 0; i < kInTurn; ++i) batches.push_back(batch_of_tokens(65'536, next));
  for (auto _ : state) {
    in_parallel(threads, batches.size(), [&](std::size_t i) {
      benchmark::DoNotOptimize(plan_batch(asked.question, batches[i]));
    });
  }
  const auto planned = static_cast<double>(state.iterations() * static_cast<long>(kInTurn));
  state.counters["batches_per_s"] = benchmark::Counter(planned, benchmark::Counter::kIsRate);
}
BENCHMARK(plan_batch_after_batch)
    ->ArgNames({"P", "D", "T", "threads"})
    ->Args({4, 1, 2, 1})
    ->Args({4, 1, 2, 2})
    ->Args({8, 8, 1, 1})
    ->Args({8, 8, 1, 2})
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace penstock
