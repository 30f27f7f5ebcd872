#include "tests/training/torch/reference_training.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include <torch/torch.h>

#include "tests/training/torch/reference_t5.h"
#include "training/initial_values.h"
#include "training/learning_rate.h"
#include "training/model_outline.h"

namespace penstock::testing {
namespace {

using Weights = std::vector<std::vector<torch::Tensor>>;

torch::Tensor& weight_of(Weights& weights, const TieOutline& tie, std::size_t i) {
  return weights[static_cast<std::size_t>(tie.sections[i])]
                [static_cast<std::size_t>(tie.parameters[i])];
}

// Whether an earlier section has the same tensor.
bool is_again(const ModelOutline& outline, std::size_t section, std::size_t parameter) {
  for (const TieOutline& tie : outline.ties) {
    for (std::size_t i = 1; i < tie.sections.size(); ++i) {
      if (tie.sections[i] == static_cast<int>(section) &&
          tie.parameters[i] == static_cast<int>(parameter)) {
        return true;
      }
    }
  }
  return false;
}

Weights initial_weights(const RankSetup& setup, const ModelOutline& outline) {
  const bool is_double = setup.model.precision == Precision::kFloat64;
  Weights weights(outline.sections.size());
  for (std::size_t s = 0; s < weights.size(); ++s) {
    for (std::size_t p = 0; p < outline.sections[s].parameters.size(); ++p) {
      const ParameterOutline& parameter = outline.sections[s].parameters[p];
      const auto count = static_cast<std::size_t>(parameter.count());
      torch::Tensor values;
      if (is_double) {
        values = torch::empty(parameter.shape, torch::kDouble);
        fill_initial(parameter, setup.options.seed, static_cast<int>(s), static_cast<int>(p),
                     std::span<double>(values.data_ptr<double>(), count));
      } else {
        values = torch::empty(parameter.shape, torch::kFloat);
        fill_initial(parameter, setup.options.seed, static_cast<int>(s), static_cast<int>(p),
                     std::span<float>(values.data_ptr<float>(), count));
      }
      weights[s].push_back(values.set_requires_grad(true));
    }
  }
  for (const TieOutline& tie : outline.ties) {
    for (std::size_t i = 1; i < tie.sections.size(); ++i) {
      weight_of(weights, tie, i) = weight_of(weights, tie, 0);
    }
  }
  return weights;
}

torch::Tensor normed(const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& bias) {
  const torch::Tensor centred = x - x.mean(-1, true);
  return centred / (centred.pow(2).mean(-1, true) + 1e-5).sqrt() * weight + bias;
}
torch::Tensor affine(const torch::Tensor& x, const torch::Tensor& weight,
                     const torch::Tensor& bias) {
  return torch::matmul(x, weight.t()) + bias;
}

torch::Tensor attended(const ModelDescription& model, const torch::Tensor& x,
                       const std::vector<torch::Tensor>& w) {
  const auto tokens = x.size(1), width = x.size(2);
  const std::int64_t head_width = width / model.heads;
  const torch::Tensor qkv = affine(normed(x, w[0], w[1]), w[2], w[3]);
  std::vector<torch::Tensor> heads;
  for (std::int64_t h = 0; h < model.heads; ++h) {
    const auto of_head = [&](std::int64_t which) {
      return qkv.narrow(2, which * width + h * head_width, head_width);
    };
    torch::Tensor scores = torch::matmul(of_head(0), of_head(1).transpose(1, 2)) /
                           std::sqrt(static_cast<double>(head_width));
    if (model.family == ModelFamily::kGpt) {
      const torch::Tensor later = torch::ones({tokens, tokens}, torch::kBool).triu(1);
      scores = scores.masked_fill(later, -1e30);
    }
    heads.push_back(torch::matmul(scores.softmax(-1), of_head(2)));
  }
  return affine(torch::cat(heads, 2), w[4], w[5]);
}

// The sum of -log p over the targets that count.
torch::Tensor loss_of(const ModelDescription& model, const Weights& weights,
                      const torch::Tensor& tokens, const torch::Tensor& targets) {
  if (model.family == ModelFamily::kT5) return t5_loss(model, weights, tokens, targets);
  torch::Tensor x = weights[0][0]
                        .index_select(0, tokens.reshape({-1}))
                        .view({tokens.size(0), tokens.size(1), model.hidden}) +
                    weights[0][1].narrow(0, 0, tokens.size(1));
  for (std::size_t s = 1; s + 1 < weights.size(); ++s) {
    const std::vector<torch::Tensor>& w = weights[s];
    std::size_t mlp = 0;
    if (model.family != ModelFamily::kMlp) {
      x = x + attended(model, x, w);
      mlp = 6;
    }
    const torch::Tensor inner = affine(normed(x, w[mlp], w[mlp + 1]), w[mlp + 2], w[mlp + 3]);
    const torch::Tensor gelu = 0.5 * inner * (1 + torch::erf(inner / std::sqrt(2.0)));
    x = x + affine(gelu, w[mlp + 4], w[mlp + 5]);
  }
  const torch::Tensor logits =
      torch::matmul(normed(x, weights.back()[0], weights.back()[1]), weights.back()[2].t());
  const torch::Tensor log_p = logits.log_softmax(-1).view({-1, model.vocabulary});
  const torch::Tensor flat = targets.reshape({-1});
  const torch::Tensor counting = flat.ge(0).nonzero().view({-1});
  return -log_p.index_select(0, counting)
              .gather(1, flat.index_select(0, counting).unsqueeze(1))
              .sum();
}

std::unique_ptr<torch::optim::Optimizer> optimizer_of(const RankSetup& setup,
                                                      std::vector<torch::Tensor> decayed,
                                                      std::vector<torch::Tensor> others) {
  const TrainingOptions& o = setup.options;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  for (auto* parameters : {&decayed, &others}) {
    const double decay = parameters == &decayed ? o.weight_decay : 0.0;
    std::unique_ptr<torch::optim::OptimizerOptions> options;
    if (setup.model.optimizer == OptimizerKind::kAdamW) {
      options =
          std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(o.learning_rate)
                                                           .betas({o.beta1, o.beta2})
                                                           .eps(o.epsilon)
                                                           .weight_decay(decay));
    } else {
      options = std::make_unique<torch::optim::SGDOptions>(
          torch::optim::SGDOptions(o.learning_rate).momentum(o.momentum).weight_decay(decay));
    }
    groups.emplace_back(std::move(*parameters), std::move(options));
  }
  if (setup.model.optimizer == OptimizerKind::kAdamW) {
    return std::make_unique<torch::optim::AdamW>(std::move(groups),
                                                 torch::optim::AdamWOptions(o.learning_rate));
  }
  return std::make_unique<torch::optim::SGD>(std::move(groups),
                                             torch::optim::SGDOptions(o.learning_rate));
}

torch::Tensor rows(const std::vector<std::vector<std::int64_t>>& samples) {
  std::vector<torch::Tensor> all;
  for (const auto& sample : samples) all.push_back(torch::tensor(sample, torch::kLong));
  return torch::stack(all);
}

// Of all samples, each by itself where they differ in length: the mean over the targets that count.
torch::Tensor mean_loss(const ModelDescription& model, const Weights& weights,
                        const std::vector<std::vector<std::int64_t>>& inputs,
                        const std::vector<std::vector<std::int64_t>>& targets, bool one_by_one) {
  std::int64_t counting = 0;
  for (const auto& sample : targets) {
    counting +=
        std::count_if(sample.begin(), sample.end(), [](std::int64_t id) { return id >= 0; });
  }
  torch::Tensor sum;
  if (!one_by_one) sum = loss_of(model, weights, rows(inputs), rows(targets));
  for (std::size_t i = 0; one_by_one && i < inputs.size(); ++i) {
    const torch::Tensor loss = loss_of(model, weights, rows({inputs[i]}), rows({targets[i]}));
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum / counting;
}

}  // namespace

ReferenceRun reference_training(const RankSetup& setup, const TokenSource& data, int steps,
                                const std::function<int(int step)>& samples_of) {
  const ModelOutline outline = built_in_outline(setup.model);
  Weights weights = initial_weights(setup, outline);
  std::vector<torch::Tensor> decayed, others;
  for (std::size_t s = 0; s < weights.size(); ++s) {
    for (std::size_t p = 0; p < weights[s].size(); ++p) {
      if (!is_again(outline, s, p))
        (weights[s][p].dim() > 1 ? decayed : others).push_back(weights[s][p]);
    }
  }
  std::vector<torch::Tensor> all = decayed;
  all.insert(all.end(), others.begin(), others.end());
  const auto optimizer = optimizer_of(setup, decayed, others);
  ReferenceRun run;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<std::int64_t>> inputs, targets;
    const int samples = samples_of ? samples_of(step) : setup.global_batch;
    for (int i = 0; i < samples; ++i) {
      const TokenSample sample = data.sample(setup.model, {setup.options.seed, step, i});
      inputs.push_back(sample.inputs);
      targets.push_back(sample.targets);
    }
    for (auto& group : optimizer->param_groups()) {
      group.options().set_lr(learning_rate_at(setup.options, step));
    }
    optimizer->zero_grad();
    const torch::Tensor loss =
        mean_loss(setup.model, weights, inputs, targets, static_cast<bool>(samples_of));
    loss.backward();
    const double clip = setup.options.clip_norm > 0.0 ? setup.options.clip_norm : 1e30;
    run.gradient_norms.push_back(torch::nn::utils::clip_grad_norm_(all, clip));
    optimizer->step();
    run.losses.push_back(loss.item<double>());
  }
  for (const auto& section : weights) {
    auto& stored = run.weights.emplace_back();
    for (const torch::Tensor& weight : section) {
      const torch::Tensor values = weight.detach().to(torch::kDouble).contiguous();
      stored.emplace_back(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
    }
  }
  return run;
}

}  // namespace penstock::testing
