// A rank that computes nothing: its actions take the time and the memory that a table says, on a
// clock and an allocator that are only numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "training/device.h"
#include "training/rank_work.h"

namespace penstock::tests {

class FakeDevice : public Device {
 public:
  Duration now{};

  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] bool is_gpu() const override { return false; }
  [[nodiscard]] void* stream() const override { return nullptr; }
  void synchronize() override {}
  [[nodiscard]] std::unique_ptr<Stopwatch> stopwatch() override {
    return std::make_unique<FakeStopwatch>(*this);
  }
  [[nodiscard]] Bytes held_memory() override { return held_; }
  [[nodiscard]] Bytes peak_memory() override { return peak_; }
  void reset_peak_memory() override { peak_ = held_; }

  void take(std::int64_t bytes) {
    held_.count += bytes;
    peak_ = std::max(peak_, held_);
  }
  void give_back(std::int64_t bytes) { held_.count -= bytes; }

 private:
  class FakeStopwatch : public Stopwatch {
   public:
    explicit FakeStopwatch(FakeDevice& device) : device_(device) {}
    void begin() override { begin_ = device_.now; }
    void end() override { end_ = device_.now; }
    [[nodiscard]] Duration duration() override { return end_ - begin_; }

   private:
    FakeDevice& device_;
    Duration begin_{}, end_{};
  };
  Bytes held_{}, peak_{};
};

// What one stage takes.
struct FakeStage {
  int forward = 0, input = 0, weight = 0, fused = 0, again = 0, optimizer = 0;  // ns
  std::int64_t saved = 0;        // kept by F besides its input, until the backward
  std::int64_t for_weights = 0;  // kept by I until W
  std::int64_t temporary_forward = 0, temporary_backward = 0;
  std::int64_t output = 0;
};

// Output and gradient are handed on without a copy: the neighbour frees them.
class FakeWork : public RankWork {
 public:
  FakeWork(FakeDevice& device, std::vector<FakeStage> stages, bool recompute)
      : device_(device), stages_(std::move(stages)), recompute_(recompute) {}

  std::vector<std::string> calls;  // "0F0"
  int slow_steps = 0;              // the first ones take ten times as long
  int steps = 0;

  void begin_step(std::int64_t) override { ++steps; }
  void compute(ActionKind kind, int stage, int micro_batch) override {
    calls.push_back(std::to_string(stage) + std::string(name_of(kind)) +
                    std::to_string(micro_batch));
    const FakeStage& of = at(stage);
    const std::int64_t in = stage == 0 ? 0 : at(stage - 1).output;
    switch (kind) {
      case ActionKind::kForward:
        pass(of.forward);
        device_.take((recompute_ ? 0 : of.saved) + of.output);
        use(of.temporary_forward);
        break;
      case ActionKind::kRecompute:
        pass(of.again);
        device_.take(of.saved);
        break;
      case ActionKind::kFusedBackward:
        pass(of.fused);
        device_.take(in);
        use(of.temporary_backward);
        device_.give_back(of.saved + in + of.output);
        break;
      case ActionKind::kInputGradient:
        pass(of.input);
        device_.take(in);
        use(of.temporary_backward);
        device_.give_back(of.saved + in + of.output);
        device_.take(of.for_weights);
        break;
      case ActionKind::kWeightGradient:
        pass(of.weight);
        device_.give_back(of.for_weights);
        // The gradient that the chain's first stage has no use for.
        break;
      default:
        throw Error(ErrorKind::kInternal, "a rank computes no such action");
    }
  }
  Buffer activation_to_receive(int, int) override { return {}; }
  Buffer gradient_to_receive(int, int) override { return {}; }
  Buffer activation_to_send(int stage, int) override {
    return {.elements = static_cast<std::size_t>(at(stage).output)};
  }
  Buffer gradient_to_send(int, int) override { return {}; }
  void sent_activation(int, int) override {}
  void sent_gradient(int, int) override {}
  void hand_on_activation(int stage, int micro_batch) override {
    calls.push_back(std::to_string(stage) + ">" + std::to_string(micro_batch));
  }
  void hand_on_gradient(int stage, int micro_batch) override {
    calls.push_back(std::to_string(stage) + "<" + std::to_string(micro_batch));
  }
  std::vector<Buffer> gradients(int) override { return {}; }
  Buffer tied_gradient(int, int) override { return {}; }
  void add_tied_gradient(int, int, int) override {}
  void copy_tied_gradient(int, int, int) override {}
  NormShare norm_share() override {
    pass(5);
    return {};
  }
  void set_global_norm(const NormShare&) override {}
  void optimize(int stage) override { pass(at(stage).optimizer); }
  std::vector<Buffer> parameters_to_gather(int) override { return {}; }
  void gathered(int) override {}

 private:
  [[nodiscard]] const FakeStage& at(int stage) const {
    return stages_[static_cast<std::size_t>(stage)];
  }
  void pass(int nanoseconds) {
    device_.now += Duration{nanoseconds * (steps <= slow_steps ? 10 : 1)};
  }
  void use(std::int64_t bytes) {
    device_.take(bytes);
    device_.give_back(bytes);
  }

  FakeDevice& device_;
  std::vector<FakeStage> stages_;
  bool recompute_;
};

// An embedding, two blocks and a head.
inline std::vector<FakeStage> four_stages() {
  const FakeStage embedding{.forward = 10,
                            .input = 1,
                            .weight = 20,
                            .fused = 21,
                            .again = 9,
                            .optimizer = 300,
                            .saved = 8,
                            .for_weights = 108,
                            .temporary_forward = 3,
                            .temporary_backward = 2,
                            .output = 100};
  const FakeStage block{.forward = 100,
                        .input = 90,
                        .weight = 80,
                        .fused = 165,
                        .again = 95,
                        .optimizer = 100,
                        .saved = 400,
                        .for_weights = 60,
                        .temporary_forward = 30,
                        .temporary_backward = 50,
                        .output = 100};
  FakeStage late = block;
  late.forward = 104;
  const FakeStage head{.forward = 50,
                       .input = 40,
                       .weight = 45,
                       .fused = 84,
                       .again = 48,
                       .optimizer = 200,
                       .saved = 300,
                       .for_weights = 40,
                       .temporary_forward = 0,
                       .temporary_backward = 500,
                       .output = 0};
  return {embedding, block, late, head};
}

}  // namespace penstock::tests
