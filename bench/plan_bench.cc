// A whole search, on the shipped profile and cluster: as they are, and grown to 100 sections and
// 1,024 or 16,384 devices.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "core/files/format.h"
#include "search/best_plans.h"

namespace penstock {
namespace {

Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": not found; run from the repository root");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_json(text, path);
}

// GPT-6.7B with another number of layers between embedding and head.
ModelProfile gpt(int layers) {
  const std::string path = "data/profiles/gpt-6.7b.a100-40gb.json";
  ModelProfile model = read_profile(read_json(path), path);
  const Section layer = model.sections[1];
  model.sections.erase(model.sections.begin() + 1, model.sections.end() - 1);
  model.sections.insert(model.sections.begin() + 1, static_cast<std::size_t>(layers), layer);
  for (int s = 0; s < layers; ++s) {
    model.sections[static_cast<std::size_t>(s) + 1].name = "layer." + std::to_string(s);
  }
  model.tied_weights[0].sections[1] = SectionId{layers + 1};
  return model;
}

ClusterSpec p4d_nodes(int nodes) {
  const std::string path = "data/clusters/a100-40gb-p4d-8x8.json";
  ClusterSpec cluster = read_cluster(read_json(path), path);
  cluster.nodes[0].count = nodes;
  return cluster;
}

SearchRequest request_of(const benchmark::State& state) {
  SearchRequest request;
  request.gpus = static_cast<int>(state.range(0));
  request.global_batch = static_cast<int>(state.range(2));
  request.sequence_length = 2048;
  request.threads = static_cast<int>(state.range(3));
  return request;
}

void search(benchmark::State& state, const SearchRequest& request) {
  const ModelProfile model = gpt(static_cast<int>(state.range(1)) - 2);
  const ClusterSpec cluster = p4d_nodes(request.gpus / 8);
  PlanInputs inputs;
  inputs.profile = &model;
  inputs.cluster = &cluster;
  SearchProgress silent;
  SearchResult result;
  for (auto _ : state) result = best_plans(inputs, request, silent);
  if (result.best.empty()) state.SkipWithError("no plan");
  state.counters["candidates"] = static_cast<double>(result.candidates);
  state.counters["evaluated"] = static_cast<double>(result.evaluated);
}

void plan(benchmark::State& state) { search(state, request_of(state)); }

// The fastest plan for every number of GPUs: what `plan --gpus 1..64 -o book.json` works out.
void book(benchmark::State& state) {
  SearchRequest request = request_of(state);
  for (int gpus = 1; gpus <= request.gpus; ++gpus) request.sizes.push_back(gpus);
  search(state, request);
}

BENCHMARK(plan)
    ->ArgNames({"gpus", "sections", "batch", "threads"})
    ->Args({64, 34, 512, 1})
    ->Args({1024, 100, 2048, 1})
    ->Args({1024, 100, 2048, 2})
    ->Args({16384, 100, 16384, 2})
    ->Args({16384, 100, 2048, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(book)
    ->ArgNames({"gpus", "sections", "batch", "threads"})
    ->Args({64, 34, 512, 2})
    ->Args({64, 100, 512, 2})
    ->Args({1024, 100, 2048, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
