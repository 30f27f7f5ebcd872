#include "training/virtual_work.h"

#include <cerrno>
#include <ctime>
#include <utility>

#include "training/steady_time.h"

namespace penstock {
namespace {

// To a deadline and not for a while: what happens in between does not make the sleep longer. On
// Linux std::chrono::steady_clock is CLOCK_MONOTONIC.
void sleep_until(SteadyTime deadline) {
  const std::int64_t since = deadline.time_since_epoch().count();
  const timespec at{static_cast<std::time_t>(since / 1'000'000'000),
                    static_cast<long>(since % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

void sleep_from_now(Duration duration) {
  if (duration > Duration{0}) sleep_until(steady_now() + duration);
}

}  // namespace

VirtualDurations::VirtualDurations(int stages, int micro_batches)
    : stages_(stages),
      micro_batches_(micro_batches),
      compute_(at(ActionKind::kRecompute, stages, 0)),
      optimizer_(static_cast<std::size_t>(stages)) {}

std::size_t VirtualDurations::at(ActionKind kind, int stage, int micro_batch) const {
  const auto row = static_cast<std::size_t>(kind) * static_cast<std::size_t>(stages_) +
                   static_cast<std::size_t>(stage);
  return row * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(micro_batch);
}

VirtualWork::VirtualWork(const RankSetup& setup, std::shared_ptr<const VirtualDurations> durations)
    : durations_(std::move(durations)) {
  for (const StageSetup& stage : setup.stages) {
    weights_[stage.stage].resize(static_cast<std::size_t>(stage.holders));
  }
  for (std::size_t tie = 0; tie < setup.ties.size(); ++tie) {
    for (const int stage : setup.ties[tie].stages) tied_[{static_cast<int>(tie), stage}] = 0.0F;
  }
}

void VirtualWork::compute(ActionKind kind, int stage, int micro_batch) {
  sleep_from_now(durations_->of(kind, stage, micro_batch));
}

void VirtualWork::optimize(int stage) { sleep_from_now(durations_->of_optimizer(stage)); }

NormShare VirtualWork::norm_share() {
  sleep_from_now(durations_->of_norm());
  return {};
}

Buffer VirtualWork::of_boundary(Way way, int stage, int micro_batch) {
  float& element = boundaries_[{way, stage, micro_batch}];
  return {reinterpret_cast<std::byte*>(&element), 1, ElementType::kFloat32};
}
Buffer VirtualWork::activation_to_receive(int stage, int micro_batch) {
  return of_boundary(Way::kActivationIn, stage, micro_batch);
}
Buffer VirtualWork::gradient_to_receive(int stage, int micro_batch) {
  return of_boundary(Way::kGradientIn, stage, micro_batch);
}
Buffer VirtualWork::activation_to_send(int stage, int micro_batch) {
  return of_boundary(Way::kActivationOut, stage, micro_batch);
}
Buffer VirtualWork::gradient_to_send(int stage, int micro_batch) {
  return of_boundary(Way::kGradientOut, stage, micro_batch);
}

Buffer VirtualWork::of_weights(int stage) {
  std::vector<float>& weights = weights_.at(stage);
  return {reinterpret_cast<std::byte*>(weights.data()), weights.size(), ElementType::kFloat32};
}
std::vector<Buffer> VirtualWork::gradients(int stage) { return {of_weights(stage)}; }
std::vector<Buffer> VirtualWork::parameters_to_gather(int stage) { return {of_weights(stage)}; }

Buffer VirtualWork::tied_gradient(int tie, int stage) {
  return {reinterpret_cast<std::byte*>(&tied_.at({tie, stage})), 1, ElementType::kFloat32};
}

}  // namespace penstock
