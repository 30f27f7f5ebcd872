#include "training/loss_scaler.h"

#include <algorithm>

namespace penstock {

void LossScaler::update(bool overflow) {
  if (overflow) {
    scale_ = std::max(scale_ / 2, kSmallestScale);
    good_steps_ = 0;
  } else if (++good_steps_ == kGrowthInterval) {
    scale_ = std::min(scale_ * 2, kLargestScale);
    good_steps_ = 0;
  }
}

}  // namespace penstock
