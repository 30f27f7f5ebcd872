// The order in which the tracer uses CUPTI, on the emulated CUPTI and GPUs: the product's tracer,
// and what attributes its records. What it must not do is kept by the emulated CUPTI as rules.
#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "profiler/activity.h"
#include "profiler/cuda/cupti_tracer.h"
#include "profiler/trace_chain.h"
#include "tests/gpu/emulator/emulated_gpus.h"
#include "tests/gpu/emulator/fake_cupti.h"
#include "tests/profiler/fake_work.h"
#include "training/cuda/cuda_stream.h"

namespace penstock {
namespace {

using testing::EmulatedGpus;
using testing::EmulatedWork;
using testing::FakeCupti;

constexpr ActivityTag kForward = activity_tag(0, ActivityPhase::kForward);
constexpr ActivityTag kBackward = activity_tag(1, ActivityPhase::kInputGradient);

FakeCupti& cupti() { return FakeCupti::instance(); }
int number_of(const CudaStream& stream) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(stream.get()));
}

// On a rank of its own, with as many others as there are `beside`; what was thrown, "" for nothing.
std::string on_a_gpu(const std::function<void()>& body,
                     const std::function<void()>& beside = std::function<void()>()) {
  cupti().begin();
  const auto thrown = EmulatedGpus::instance().run(
      beside ? 2 : 1, {}, [&](int rank) { return rank == 0 ? body() : beside(); });
  for (const std::string& what : thrown) {
    if (!what.empty()) return what;
  }
  return EmulatedGpus::instance().deadlock();
}

const std::vector<std::string> kNone;

// Two kernels of the rank's own thread, which has pushed the tag, and one of another thread, as
// LibTorch's backward launches them.
TEST_CASE(
    "kernels are attributed to the scope in which any thread launched them, period by period") {
  CHECK(on_a_gpu([] {
          const auto tracer = make_cupti_tracer(0);
          CHECK_THROWS_AS((void)make_cupti_tracer(0), Error);  // one per process
          const CudaStream stream;
          for (int period = 0; period < 3; ++period) {
            CAPTURE(period);
            cupti().launch(stream.get(), "while nothing is traced");
            tracer->start();
            for (int repeat = 0; repeat < 10; ++repeat) {
              tracer->open_scope(kForward);
              cupti().launch(stream.get(), "gemm");
              cupti().launch(stream.get(), "gelu");
              tracer->close_scope();
              tracer->open_scope(kBackward);
              std::thread([&] { cupti().launch(stream.get(), "backward"); }).join();
              tracer->close_scope();
            }
            const ActivityRecording recording = tracer->stop();
            const Attribution found = attribute(recording);
            CHECK(why_void(recording, found).value_or("") == "");
            CHECK(recording.scopes.size() == 20);
            CHECK(found.confirmed == 20);
            CHECK(found.without_external_id == 10);
            const std::vector<TagActivity> tags = by_tag(recording, found);
            REQUIRE(tags.size() == 2);
            CHECK(tags[0].kernels == 2);
            CHECK(tags[0].repeats == 10);
            CHECK(tags[1].kernels == 1);
            CHECK(tags[1].busy.median == Duration{1000});
          }
        }) == "");
  CHECK(cupti().broken() == kNone);
  CHECK(cupti().buffers_out() == 0);
}

// Behind work that ends only when another rank says so: records asked for before would have no
// times.
TEST_CASE("tracing ends when all that was launched has run") {
  std::optional<int> held;
  CHECK(on_a_gpu(
            [&] {
              const auto tracer = make_cupti_tracer(0);
              const CudaStream stream;
              tracer->start();
              EmulatedWork open;
              open.words = "an open receive";
              open.started = [] {};  // and ends when it is told to
              EmulatedGpus::instance().add(number_of(stream), std::move(open));
              tracer->open_scope(kForward);
              cupti().launch(stream.get(), "gemm");
              tracer->close_scope();
              EmulatedGpus::instance().locked([&] { held = number_of(stream); });
              const ActivityRecording recording = tracer->stop();
              const Attribution found = attribute(recording);
              CHECK(why_void(recording, found).value_or("") == "");
              CHECK(by_tag(recording, found).at(0).kernels == 1);
            },
            [&] {
              EmulatedGpus& gpus = EmulatedGpus::instance();
              for (bool ended = false; !ended;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                gpus.locked([&] {
                  ended = held.has_value();
                  if (ended) gpus.end_running(*held);
                });
              }
            }) == "");
  CHECK(cupti().broken() == kNone);
}

TEST_CASE("what belongs to no scope, and what CUPTI has lost, voids a trace") {
  CHECK(on_a_gpu([] {
          const auto tracer = make_cupti_tracer(0);
          const CudaStream stream;
          tracer->start();
          cupti().launch(stream.get(), "stray");
          const ActivityRecording stray = tracer->stop();
          CHECK(attribute(stray).unattributed.at(0).reason == UnattributedReason::kOutsideScopes);
          CHECK(why_void(stray, attribute(stray)).value_or("").find("stray") != std::string::npos);
          tracer->start();
          tracer->open_scope(kForward);
          for (int i = 0; i < 7; ++i) cupti().launch(stream.get(), "gemm");
          tracer->close_scope();
          cupti().loses = 2;
          const ActivityRecording lossy = tracer->stop();
          CHECK(lossy.dropped == 2);
          CHECK(why_void(lossy, attribute(lossy)).has_value());
        }) == "");
  CHECK(cupti().broken() == kNone);
}

TEST_CASE("a tracer that goes while it traces leaves nothing with CUPTI") {
  CHECK(on_a_gpu([] {
          const auto tracer = make_cupti_tracer(0);
          const CudaStream stream;
          tracer->start();
          for (int i = 0; i < 20; ++i) cupti().launch(stream.get(), "gemm");
        }) == "");
  CHECK(cupti().broken() == kNone);
  CHECK(cupti().buffers_out() == 0);
}

TEST_CASE("whoever holds CUPTI is named, and when he has gone it can be used") {
  CHECK(on_a_gpu([] {
          cupti().holder = "nsys";
          CHECK_THROWS_WITH_AS((void)make_cupti_tracer(0),
                               "CUPTI is held by another tool (nsys); run without it", Error);
          cupti().holder.clear();
          const auto tracer = make_cupti_tracer(0);
          tracer->start();
          CHECK(tracer->stop().records.empty());
        }) == "");
  CHECK(cupti().broken() == kNone);
}

// The emulated CUPTI notices: a stream is the first use of the GPU.
TEST_CASE("a tracer made after the first use of the GPU is noticed") {
  CHECK(on_a_gpu([] {
          const CudaStream stream;
          const auto tracer = make_cupti_tracer(0);
        }) == "");
  CHECK(cupti().broken() ==
        std::vector<std::string>{"CUPTI is asked for after the first use of the GPU"});
}

// Every action launches one kernel, backwards from a thread of their own.
class KernelWork : public tests::FakeWork {
 public:
  KernelWork(tests::FakeDevice& numbers, void* stream)
      : FakeWork(numbers, tests::four_stages(), false), stream_(stream) {}

  bool strays = false;  // something runs between two actions

  void begin_step(std::int64_t) override { cupti().launch(stream_, "clear"); }
  void compute(ActionKind kind, int, int) override {
    if (kind == ActionKind::kForward) return cupti().launch(stream_, "forward");
    std::thread([this] { cupti().launch(stream_, "backward"); }).join();
  }
  void hand_on_activation(int, int) override {
    if (strays) cupti().launch(stream_, "stray");
  }
  void hand_on_gradient(int, int) override {}
  NormShare norm_share() override {
    cupti().launch(stream_, "norm");
    return {};
  }
  void optimize(int) override { cupti().launch(stream_, "optimizer"); }

 private:
  void* stream_;
};

TEST_CASE("a chain is traced without anything left over, and a stray kernel voids it") {
  ChainToMeasure chain;
  chain.sections = {0, 1, 2, 3};
  chain.types = {"embedding", "block", "block", "head"};
  chain.splits = false;
  CHECK(on_a_gpu([&] {
          const auto tracer = make_cupti_tracer(0);
          const CudaStream stream;
          tests::FakeDevice numbers;
          KernelWork work(numbers, stream.get());
          const ChainTrace trace = trace_chain(chain, work, numbers, *tracer);
          CHECK(trace.samples.why_void == "");
          CHECK(trace.samples.unattributed == Duration{});
          const auto block =
              std::ranges::find(trace.samples.types, activity_tag(1, ActivityPhase::kFusedBackward),
                                &TagActivity::tag);
          REQUIRE(block != trace.samples.types.end());
          CHECK(block->kernels == 1);
          work.strays = true;
          const ChainTrace bad = trace_chain(chain, work, numbers, *tracer);
          CHECK(bad.samples.why_void.find("stray") != std::string::npos);
        }) == "");
  CHECK(cupti().broken() == kNone);
}

}  // namespace
}  // namespace penstock
