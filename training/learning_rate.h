// The learning rate of a step, as a pure function of its number: nothing has to be kept, and a run
// that goes on from a checkpoint has the rate that an uninterrupted one has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "training/rank_setup.h"

namespace penstock {

// With t the number of the step, from 0, W the steps of warm-up and T the step of the decay's end:
//
//   t < W       rate * (t + 1) / W
//   W <= t < T  constant  rate
//               linear    min + (rate - min) * (1 - u)             u = (t - W) / (T - W)
//               cosine    min + (rate - min) * (1 + cos(pi u)) / 2
//   t >= T      min; constant: rate
//
// These are PyTorch's LinearLR(start_factor=1/W, total_iters=W-1) and behind it, by SequentialLR
// with milestone W, ConstantLR(factor=1), LinearLR(1, min/rate, T-W) or CosineAnnealingLR(T-W,
// min); cosine is arXiv:1608.03983, equation 5, without restarts.
double learning_rate_at(const TrainingOptions& options, std::int64_t step);

std::string_view name_of(LearningRateSchedule schedule);  // "cosine"
std::optional<LearningRateSchedule> learning_rate_schedule_named(std::string_view name);

}  // namespace penstock
