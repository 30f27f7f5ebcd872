#include "tests/runtime_bridge/ring_model.h"

#include "tests/runtime_bridge/ring_arithmetic.h"

namespace penstock::testing {
namespace {

// What every section multiplies its input by.
Numbers factors_of(const RingModel& model, const RingWeights& weights) {
  Numbers factors(weights.sections.size());
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const Numbers& own = weights.sections[k];
    for (std::size_t j = 0; j < own.size(); ++j) {
      add(factors[k], times(static_cast<std::int64_t>(j) + 1, own[j]));
    }
  }
  for (std::size_t t = 0; t < model.ties.size(); ++t) {
    for (const int k : model.ties[t].sections) {
      add(factors[static_cast<std::size_t>(k)], weights.ties[t]);
    }
  }
  return factors;
}

std::int64_t product_without(const Numbers& factors, std::size_t k) {
  std::int64_t product = 1;
  for (std::size_t other = 0; other < factors.size(); ++other) {
    if (other != k) product = times(product, factors[other]);
  }
  return product;
}

// `slopes`: of the whole loss by each section's factor.
RingWeights gradients_of(const RingModel& model, const RingWeights& weights,
                         const Numbers& slopes) {
  RingWeights gradients = weights;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    Numbers& own = gradients.sections[k];
    for (std::size_t j = 0; j < own.size(); ++j) {
      own[j] = times(static_cast<std::int64_t>(j) + 1, slopes[k]);
    }
  }
  for (std::size_t t = 0; t < model.ties.size(); ++t) {
    gradients.ties[t] = 0;
    for (const int k : model.ties[t].sections) {
      add(gradients.ties[t], slopes[static_cast<std::size_t>(k)]);
    }
  }
  return gradients;
}

void update_all(Numbers& weights, const Numbers& gradients, std::int64_t rate) {
  for (std::size_t j = 0; j < weights.size(); ++j) update(weights[j], gradients[j], rate);
}

}  // namespace

RingWeights first_weights(const RingModel& model) {
  RingWeights weights;
  weights.sections.resize(static_cast<std::size_t>(model.sections));
  for (int k = 0; k < model.sections; ++k) {
    Numbers& own = weights.sections[static_cast<std::size_t>(k)];
    for (std::size_t j = 0; j < weights_of_section(k); ++j) {
      own.push_back(3 + 7 * k + static_cast<int>(j));
    }
  }
  for (std::size_t t = 0; t < model.ties.size(); ++t) {
    weights.ties.push_back(5 + static_cast<int>(t));
  }
  return weights;
}

RingStep plain_step(const RingModel& model, const RingWeights& weights, std::int64_t step,
                    int samples, bool normed) {
  const Numbers factors = factors_of(model, weights);
  RingStep result;
  Numbers slopes(factors.size());
  for (int i = 0; i < samples; ++i) {
    const std::int64_t weighted = times(i + 1, sample(step, i));
    std::int64_t y = weighted;
    for (const std::int64_t factor : factors) y = times(y, factor);
    result.all.loss += small_part(y);
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      add(slopes[k], times(weighted, product_without(factors, k)));
    }
  }
  const RingWeights gradients = gradients_of(model, weights, slopes);
  if (normed) {
    for (const Numbers& section : gradients.sections) {
      for (const std::int64_t gradient : section) result.all.squared_norm += squared(gradient);
    }
    for (const std::int64_t gradient : gradients.ties) result.all.squared_norm += squared(gradient);
  }
  const std::int64_t rate = normed ? rate_of(result.all) : 1;
  result.weights = weights;
  for (std::size_t k = 0; k < slopes.size(); ++k) {
    update_all(result.weights.sections[k], gradients.sections[k], rate);
  }
  update_all(result.weights.ties, gradients.ties, rate);
  return result;
}

}  // namespace penstock::testing
