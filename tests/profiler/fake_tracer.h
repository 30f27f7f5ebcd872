// A tracer that makes up its records: one launch and one kernel per scope, which runs as long as
// the scope is open on the clock it is given.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "core/values/error.h"
#include "profiler/activity_tracer.h"

namespace penstock::tests {

class FakeTracer : public ActivityTracer {
 public:
  using Clock = std::function<Duration()>;
  explicit FakeTracer(Clock clock) : clock_(std::move(clock)) {}

  // Called before a scope opens while tracing: what a tracer costs.
  std::function<void()> on_open = [] {};
  std::string stray;         // a kernel of this name, of 5 ns, is launched after all scopes
  std::int64_t dropped = 0;  // records lost in every recording
  int starts = 0, recordings = 0;

  void start() override {
    if (tracing_) throw Error(ErrorKind::kInternal, "the tracer traces already");
    tracing_ = true;
    ++starts;
    recording_ = {};
    correlation_ = 0;
  }

  void open_scope(ActivityTag tag) override {
    on_open();
    ActivityScope scope;
    scope.tag = tag;
    scope.begin = clock_();
    scope.thread = 1;
    recording_.scopes.push_back(scope);
  }

  void close_scope() override {
    ActivityScope& scope = recording_.scopes.back();
    scope.end = clock_();
    // Backward is launched by LibTorch's thread, which has no external id.
    const bool by_engine = phase_of(scope.tag) == ActivityPhase::kFusedBackward;
    if (scope.end > scope.begin) add_kernel("gemm", scope.begin, scope.end, by_engine ? 99 : 1);
    if (!by_engine && scope.end > scope.begin) add_external_id(scope.tag);
  }

  ActivityRecording stop() override {
    tracing_ = false;
    ++recordings;
    recording_.device = "a fake";
    recording_.driver = "none";
    recording_.date = "2026-01-01";
    recording_.dropped = dropped;
    const Duration now = clock_() + Duration{1};
    if (!stray.empty()) add_kernel(stray, now, now + Duration{5}, 1);
    return std::move(recording_);
  }

 private:
  void add_kernel(const std::string& name, Duration begin, Duration end, std::uint64_t thread) {
    ActivityRecord launch, kernel;
    launch.kind = ActivityKind::kRuntime;
    launch.start = launch.end = begin;
    launch.thread = thread;
    launch.correlation = kernel.correlation = ++correlation_;
    kernel.kind = ActivityKind::kKernel;
    kernel.start = begin;
    kernel.end = end;
    kernel.stream = 7;
    kernel.name = name;
    recording_.records.push_back(launch);
    recording_.records.push_back(kernel);
  }

  void add_external_id(ActivityTag tag) {
    ActivityRecord record;
    record.kind = ActivityKind::kExternalCorrelation;
    record.correlation = correlation_;
    record.external_id = tag.value;
    recording_.records.push_back(record);
  }

  Clock clock_;
  ActivityRecording recording_;
  std::uint32_t correlation_ = 0;
  bool tracing_ = false;
};

}  // namespace penstock::tests
