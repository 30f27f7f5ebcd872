// Whole steps are run and read by stopwatches, because a section alone would find warm caches.
// Sampling goes on until the error of every median is below the limit, or the progress says to
// stop.
#include "profiler/measure_chain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profiler/measure_memory.h"
#include "profiler/run_chain.h"

namespace penstock {
namespace {

// A stopwatch per timed action of a step, so that a GPU need not be waited for in between.
class ActionClocks {
 public:
  explicit ActionClocks(Device& device) : device_(device) {}

  template <class Call>
  void action(ActionKind kind, int stage, const Call& call) {
    if (next_ == clocks_.size()) clocks_.push_back({device_.stopwatch(), kind, stage});
    Clock& clock = clocks_[next_++];
    clock.kind = kind;
    clock.stage = stage;
    clock.stopwatch->begin();
    call();
    clock.stopwatch->end();
  }
  void leaves(int, int) {}
  void left(int) {}

  // Hands out what was timed, and starts anew.
  template <class Take>
  void read(const Take& take) {
    for (std::size_t i = 0; i < next_; ++i) {
      take(clocks_[i].kind, clocks_[i].stage, clocks_[i].stopwatch->duration());
    }
    next_ = 0;
  }

 private:
  struct Clock {
    std::unique_ptr<Stopwatch> stopwatch;
    ActionKind kind;
    int stage;
  };
  Device& device_;
  std::vector<Clock> clocks_;
  std::size_t next_ = 0;
};

// Steps are left out as a whole, since a type may be sampled several times per step.
SamplingRule without_warm_up(SamplingRule rule) {
  rule.warm_up = 0;
  return rule;
}

class ChainMeasuring {
 public:
  ChainMeasuring(const ChainToMeasure& chain, RankWork& work, Device& device,
                 const SamplingRule& rule)
      : chain_(chain), work_(work), clocks_(device), rule_(without_warm_up(rule)) {
    for (int step = 0; step < std::max(rule.warm_up, 1); ++step) run_step();
    clocks_.read([](ActionKind, int, Duration) {});
  }

  ChainSamples measure(ProfilingProgress& progress) {
    do {
      run_step();
      take_step();
    } while (!enough() && !progress.stop());
    return result();
  }

 private:
  void run_step() {
    clocks_.read([](ActionKind, int, Duration) {});
    work_.begin_step(step_++);
    ChainRun run(chain_, work_, clocks_);
    run.fused();
    if (chain_.splits) run.split();
    run.update_weights();
  }

  // Norm and optimizer are those of the whole chain, and settle nothing: they are parts of a step
  // that is run often anyway.
  void take_step() {
    Duration norm{}, optimizer{};
    clocks_.read([&](ActionKind kind, int stage, Duration time) {
      if (kind == ActionKind::kNorm) {
        norm += time;
      } else if (kind == ActionKind::kOptimizer) {
        optimizer += time;
      } else {
        const std::string& type = chain_.types[static_cast<std::size_t>(stage)];
        samplers_.try_emplace({type, kind}, rule_).first->second.add(time);
      }
    });
    norms_.push_back(norm);
    optimizers_.push_back(optimizer);
  }

  [[nodiscard]] bool enough() const {
    return std::all_of(samplers_.begin(), samplers_.end(),
                       [](const auto& entry) { return entry.second.enough(); });
  }

  [[nodiscard]] SampleSummary summary_of(const std::string& type, ActionKind kind) const {
    const auto found = samplers_.find({type, kind});
    return found == samplers_.end() ? SampleSummary{} : summarize(found->second.samples());
  }

  [[nodiscard]] ChainSamples result() const {
    ChainSamples samples;
    for (const std::string& type : chain_.types) {
      const auto same = [&](const SectionSamples& row) { return row.type == type; };
      if (std::any_of(samples.sections.begin(), samples.sections.end(), same)) continue;
      SectionSamples& row = samples.sections.emplace_back();
      row.type = type;
      row.micro_batch_size = chain_.micro_batch_size;
      row.sequence_length = chain_.sequence_length;
      if (knows_decoder(type)) row.decoder_length = chain_.decoder_length;
      row.recompute = chain_.recompute ? "full" : "none";
      row.forward = summary_of(type, ActionKind::kForward);
      row.input_gradient = summary_of(type, ActionKind::kInputGradient);
      row.weight_gradient = summary_of(type, ActionKind::kWeightGradient);
      row.fused_backward = summary_of(type, ActionKind::kFusedBackward);
      row.recompute_time = summary_of(type, ActionKind::kRecompute);
    }
    samples.optimizer = summarize(optimizers_);
    samples.norm = summarize(norms_);
    samples.settled = enough();
    return samples;
  }

  const ChainToMeasure& chain_;
  RankWork& work_;
  ActionClocks clocks_;
  SamplingRule rule_;
  std::map<std::pair<std::string, ActionKind>, Sampler> samplers_;
  std::vector<Duration> norms_, optimizers_;
  std::int64_t step_ = 0;
};

}  // namespace

ChainSamples measure_chain(const ChainToMeasure& chain, RankWork& work, Device& device,
                           const SamplingRule& rule, ProfilingProgress& progress) {
  ChainMeasuring measuring(chain, work, device, rule);
  const std::vector<SectionMemory> memory = measure_memory(chain, work, device);
  ChainSamples samples = measuring.measure(progress);
  for (SectionSamples& row : samples.sections) {
    for (std::size_t stage = 0; stage < memory.size(); ++stage) {
      if (chain.types[stage] != row.type) continue;
      row.memory.stash = std::max(row.memory.stash, memory[stage].stash);
      row.memory.weight_stash = std::max(row.memory.weight_stash, memory[stage].weight_stash);
      row.memory.working_peak = std::max(row.memory.working_peak, memory[stage].working_peak);
      row.memory.boundary = std::max(row.memory.boundary, memory[stage].boundary);
    }
  }
  return samples;
}

void keep_running(const ChainToMeasure& chain, RankWork& work, const std::function<bool()>& stop) {
  struct Untimed {
    void action(ActionKind, int, const std::function<void()>& call) const { call(); }
    void leaves(int, int) const {}
    void left(int) const {}
  } untimed;
  ChainRun run(chain, work, untimed);
  for (std::int64_t step = 0; !stop(); ++step) {
    work.begin_step(step);
    run.fused();
    if (chain.splits) run.split();
    run.update_weights();
  }
}

}  // namespace penstock
