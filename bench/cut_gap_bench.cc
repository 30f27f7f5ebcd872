// How far from the best cuts a plan's cuts are: those of evaluate() and those of improve_cuts(),
// against a long annealing of random moves that knows nothing but the replay. Counters: the mean
// and the largest excess of the step time over the plans of one family of schedules, in percent.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/files/format.h"
#include "search/choose_cuts.h"
#include "search/cut_replay.h"
#include "search/improve_cuts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

Json read_json(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": not found; run from the repository root");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_json(text, path);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  int below(int end) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33U) % static_cast<std::uint64_t>(end));
  }
  double unit() { return static_cast<double>(below(1 << 20)) / (1 << 20); }

 private:
  std::uint64_t state_;
};

// GPT-6.7B with another number of layers; `uneven`: of four kinds that take 0.4 to 2 times as long.
ModelProfile model_of(int layers, bool uneven) {
  const std::string path = "data/profiles/gpt-6.7b.a100-40gb.json";
  ModelProfile model = read_profile(read_json(path), path);
  const Section layer = model.sections[1];
  if (uneven) {
    for (const int tenths : {4, 7, 14, 20}) {
      SectionType type = model.section_types[static_cast<std::size_t>(layer.type)];
      type.name += "." + std::to_string(tenths);
      for (Measurement& m : type.measurements) {
        for (Timing* time : {&m.forward, &m.recompute_time})
          time->median = time->median * tenths / 10;
        for (auto* time : {&m.input_gradient, &m.weight_gradient, &m.fused_backward}) {
          if (*time) (*time)->median = (*time)->median * tenths / 10;
        }
      }
      model.section_types.push_back(std::move(type));
    }
  }
  model.sections.erase(model.sections.begin() + 1, model.sections.end() - 1);
  Random random(static_cast<std::uint64_t>(layers));
  for (int s = 0; s < layers; ++s) {
    Section section = layer;
    section.name = "layer." + std::to_string(s);
    if (uneven) {
      section.type = static_cast<int>(model.section_types.size()) - 1 - random.below(4);
    }
    model.sections.insert(model.sections.end() - 1, std::move(section));
  }
  model.tied_weights[0].sections[1] = SectionId{layers + 1};
  return model;
}

// The best step of a long annealing from these cuts.
Duration annealed(CutReplay& replay, std::vector<int> cuts, int replays, std::uint64_t seed) {
  Random random(seed);
  const auto given = replay.run(cuts);
  if (!given) return Duration::max();
  Duration now = given->step_time, best = now;
  const int inner = static_cast<int>(cuts.size()) - 2;
  for (int i = 0; i < replays && inner > 0; ++i) {
    const double left = 1.0 - static_cast<double>(i) / replays;
    std::vector<int> next = cuts;
    const int at = 1 + random.below(inner), to = 1 + random.below(inner);
    const int step = random.below(2) == 0 ? 1 : -1;
    const bool one = random.below(2) == 0;
    for (int c = std::min(at, to); c <= std::max(at, to); ++c) {
      if (!one || c == at) next[static_cast<std::size_t>(c)] += step;
    }
    bool valid = true;
    for (std::size_t c = 1; c < next.size(); ++c) valid = valid && next[c] > next[c - 1];
    if (!valid) continue;
    const auto then = replay.run(next);
    if (!then) continue;
    const double worse = static_cast<double>((then->step_time - now).count());
    const double heat = 0.01 * left * left * static_cast<double>(best.count());
    if (worse > 0 && (heat <= 0 || random.unit() >= std::exp(-worse / heat))) continue;
    cuts = std::move(next);
    now = then->step_time;
    best = std::min(best, now);
  }
  return best;
}

struct Gaps {
  double sum = 0, worst = 0;
  int plans = 0;
  void add(Duration step, Duration best) {
    const double gap =
        100.0 * (static_cast<double>(step.count()) / static_cast<double>(best.count()) - 1.0);
    sum += gap;
    worst = std::max(worst, gap);
    ++plans;
  }
};

const std::array kSchedules = {"1f1b",   "zb-h1", "interleaved", "interleaved-zb", "zb-v",
                               "v-half", "v-min", "dualpipe-v",  "dualpipe",       "chimera"};

void cut_gap(benchmark::State& state) {
  const std::string schedule = kSchedules.at(static_cast<std::size_t>(state.range(0)));
  const auto replays = static_cast<int>(state.range(1));
  const auto annealing = static_cast<int>(state.range(2));
  const std::string path = "data/clusters/a100-40gb-p4d-8x8.json";
  ClusterSpec cluster = read_cluster(read_json(path), path);
  for (auto& type : cluster.device_types) type.memory = Bytes{std::int64_t{1} << 42};
  Gaps before, after;
  for (auto _ : state) {
    before = after = {};
    for (const bool uneven : {false, true}) {
      for (const int layers : {32, 59}) {
        const ModelProfile model = model_of(layers, uneven);
        PlanInputs inputs;
        inputs.profile = &model;
        inputs.cluster = &cluster;
        for (const int pipeline : {4, 6, 8}) {
          for (const int rounds : {2, 8}) {
            Plan plan;
            plan.schedule = schedule;
            plan.pipeline = pipeline;
            const ScheduleKind& kind = *find_schedule(schedule);
            plan.chunks = kind.most_chunks == 0 ? (layers > 40 ? 3 : 2) : kind.fewest_chunks;
            plan.stage_map = kind.map;
            plan.global_batch = rounds * pipeline;
            plan.sequence_length = 2048;
            plan.device = "a100-40gb";
            const auto cut = evaluate(inputs, plan);
            if (cut.plan.cuts.empty()) continue;
            plan.cuts = cut.plan.cuts;
            const auto improved = improve_cuts(inputs, plan, {replays});
            CutReplay replay(inputs, plan);
            const auto given = replay.run(plan.cuts);
            if (!improved || !given) continue;
            Duration best = improved->step_time;
            best = std::min(best, annealed(replay, plan.cuts, annealing, 1));
            best = std::min(best, annealed(replay, equal_cuts(layers + 2, plan.stages_per_copy()),
                                           annealing, 2));
            best = std::min(best, annealed(replay, improved->plan.cuts, annealing, 3));
            before.add(given->step_time, best);
            after.add(improved->step_time, best);
          }
        }
      }
    }
  }
  state.SetLabel(schedule);
  state.counters["plans"] = after.plans;
  state.counters["mean_before"] = before.sum / std::max(1, before.plans);
  state.counters["worst_before"] = before.worst;
  state.counters["mean_after"] = after.sum / std::max(1, after.plans);
  state.counters["worst_after"] = after.worst;
}
BENCHMARK(cut_gap)
    ->ArgNames({"schedule", "replays", "annealing"})
    ->Args({4, 50, 50})
    ->ArgsProduct({{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {200}, {3000}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace penstock
