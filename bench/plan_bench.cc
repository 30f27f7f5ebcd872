// A whole search, on the shipped profile and cluster: as they are, grown to 100 or 500 sections and
// 1,024 or 16,384 devices, and with two more device types.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

// Measured on two more device types as well: one takes half of the times, one twice as long.
ModelProfile on_three_types(ModelProfile model) {
  for (SectionType& type : model.section_types) {
    const std::vector<Measurement> measured = type.measurements;
    for (const auto& [device, percent] : {std::pair("fast", 50), std::pair("slow", 200)}) {
      for (Measurement m : measured) {
        m.device = device;
        for (Timing* time : {&m.forward, &m.recompute_time})
          time->median = time->median * percent / 100;
        for (auto* time : {&m.input_gradient, &m.weight_gradient, &m.fused_backward}) {
          if (*time) (*time)->median = (*time)->median * percent / 100;
        }
        type.measurements.push_back(m);
      }
    }
  }
  return model;
}

// As many nodes of four devices of each type.
ClusterSpec three_types(int nodes_of_each) {
  ClusterSpec cluster = p4d_nodes(nodes_of_each);
  cluster.node_types[0].devices = 4;
  cluster.levels[0].devices = 4;
  for (const char* name : {"fast", "slow"}) {
    DeviceType device = cluster.device_types[0];
    device.name = name;
    NodeType node = cluster.node_types[0];
    node.name = name;
    node.device_type = static_cast<int>(cluster.device_types.size());
    NodeGroup nodes = cluster.nodes[0];
    nodes.node_type = static_cast<int>(cluster.node_types.size());
    cluster.device_types.push_back(device);
    cluster.node_types.push_back(node);
    cluster.nodes.push_back(nodes);
  }
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

void search(benchmark::State& state, const SearchRequest& request, const ModelProfile& model,
            const ClusterSpec& cluster) {
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

void search(benchmark::State& state, const SearchRequest& request) {
  search(state, request, gpt(static_cast<int>(state.range(1)) - 2), p4d_nodes(request.gpus / 8));
}

void plan(benchmark::State& state) { search(state, request_of(state)); }

void plan_on_three_types(benchmark::State& state) {
  const SearchRequest request = request_of(state);
  search(state, request, on_three_types(gpt(static_cast<int>(state.range(1)) - 2)),
         three_types(request.gpus / 12));
}

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
    ->Args({1024, 500, 2048, 2})
    ->Args({16384, 100, 16384, 2})
    ->Args({16384, 100, 2048, 2})
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(plan_on_three_types)
    ->ArgNames({"gpus", "sections", "batch", "threads"})
    ->Args({48, 34, 128, 1})
    ->Args({252, 34, 512, 2})
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
