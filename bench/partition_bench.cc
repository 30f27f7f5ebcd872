// Cutting a chain: asked for thousands of times by every search.
#include "search/partition.h"

#include <benchmark/benchmark.h>

namespace penstock {
namespace {

// A hundred sections: equal layers but for a light first and a heavy last one.
struct Chain {
  std::vector<std::int64_t> prefix{0};
  std::vector<std::int64_t> boundary;
  explicit Chain(int sections) {
    for (int s = 0; s < sections; ++s) {
      const std::int64_t time = s == 0 ? 100'000 : s + 1 == sections ? 9'000'000 : 2'400'000;
      prefix.push_back(prefix.back() + time);
      boundary.push_back(1 << 22);
    }
  }
};

// What 1F1B allows: stage s holds stages - s activations per section.
class HeldLimit : public StageLimit {
 public:
  HeldLimit(int sections, int stages)
      : stages_(stages), capacity_(static_cast<std::int64_t>(sections) * 13 / 20 + stages) {}
  [[nodiscard]] bool fits(int stage, int first, int end) const override {
    return std::int64_t{stages_ - stage} * (end - first) <= capacity_;
  }
  [[nodiscard]] bool is_monotone() const override { return true; }
  [[nodiscard]] bool every_section_fits(int /*stages*/) const override {
    return stages_ <= capacity_;
  }

 private:
  int stages_;
  std::int64_t capacity_;
};

template <class Cut>
void run(benchmark::State& state, Cut cut) {
  const Chain chain(static_cast<int>(state.range(0)));
  const HeldLimit limit(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  PartitionProblem problem;
  problem.stages = static_cast<int>(state.range(1));
  problem.time_prefix = &chain.prefix;
  problem.boundary_bytes = &chain.boundary;
  if (state.range(2) != 0) problem.limit = &limit;
  if (!cut(problem)) state.SkipWithError("no partition");
  for (auto _ : state) benchmark::DoNotOptimize(cut(problem));
  state.SetItemsProcessed(state.iterations());
}

void partition_chain(benchmark::State& state) { run(state, partition); }
void partition_chain_by_table(benchmark::State& state) { run(state, partition_by_table); }

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"K", "P", "limit"})
      ->ArgsProduct({{100}, {8, 32, 64}, {0, 1}})
      ->Unit(benchmark::kMicrosecond);
}
BENCHMARK(partition_chain)->Apply(sizes);
BENCHMARK(partition_chain_by_table)->Apply(sizes);

}  // namespace
}  // namespace penstock
