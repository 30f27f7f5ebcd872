// The orders in which ranks use their GPUs, on emulated ones: the product's executor, its transport
// of NCCL and its device, for every schedule. What hung before is kept as a case that must be
// found.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime_bridge/execute_step.h"
#include "runtime_bridge/rendezvous_lists.h"
#include "search/plan_program.h"
#include "simulator/schedules/schedules.h"
#include "tests/gpu/emulator/device_work.h"
#include "tests/gpu/emulator/emulated_gpus.h"
#include "tests/runtime_bridge/memory_store.h"
#include "tests/runtime_bridge/ring_plans.h"
#include "training/cuda/cuda_device.h"
#include "training/cuda/cuda_devices.h"
#include "training/nccl/nccl_transport.h"

namespace penstock {
namespace {

using namespace penstock::testing;

EmulatedGpus& gpus() { return EmulatedGpus::instance(); }

// Tells the emulator of those that wait for a key.
class WatchedStore : public KeyValueStore {
 public:
  explicit WatchedStore(std::shared_ptr<tests::SharedMemory> memory) : store_(std::move(memory)) {}
  void set(const std::string& key, const std::string& value) override {
    store_.set(key, value);
    gpus().something_changed();
  }
  std::optional<std::string> get(const std::string& key) override {
    auto value = store_.get(key);
    if (!value && !gpus().ask_again("the key " + key)) {
      throw TransportFailure(std::nullopt, "the emulated ranks wait for each other");
    }
    return value;
  }

 private:
  tests::MemoryStore store_;
};

class OneStream : public CudaAllocator {
 public:
  explicit OneStream(const CudaStream& stream) : stream_(stream) {}
  void* stream() const override { return stream_.get(); }
  Bytes held() override { return {}; }
  Bytes peak() override { return {}; }
  void reset_peak() override {}

 private:
  const CudaStream& stream_;
};

// As transports were used before: any number of receives open at once.
class WithoutRestraint : public Transport {
 public:
  explicit WithoutRestraint(std::unique_ptr<Transport> below) : below_(std::move(below)) {}
  int rank() const override { return below_->rank(); }
  int size() const override { return below_->size(); }
  std::unique_ptr<Transfer> send(int to, MessageTag tag, const Buffer& buffer) override {
    return below_->send(to, tag, buffer);
  }
  std::unique_ptr<Transfer> receive(int from, MessageTag tag, const Buffer& buffer) override {
    return below_->receive(from, tag, buffer);
  }
  void begin_batch() override { below_->begin_batch(); }
  void end_batch() override { below_->end_batch(); }
  CommunicatorId form_group(const std::string& name, const std::vector<int>& members) override {
    return below_->form_group(name, members);
  }
  std::unique_ptr<Transfer> all_reduce(CommunicatorId group, const Buffer& buffer) override {
    return below_->all_reduce(group, buffer);
  }
  std::unique_ptr<Transfer> reduce_scatter(CommunicatorId group, const Buffer& buffer) override {
    return below_->reduce_scatter(group, buffer);
  }
  std::unique_ptr<Transfer> all_gather(CommunicatorId group, const Buffer& buffer) override {
    return below_->all_gather(group, buffer);
  }
  void barrier() override { below_->barrier(); }
  void abort(const std::string& reason) override { below_->abort(reason); }

 private:
  std::unique_ptr<Transport> below_;
};

struct Orders {
  DeviceHabits work;
  bool timeline = true;
  bool restrains_receives = true;
  EmulatedMachine machine;
};

struct Ran {
  std::string failure, deadlock;
  bool is_right = true;  // losses, norms and weights are those of a plain loop
  std::vector<int> allocations_of_last_step;
};

Ran run(const RingModel& model, const PlanFile& file, const Orders& orders, int steps = 2) {
  const auto programs = rank_programs(file, ModelDescription{}, {});
  const std::vector<RingStep> expected = plain_steps(model, file, steps);
  const RingWeights& weights = expected.back().weights;
  const int ranks = static_cast<int>(programs.size());
  const auto shared = std::make_shared<tests::SharedMemory>();
  Ran ran;
  ran.allocations_of_last_step.resize(programs.size());
  std::vector<char> right(programs.size(), 1);
  const auto thrown = gpus().run(ranks, orders.machine, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    CHECK(choose_cuda_device(rank) == rank);
    const CudaStream stream;
    const auto device = make_cuda_device(rank, std::make_unique<OneStream>(stream));
    NcclOptions nccl;
    nccl.rank = nccl.device = rank;
    nccl.size = ranks;
    nccl.name = "job";
    nccl.ways = ways_of(programs[r]);
    std::unique_ptr<Transport> transport =
        make_nccl_transport(nccl, std::make_unique<WatchedStore>(shared));
    if (!orders.restrains_receives) {
      transport = std::make_unique<WithoutRestraint>(std::move(transport));
    }
    DeviceWork work(model, programs[r], stream, *device, orders.work);
    work.warm_up();
    ExecuteOptions options;
    options.exact_times = orders.timeline;
    try {
      StepExecutor executor(programs[r], work, *transport, options);
      for (int step = 0; step < steps; ++step) {
        transport->barrier();
        const int before = gpus().calls(rank).allocations;
        const NormShare all = executor.execute(step).all;
        ran.allocations_of_last_step[r] = gpus().calls(rank).allocations - before;
        const NormShare& right_one = expected[static_cast<std::size_t>(step)].all;
        right[r] &= static_cast<char>(all.loss == right_one.loss &&
                                      all.squared_norm == right_one.squared_norm);
      }
    } catch (const std::exception& error) {
      transport->abort(error.what());
      throw;
    }
    for (const StageSetup& stage : programs[r].setup.stages) {
      for (int k = stage.first_section; k < stage.end_section; ++k) {
        right[r] &= static_cast<char>(work.ring().section_weights(k) ==
                                      weights.sections[static_cast<std::size_t>(k)]);
      }
    }
  });
  for (const std::string& what : thrown) {
    if (ran.failure.empty()) ran.failure = what;
  }
  for (const char each : right) ran.is_right = ran.is_right && each != 0;
  ran.deadlock = gpus().deadlock();
  return ran;
}

// Every schedule that a plan may name, except those with rules for run time, on two to four ranks.
struct Case {
  std::string schedule;
  Plan plan;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ScheduleKind& kind : schedule_kinds()) {
    if (kind.has_slices || kind.rule != RunTimeRule::kNone) continue;
    for (const RingShape shape : {RingShape{2, 2, 1, 4}, RingShape{2, 2, 2, 8},
                                  RingShape{3, 3, 1, 6}, RingShape{4, 2, 1, 8}}) {
      Plan plan = plan_of(std::string(kind.name), shape);
      if (!why_no_program(plan).empty()) continue;
      plan.zero1 = shape.data > 1;
      all.push_back({std::string(kind.name) + " P=" + std::to_string(shape.pipeline) +
                         " D=" + std::to_string(shape.data),
                     plan});
    }
  }
  return all;
}

RingModel model_for(const Plan& plan) { return ring_model(2 * plan.stages_per_copy() + 1, true); }

TEST_CASE("every schedule trains over NCCL with a timeline, to the bits of a plain loop") {
  int runs = 0;
  for (const Case& one : cases()) {
    CAPTURE(one.schedule);
    const RingModel model = model_for(one.plan);
    for (const bool timeline : {true, false}) {
      Orders orders;
      orders.timeline = timeline;
      const Ran ran = run(model, ring_plan(model, one.plan), orders);
      CHECK(ran.deadlock == "");
      CHECK(ran.failure == "");
      CHECK(ran.is_right);
      // Collectives, messages and norms use again what is there.
      CHECK(ran.allocations_of_last_step ==
            std::vector<int>(ran.allocations_of_last_step.size(), 0));
      ++runs;
    }
  }
  CHECK(runs >= 40);
}

TEST_CASE(
    "a timeline that waits for the whole device hangs at its first action, in every schedule") {
  Orders orders;
  orders.work.waits_for_stream_only = false;
  orders.restrains_receives = false;
  for (const Case& one : cases()) {
    CAPTURE(one.schedule);
    const RingModel model = model_for(one.plan);
    const Ran ran = run(model, ring_plan(model, one.plan), orders, 1);
    CAPTURE(ran.deadlock);
    CHECK(ran.deadlock.find("waits for the whole device") != std::string::npos);
    CHECK(ran.failure != "");
  }
}

TEST_CASE(
    "a kernel that is loaded beside an open receive hangs, and one that was loaded does not") {
  const RingModel model = ring_model(5, true);
  const PlanFile file = ring_plan(model, plan_of("1f1b", {2, 1, 1, 4}));
  Orders orders;
  orders.timeline = false;
  orders.work.warms_up = false;
  const Ran cold = run(model, file, orders);
  CAPTURE(cold.deadlock);
  CHECK(cold.deadlock.find("an idle GPU, to load the kernel") != std::string::npos);
  orders.machine.loads_lazily = false;  // CUDA_MODULE_LOADING=EAGER
  CHECK(run(model, file, orders).failure == "");
}

TEST_CASE("a deadlock is reported with who waits for what") {
  const RingModel model = ring_model(2, false);
  Orders orders;
  orders.work.waits_for_stream_only = false;
  const Ran ran = run(model, ring_plan(model, plan_of("gpipe", {2, 1, 1, 2})), orders, 1);
  CHECK(
      ran.deadlock ==
      "rank 0 waits for the whole device (on its GPU: a receive of 8 bytes from rank 1 runs); rank "
      "1 waits for a receive of 8 bytes from rank 0 (on its GPU: a receive of 8 bytes from rank 0 "
      "runs)");
}

TEST_CASE("receives one at a time, with few CTAs, leave the GPU to the compute beside them") {
  const RingModel model = ring_model(17, true);
  const PlanFile file = ring_plan(model, plan_of("interleaved", {4, 2, 1, 8}));
  Orders orders;
  orders.timeline = false;
  CHECK(run(model, file, orders).failure == "");
  // Four directions of 8 CTAs, and a collective with as many as NCCL likes.
  constexpr int kMost = 4 * 8 + 32;
  for (int rank = 0; rank < 4; ++rank) CHECK(gpus().most_ctas(rank) <= kMost);
  orders.machine.processors = kMost + 1;
  CHECK(run(model, file, orders).failure == "");
}

TEST_CASE("receives that are issued together end with the last of them, so 1F1B hangs") {
  const RingModel model = ring_model(5, true);
  Orders orders;
  orders.timeline = false;
  orders.restrains_receives = false;
  const Ran ran = run(model, ring_plan(model, plan_of("1f1b", {2, 1, 1, 4})), orders);
  CAPTURE(ran.deadlock);
  CHECK(ran.deadlock.find("rank 0 waits for a receive of 8 bytes from rank 1") == 0);
}

TEST_CASE("streams that share a hardware queue hang, and queues enough do not") {
  const RingModel model = ring_model(5, true);
  const PlanFile file = ring_plan(model, plan_of("1f1b", {2, 1, 1, 4}));
  Orders orders;
  orders.timeline = false;
  orders.machine.connections = 1;
  const Ran ran = run(model, file, orders);
  CAPTURE(ran.deadlock);
  CHECK(ran.deadlock.find("cannot start") != std::string::npos);
  orders.machine.connections = 8;  // CUDA's default
  CHECK(run(model, file, orders).failure == "");
}

TEST_CASE("the ranks of a host take its GPUs in turn") {
  std::vector<int> chosen(2);
  const auto thrown = gpus().run(2, {}, [&](int rank) {
    chosen[static_cast<std::size_t>(rank)] = choose_cuda_device(4 + rank);
  });
  CHECK(thrown == std::vector<std::string>{"", ""});
  CHECK(chosen == std::vector<int>{0, 1});
}

TEST_CASE("no rank opens a context on the GPU of another") {
  const RingModel model = ring_model(9, true);
  CHECK(run(model, ring_plan(model, plan_of("1f1b", {4, 1, 1, 4})), {}).failure == "");
  for (int rank = 0; rank < 4; ++rank) CHECK(gpus().calls(rank).contexts == std::set<int>{rank});
}

}  // namespace
}  // namespace penstock
