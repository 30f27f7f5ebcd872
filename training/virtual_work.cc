#include "training/virtual_work.h"

#include <algorithm>

namespace penstock {
namespace {

// When it ends is known when it begins.
class VirtualCopy : public SlotCopy {
 public:
  VirtualCopy(RankClock& clock, SteadyTime start, Duration duration)
      : clock_(clock), start_(start), end_(start + duration) {}
  void wait() override { clock_.sleep_until(end_); }
  [[nodiscard]] SteadyTime started() const override { return start_; }
  [[nodiscard]] SteadyTime ended() const override { return end_; }

 private:
  RankClock& clock_;
  SteadyTime start_, end_;
};

}  // namespace

VirtualDurations::VirtualDurations(int stages, int micro_batches)
    : stages_(stages),
      micro_batches_(micro_batches),
      compute_(at(ActionKind::kRecompute, stages, 0)),
      once_(static_cast<std::size_t>(kActionKinds) * static_cast<std::size_t>(stages)) {}

VirtualWork::VirtualWork(const RankSetup& setup, std::shared_ptr<const VirtualDurations> durations,
                         RankClock& clock, const std::optional<VirtualSlowness>& slow)
    : durations_(std::move(durations)), clock_(clock), slow_(slow) {
  for (const StageSetup& stage : setup.stages) {
    weights_[stage.stage].resize(static_cast<std::size_t>(stage.holders));
  }
  for (std::size_t tie = 0; tie < setup.ties.size(); ++tie) {
    for (const int stage : setup.ties[tie].stages) tied_[{static_cast<int>(tie), stage}] = 0.0F;
  }
}

void VirtualWork::compute(ActionKind kind, int stage, int micro_batch) {
  const Duration duration = durations_->of(kind, stage, micro_batch);
  sleep(is_slow_ ? scaled(duration, slow_->factor) : duration);
}

void VirtualWork::optimize(int stage) { sleep(durations_->of(ActionKind::kOptimizer, stage)); }

// Of several ranks the reduction takes the time; a rank alone waits in set_global_norm().
NormShare VirtualWork::norm_share() {
  norm_ends_ = clock_.now() + durations_->of_norm();
  return {};
}

std::unique_ptr<SlotCopy> VirtualWork::copy(ActionKind kind, int stage, SteadyTime ready,
                                            const std::vector<const SlotCopy*>& after) {
  SteadyTime start = ready;
  for (const SlotCopy* copy : after) start = std::max(start, copy->ended());
  return std::make_unique<VirtualCopy>(clock_, start, durations_->of(kind, stage));
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
