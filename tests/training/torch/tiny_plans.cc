#include "tests/training/torch/tiny_plans.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/program_source.h"
#include "runtime_bridge/rank_program.h"
#include "runtime_bridge/run_rank.h"
#include "search/evaluate.h"
#include "simulator/schedules/schedules.h"
#include "training/loopback.h"
#include "training/model_outline.h"
#include "training/torch/cpu_device.h"
#include "training/torch/torch_state.h"
#include "training/torch/torch_work.h"

namespace penstock::testing {
namespace {

using std::chrono::milliseconds;

Measurement measurement(int samples, int length, int decoder, const std::string& mode) {
  const int size = samples * (length + decoder);
  Measurement m;
  m.device = "toy";
  m.micro_batch_size = samples;
  m.sequence_length = length;
  m.decoder_length = decoder;
  m.recompute = mode;
  m.forward.median = Duration(milliseconds(2 * size)) / kTinyLength;
  m.fused_backward = Timing{Duration(milliseconds(4 * size)) / kTinyLength, Duration{}};
  if (mode == "full") m.recompute_time = m.forward;
  m.stash = m.weight_stash = m.working_peak = m.boundary = {1000 * size / kTinyLength};
  return m;
}

}  // namespace

ModelProfile tiny_profile(const ModelDescription& model, const std::vector<int>& lengths,
                          const std::vector<int>& sizes) {
  const ModelOutline outline = built_in_outline(model);
  ModelProfile profile;
  profile.name = "tiny";
  profile.description = model;
  profile.sources = {{"paper", Origin::kAssumed, "", ""}};
  profile.training.optimizer_ps_per_parameter = 1'000'000;
  const bool is_double = model.precision == Precision::kFloat64;
  const bool is_half = model.precision == Precision::kBFloat16;
  profile.training.bytes_per_parameter = {is_double ? 8 : is_half ? 2 : 4};
  profile.training.bytes_per_gradient = {is_double ? 8 : 4};
  profile.training.optimizer_bytes_per_parameter = {is_double ? 16 : is_half ? 12 : 8};
  for (const SectionOutline& section : outline.sections) {
    SectionType type;
    type.name = section.name;
    type.parameters = {{1, section.parameter_count()}};
    for (const std::string mode : {"none", "full"}) {
      for (const int length : lengths) {
        const std::vector<int> none{0};
        for (const int decoder : knows_decoder(section.type) ? lengths : none) {
          for (const int samples : sizes) {
            type.measurements.push_back(measurement(samples, length, decoder, mode));
          }
        }
      }
    }
    profile.sections.push_back({section.name, static_cast<int>(profile.section_types.size())});
    profile.section_types.push_back(std::move(type));
  }
  for (const TieOutline& tie : outline.ties) {
    TiedWeights tied;
    tied.name = tie.name;
    tied.parameters = {{1, outline.tied_parameter_count(tie)}};
    for (const int section : tie.sections) tied.sections.emplace_back(section);
    profile.tied_weights.push_back(std::move(tied));
  }
  return profile;
}

ClusterSpec tiny_cluster(int devices) {
  ClusterSpec cluster;
  cluster.name = "toys";
  cluster.sources = {{"paper", Origin::kAssumed, "", ""}};
  DeviceType device;
  device.name = "toy";
  device.memory = {1'000'000'000};
  device.memory_bandwidth = {1e12};
  cluster.device_types = {device};
  cluster.node_types = {{"node", 0, devices}};
  cluster.nodes = {{0, 1}};
  LinkLevel level;
  level.name = "wire";
  level.bandwidth = {1e9};
  cluster.levels = {level};
  return cluster;
}

namespace {

// body(rank) on a thread per rank; the first exception goes on.
void on_threads(int ranks, const std::function<void(int)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

class Turns : public ProgramSource {
 public:
  explicit Turns(const std::vector<PlanFile>& plans) : plans_(plans) {}
  PlanForSteps plan_from(std::int64_t step) override {
    const auto turn = static_cast<std::size_t>(step) % plans_.size();
    return {std::make_shared<const PlanFile>(plans_[turn]), step + 1};
  }

 private:
  const std::vector<PlanFile>& plans_;
};

class Losses : public StepObserver {
 public:
  explicit Losses(TrainedPlan& result) : result_(result) {}
  void step_finished(const MeasuredStep& step) override {
    result_.losses.push_back(step.loss);
    result_.gradient_norms.push_back(step.gradient_norm);
  }

 private:
  TrainedPlan& result_;
};

}  // namespace

Plan tiny_layout(const ModelDescription& model, const TinyLayout& layout) {
  const ScheduleKind& kind = *find_schedule(layout.schedule);
  Plan plan;
  plan.schedule = layout.schedule;
  plan.stage_map = kind.map;
  plan.pipeline = layout.pipeline;
  plan.chunks =
      kind.most_chunks == 0 ? std::max(layout.chunks, kind.fewest_chunks) : kind.fewest_chunks;
  plan.data = layout.data;
  plan.micro_batch_size = layout.micro_batch_size;
  plan.global_batch = layout.global_batch;
  plan.sequence_length = kTinyLength;
  plan.recompute = layout.recompute || kind.recomputes ? "full" : "none";
  plan.zero1 = layout.zero1;
  plan.sharding = layout.sharding;
  plan.shard_group = layout.shard_group;
  plan.device = "toy";
  const int sections = static_cast<int>(built_in_outline(model).sections.size());
  const int stages = plan.stages_per_copy();
  for (int s = 0; s <= stages; ++s) plan.cuts.push_back(s * sections / stages);
  if (!layout.cuts.empty()) plan.cuts = layout.cuts;
  return plan;
}

TinyPlan tiny_plan(const ModelDescription& model, const TinyLayout& layout) {
  const Plan plan = tiny_layout(model, layout);
  const ModelProfile profile = tiny_profile(model, {kTinyLength}, {1, 8});
  const ClusterSpec cluster = tiny_cluster(plan.devices());
  PlanInputs inputs;
  inputs.profile = &profile;
  inputs.cluster = &cluster;
  const EvaluatedPlan evaluated = evaluate(inputs, plan);
  if (evaluated.why_not) return {{}, evaluated.why_not->reason};
  return {to_plan_file(inputs, evaluated), ""};
}

RankSetup whole_job(const PlanFile& file, const TrainingOptions& options) {
  return rank_program(file, model_of(file), options, 0).setup;
}

TrainedPlan train(const PlanFile& file, const TrainingOptions& options, int steps,
                  const ReferenceRun& expected) {
  const auto programs = rank_programs(file, model_of(file), options);
  const int ranks = static_cast<int>(programs.size());
  const ByteData data = tiny_data();
  LoopbackOptions loopback;
  loopback.time_out = std::chrono::seconds(60);
  LoopbackHub hub(ranks, loopback);
  TrainedPlan result;
  WeightComparison weights(expected);
  std::mutex mutex;
  on_threads(ranks, [&](int rank) {
    const auto transport = hub.transport(rank);
    try {
      const auto device = make_cpu_device();
      const RankProgram& program = programs[static_cast<std::size_t>(rank)];
      TorchWork work(program.setup, *device, data, /*bucket_bytes=*/4096);
      StepExecutor executor(program, work, *transport, {});
      for (int step = 0; step < steps; ++step) {
        const NormShare all = executor.execute(step).all;
        if (rank > 0) continue;
        result.losses.push_back(all.loss);
        result.gradient_norms.push_back(std::sqrt(all.squared_norm));
      }
      const std::scoped_lock lock(mutex);
      if (!expected.weights.empty())
        weights.add(program.setup.model, work.state().section_states());
      for (const std::string& section : work.not_split()) result.not_split.push_back(section);
      result.peak = std::max(result.peak, work.state().peak_bytes());
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
  });
  result.weights = weights.worst();
  return result;
}

TrainedPlan train_by_turns(const std::vector<PlanFile>& plans, const TrainingOptions& options,
                           int steps, const ReferenceRun& expected) {
  const int ranks = plans.front().plan.devices();
  const ByteData data = tiny_data();
  LoopbackOptions loopback;
  loopback.time_out = std::chrono::seconds(60);
  LoopbackHub hub(ranks, loopback);
  TrainedPlan result;
  Losses losses(result);
  WeightComparison weights(expected);
  std::mutex mutex;
  on_threads(ranks, [&](int rank) {
    const auto transport = hub.transport(rank);
    const auto device = make_cpu_device();
    TorchState state(*plans.front().description, options, *device, /*bucket_bytes=*/4096);
    Turns source(plans);
    RankParts parts;
    parts.state = &state;
    parts.make_work = [&](const auto& /*plan*/, const RankProgram& program) {
      return std::make_unique<TorchWork>(program.setup, state, data);
    };
    RunRankOptions run;
    run.end_step = steps;
    run.training = options;
    run_rank(source, parts, *transport, run, {&losses, nullptr, nullptr});
    if (expected.weights.empty()) return;
    const std::scoped_lock lock(mutex);
    weights.add(*plans.front().description, state.section_states());
  });
  result.weights = weights.worst();
  return result;
}

}  // namespace penstock::testing
