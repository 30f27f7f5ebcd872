#include "training/learning_rate.h"

#include <cmath>
#include <numbers>

namespace penstock {
namespace {

// How much is left of rate - least, from 1 to 0.
double left_at(LearningRateSchedule schedule, double u) {
  switch (schedule) {
    case LearningRateSchedule::kConstant:
      return 1.0;
    case LearningRateSchedule::kLinear:
      return 1.0 - u;
    case LearningRateSchedule::kCosine:
      return (1.0 + std::cos(std::numbers::pi * u)) / 2.0;
  }
  return 1.0;
}

}  // namespace

double learning_rate_at(const TrainingOptions& options, std::int64_t step) {
  const double rate = options.learning_rate;
  if (step < options.warmup_steps) {
    return rate * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps);
  }
  if (options.schedule == LearningRateSchedule::kConstant) return rate;
  if (step >= options.decay_steps) return options.least_learning_rate;
  const double u = static_cast<double>(step - options.warmup_steps) /
                   static_cast<double>(options.decay_steps - options.warmup_steps);
  return options.least_learning_rate +
         (rate - options.least_learning_rate) * left_at(options.schedule, u);
}

std::string_view name_of(LearningRateSchedule schedule) {
  switch (schedule) {
    case LearningRateSchedule::kConstant:
      return "constant";
    case LearningRateSchedule::kLinear:
      return "linear";
    case LearningRateSchedule::kCosine:
      return "cosine";
  }
  return "";
}

std::optional<LearningRateSchedule> learning_rate_schedule_named(std::string_view name) {
  for (const LearningRateSchedule schedule :
       {LearningRateSchedule::kConstant, LearningRateSchedule::kLinear,
        LearningRateSchedule::kCosine}) {
    if (name == name_of(schedule)) return schedule;
  }
  return std::nullopt;
}

}  // namespace penstock
