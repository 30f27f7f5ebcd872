#include "tests/training/torch/reference_t5.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace penstock::testing {
namespace {

using torch::Tensor;
using Weights = std::vector<Tensor>;

Tensor normed(const Tensor& x, const Tensor& weight) {
  return x / (x.pow(2).mean(-1, true) + 1e-6).sqrt() * weight;
}

// T5's table of 32 buckets: 16 for each way where both count, else 32 for what is behind.
std::int64_t bucket_of(std::int64_t distance, bool both_ways) {
  std::int64_t first = 0, buckets = 32;
  if (both_ways) {
    buckets = 16;
    if (distance > 0) first = 16;
    distance = std::abs(distance);
  } else {
    distance = distance > 0 ? 0 : -distance;
  }
  const std::int64_t near = buckets / 2;
  if (distance < near) return first + distance;
  const double octaves = std::log(static_cast<double>(distance) / static_cast<double>(near)) /
                         std::log(128.0 / static_cast<double>(near));
  return first + std::min<std::int64_t>(buckets - 1,
                                        near + static_cast<std::int64_t>(
                                                   octaves * static_cast<double>(buckets - near)));
}

// [queries, keys] of one head.
Tensor bias_of(const Tensor& table, std::int64_t head, std::int64_t tokens, bool both_ways) {
  std::vector<std::int64_t> by_distance, buckets;
  for (std::int64_t distance = 1 - tokens; distance < tokens; ++distance) {
    by_distance.push_back(bucket_of(distance, both_ways));
  }
  for (std::int64_t q = 0; q < tokens; ++q) {
    const auto first = by_distance.begin() + (tokens - 1 - q);  // of key 0
    buckets.insert(buckets.end(), first, first + tokens);
  }
  return table.index_select(0, torch::tensor(buckets, torch::kLong))
      .select(1, head)
      .view({tokens, tokens});
}

// Of one sample: [tokens, width]; `table` undefined: no bias, every key is seen.
Tensor attended(const ModelDescription& model, const Tensor& q, const Tensor& k, const Tensor& v,
                const Tensor& out, const Tensor& table, bool both_ways) {
  const std::int64_t width = model.hidden / model.heads;
  std::vector<Tensor> heads;
  for (std::int64_t h = 0; h < model.heads; ++h) {
    const auto of_head = [&](const Tensor& x) { return x.narrow(1, h * width, width); };
    Tensor scores = torch::matmul(of_head(q), of_head(k).t());
    if (table.defined()) {
      scores = scores + bias_of(table, h, q.size(0), both_ways);
      if (!both_ways) {
        scores =
            scores.masked_fill(torch::ones({q.size(0), k.size(0)}, torch::kBool).triu(1), -1e30);
      }
    }
    heads.push_back(torch::matmul(scores.softmax(-1), of_head(v)));
  }
  return torch::matmul(torch::cat(heads, 1), out.t());
}

Tensor self(const ModelDescription& model, const Tensor& x, const Weights& w, bool both_ways) {
  const Tensor qkv = torch::matmul(normed(x, w[0]), w[1].t());
  const auto part = [&](std::int64_t i) { return qkv.narrow(1, i * model.hidden, model.hidden); };
  return x + attended(model, part(0), part(1), part(2), w[2], w[3], both_ways);
}

Tensor perceptron(const Tensor& x, const Tensor& norm, const Tensor& up, const Tensor& down) {
  return x + torch::matmul(torch::relu(torch::matmul(normed(x, norm), up.t())), down.t());
}

Tensor one_sample(const ModelDescription& model, const std::vector<Weights>& weights,
                  const Tensor& tokens, const Tensor& targets) {
  std::size_t section = 0;
  Tensor x = weights[section++][0].index_select(0, tokens);
  for (int i = 0; i < model.layers; ++i) {
    const Weights& w = weights[section++];
    x = perceptron(self(model, x, w, true), w[4], w[5], w[6]);
  }
  const Tensor seen = normed(x, weights[section][0]);
  // What comes before each target.
  const Tensor said =
      torch::cat({torch::zeros({1}, torch::kLong), targets.narrow(0, 0, targets.size(0) - 1)});
  x = weights[section++][1].index_select(0, said);
  for (int i = 0; i < model.decoder_layers; ++i) {
    const Weights& w = weights[section++];
    x = self(model, x, w, false);
    const Tensor q = torch::matmul(normed(x, w[4]), w[5].t());
    const Tensor kv = torch::matmul(seen, w[6].t());
    x = x + attended(model, q, kv.narrow(1, 0, model.hidden),
                     kv.narrow(1, model.hidden, model.hidden), w[7], {}, true);
    x = perceptron(x, w[8], w[9], w[10]);
  }
  x = normed(x, weights[section][0]);
  if (model.tied_embedding) x = x / std::sqrt(static_cast<double>(model.hidden));
  const Tensor log_p = torch::matmul(x, weights[section][1].t()).log_softmax(-1);
  return -log_p.gather(1, targets.unsqueeze(1)).sum();
}

}  // namespace

torch::Tensor t5_loss(const ModelDescription& model,
                      const std::vector<std::vector<torch::Tensor>>& weights,
                      const torch::Tensor& tokens, const torch::Tensor& targets) {
  torch::Tensor sum;
  for (std::int64_t i = 0; i < tokens.size(0); ++i) {
    const torch::Tensor loss = one_sample(model, weights, tokens[i], targets[i]);
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

}  // namespace penstock::testing
