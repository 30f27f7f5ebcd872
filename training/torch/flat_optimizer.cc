#include "training/torch/flat_optimizer.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

namespace penstock {
namespace {

// So many at a time, so that what the arithmetic needs in between stays small.
constexpr std::int64_t kChunk = std::int64_t{1} << 22;

// arXiv:1711.05101, algorithm 2.
void adamw(const OptimizerStep& step, const at::Tensor& weights, const at::Tensor& gradient,
           const at::Tensor& mean, const at::Tensor& square) {
  const TrainingOptions& o = step.options;
  const auto t = static_cast<double>(step.number);
  if (step.decays) weights.mul_(1.0 - o.learning_rate * o.weight_decay);
  mean.mul_(o.beta1).add_(gradient, 1.0 - o.beta1);
  square.mul_(o.beta2).addcmul_(gradient, gradient, 1.0 - o.beta2);
  const double first_correction = 1.0 - std::pow(o.beta1, t);
  const double second_correction = 1.0 - std::pow(o.beta2, t);
  at::Tensor denominator = at::sqrt(square);
  denominator.div_(std::sqrt(second_correction)).add_(o.epsilon);
  weights.addcdiv_(mean, denominator, -o.learning_rate / first_correction);
}

// With decay as torch::optim::SGD has it, added to the gradient.
void sgd(const OptimizerStep& step, const at::Tensor& weights, const at::Tensor& gradient,
         const at::Tensor& momentum) {
  const TrainingOptions& o = step.options;
  if (step.decays && o.weight_decay != 0.0) gradient.add_(weights, o.weight_decay);
  if (!momentum.defined()) {
    weights.add_(gradient, -o.learning_rate);
    return;
  }
  momentum.mul_(o.momentum).add_(gradient);
  weights.add_(momentum, -o.learning_rate);
}

at::Tensor part(const at::Tensor& all, std::int64_t begin, std::int64_t size) {
  return all.defined() ? all.narrow(0, begin, size) : all;
}

}  // namespace

void step_flat(const OptimizerStep& step, const at::Tensor& weights, const at::Tensor& gradient,
               const at::Tensor& first, const at::Tensor& second) {
  for (std::int64_t begin = 0; begin < weights.numel(); begin += kChunk) {
    const std::int64_t size = std::min(kChunk, weights.numel() - begin);
    const at::Tensor g = part(gradient, begin, size);
    if (step.gradient_factor != 1.0) g.mul_(step.gradient_factor);
    if (step.kind == OptimizerKind::kAdamW) {
      adamw(step, part(weights, begin, size), g, part(first, begin, size),
            part(second, begin, size));
    } else {
      sgd(step, part(weights, begin, size), g, part(first, begin, size));
    }
  }
}

}  // namespace penstock
