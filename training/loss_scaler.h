// Keeps gradients inside the range of fp16: the loss is multiplied by a power of two that halves
// when a gradient overflows and doubles when none did for a while. Micikevicius et al.,
// arXiv:1710.03740, section 3.2; constants as in torch.cuda.amp.GradScaler.
#pragma once

#include <cstdint>

namespace penstock {

class LossScaler {
 public:
  static constexpr double kInitialScale = 65536.0;
  static constexpr std::int64_t kGrowthInterval = 2000;
  // Far outside of what fp16 gradients need, but finite for ever.
  static constexpr double kLargestScale = 0x1p60, kSmallestScale = 0x1p-60;

  [[nodiscard]] double scale() const { return scale_; }
  [[nodiscard]] std::int64_t good_steps() const { return good_steps_; }
  // After a step: whether one of its gradients was infinite or not a number.
  void update(bool overflow);
  // From a checkpoint.
  void restore(double scale, std::int64_t good_steps) {
    scale_ = scale;
    good_steps_ = good_steps;
  }

 private:
  double scale_ = kInitialScale;
  std::int64_t good_steps_ = 0;  // since the scale last changed
};

}  // namespace penstock
