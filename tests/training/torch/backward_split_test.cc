#include "training/torch/backward_split.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "training/torch/cpu_device.h"

namespace penstock {
namespace {

using Weights = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const at::Tensor&, const Weights&)>;

at::Tensor leaf(at::IntArrayRef shape) {
  return at::randn(shape, at::kDouble).set_requires_grad(true);
}

struct Gradients {
  at::Tensor input;
  std::map<std::size_t, at::Tensor> weights;
  GradientSink sink() {
    return [this](std::size_t w, const at::Tensor& gradient) {
      at::Tensor& sum = weights[w];
      sum = sum.defined() ? sum + gradient : gradient.clone();
    };
  }
};

double distance(const Gradients& a, const Gradients& b) {
  if (a.weights.size() != b.weights.size()) return 1e300;
  double worst = a.input.defined() ? (a.input - b.input).abs().max().item<double>() : 0.0;
  for (const auto& [w, gradient] : a.weights) {
    if (b.weights.count(w) == 0) return 1e300;
    worst = std::max(worst, (gradient - b.weights.at(w)).abs().max().item<double>());
  }
  return worst;
}

struct Compared {
  double error = 0.0;
  std::string not_split;
};
// The gradients of a function by B, and by I with W after it.
Compared compare(const Function& function, const at::Tensor& input, const Weights& weights) {
  at::manual_seed(7);
  Gradients fused, split;
  const at::Tensor gradient = at::randn_like(function(input, weights)).detach();
  const bool has_gradient = input.requires_grad();
  const auto graph = [&] {
    return forward_graph(has_gradient ? Weights{input} : Weights{}, {function(input, weights)},
                         weights);
  };
  const auto first = [](const std::vector<at::Tensor>& gradients) {
    return gradients.empty() ? at::Tensor() : gradients[0];
  };
  fused.input = first(fused_backward(graph(), {gradient}, fused.sink()));
  SplitBackward backward = input_backward(graph(), {gradient}, split.sink());
  split.input = first(backward.input_gradients);
  CHECK(split.weights.empty() == (backward.not_split.empty() || weights.empty()));  // all in W
  if (!backward.not_split.empty()) CHECK(backward.weights.empty());
  backward.weights.run(split.sink());
  CHECK(backward.weights.empty());
  return {distance(fused, split), backward.not_split};
}

TEST_CASE("a perceptron's gradients are the same by I and W as by B, to the bit") {
  at::manual_seed(1);
  const Compared result = compare(
      [](const at::Tensor& x, const Weights& w) {
        return at::linear(at::gelu(at::linear(x, w[0], w[1])), w[2], w[3]) + x;
      },
      leaf({4, 8}), {leaf({16, 8}), leaf({16}), leaf({8, 16}), leaf({8})});
  CHECK(result.not_split == "");
  CHECK(result.error == 0.0);
}

TEST_CASE("two biases before a weight that they share are one group") {
  // y = (x + a) w + (gelu(x) + b) w: a and b each meet w, so the three belong together. The
  // original joins w with one of them only.
  at::manual_seed(2);
  const Compared result = compare(
      [](const at::Tensor& x, const Weights& w) {
        return at::matmul(x, w[0] * w[2]) + at::matmul(at::gelu(x), w[1] * w[2]);
      },
      leaf({4, 8}), {leaf({8, 8}), leaf({8, 8}), leaf({8, 8})});
  CHECK(result.not_split == "");
  CHECK(result.error == 0.0);
}

TEST_CASE("one weight in two parallel places is split; one behind the other is not") {
  at::manual_seed(3);
  const Compared parallel =
      compare([](const at::Tensor& x,
                 const Weights& w) { return at::linear(x, w[0]) + at::linear(at::gelu(x), w[0]); },
              leaf({4, 8}), {leaf({8, 8})});
  CHECK(parallel.not_split == "");
  CHECK(parallel.error <= 1e-12);
  // linear(gelu(linear(x, w)), w): W would count the gradient of the first use twice.
  const Compared behind =
      compare([](const at::Tensor& x,
                 const Weights& w) { return at::linear(at::gelu(at::linear(x, w[0])), w[0]); },
              leaf({4, 8}), {leaf({8, 8})});
  CHECK(behind.not_split == "a weight is used twice, one use after the other");
  CHECK(behind.error == 0.0);
}

TEST_CASE(
    "a weight that is not on the way to the input is not split; an unused one has no gradient") {
  at::manual_seed(4);
  const Compared unused =
      compare([](const at::Tensor& x, const Weights& w) { return at::linear(x, w[0]); },
              leaf({4, 8}), {leaf({8, 8}), leaf({3})});
  CHECK(unused.not_split == "");
  CHECK(unused.error == 0.0);
  const Compared apart = compare(
      [](const at::Tensor& x, const Weights& w) {
        return at::cat({at::linear(x, w[0]), at::gelu(w[1])}, 0);
      },
      leaf({4, 8}), {leaf({8, 8}), leaf({2, 8})});
  CHECK(apart.error == 0.0);
}

TEST_CASE("where token ids come in there is no input gradient, and all gradients come in W") {
  at::manual_seed(5);
  const at::Tensor tokens = at::randint(10, {2, 6}, at::kLong);
  const Compared result =
      compare([](const at::Tensor& x, const Weights& w) { return at::embedding(w[0], x) + w[1]; },
              tokens, {leaf({10, 4}), leaf({6, 4})});
  CHECK(result.not_split == "");
  CHECK(result.error == 0.0);
}

// A layer with its weights appended to `weights`.
Function random_layer(std::mt19937& random, Weights& weights, std::int64_t width) {
  const std::size_t at = weights.size();
  switch (random() % 6) {
    case 0:
      weights.push_back(leaf({width, width}));
      weights.push_back(leaf({width}));
      return
          [at](const at::Tensor& x, const Weights& w) { return at::linear(x, w[at], w[at + 1]); };
    case 1:
      weights.push_back(leaf({width}));
      weights.push_back(leaf({width}));
      return [at, width](const at::Tensor& x, const Weights& w) {
        return at::layer_norm(x, {width}, w[at], w[at + 1]);
      };
    case 2:
      return [](const at::Tensor& x, const Weights&) { return at::gelu(x); };
    case 3:
      weights.push_back(leaf({width}));
      return [at](const at::Tensor& x, const Weights& w) { return x * w[at] + x; };
    case 4:
      weights.push_back(leaf({3 * width, width}));
      return [at](const at::Tensor& x, const Weights& w) {
        const auto parts = at::linear(x, w[at]).chunk(3, -1);
        return at::matmul(at::softmax(at::matmul(parts[0], parts[1].transpose(0, 1)), -1),
                          parts[2]);
      };
    default:
      weights.push_back(leaf({width, width}));
      return [at](const at::Tensor& x, const Weights& w) {
        return x + at::linear(at::tanh(at::linear(x, w[at])), w[at].transpose(0, 1) * 2);
      };
  }
}

TEST_CASE("random chains of layers, some with weights used twice: I and W give what B gives") {
  std::mt19937 random(11);
  at::manual_seed(11);
  int split = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Weights weights;
    std::vector<Function> layers;
    const auto count = 1 + random() % 6;
    for (std::size_t i = 0; i < count; ++i) layers.push_back(random_layer(random, weights, 6));
    const Compared result = compare(
        [&](const at::Tensor& x, const Weights& w) {
          at::Tensor y = x;
          for (const Function& layer : layers) y = layer(y, w);
          return y;
        },
        leaf({5, 6}), weights);
    CHECK(result.error <= 1e-12);
    if (result.not_split.empty()) ++split;
  }
  CHECK(split >= 20);
  CHECK(split < 60);
}

TEST_CASE("between I and W only what W needs is held") {
  // y = gelu(gelu(x w)): F saves x and w (weights are not counted), x w and gelu(x w). W needs x,
  // and the gradient that arrives at x w.
  const auto device = make_cpu_device();
  constexpr std::int64_t kRows = 1000, kWidth = 10, kTensor = 8 * kRows * kWidth;
  const Weights weights{leaf({kWidth, kWidth})};
  const Function function = [](const at::Tensor& x, const Weights& w) {
    return at::gelu(at::gelu(at::linear(x, w[0])));
  };
  const std::int64_t fixed = device->held_memory().count;
  at::Tensor input = leaf({kRows, kWidth});
  at::Tensor gradient = at::randn({kRows, kWidth}, at::kDouble);
  at::Tensor output = function(input, weights);
  ForwardGraph graph = forward_graph({input}, {output}, weights);
  const auto held = [&] { return device->held_memory().count - fixed; };
  CHECK(held() == 5 * kTensor);  // x, its gradient's source, x w, gelu(x w), y
  output.reset();
  CHECK(held() == 4 * kTensor);  // only the graph keeps a place of y

  const GradientSink ignore = [](std::size_t, const at::Tensor&) {};
  SplitBackward backward = input_backward(std::move(graph), {gradient}, ignore);
  gradient.reset();
  input.reset();
  CHECK(backward.not_split == "");
  // x, what arrived at x w, and the gradient of x.
  CHECK(held() == 3 * kTensor);
  backward.input_gradients.clear();
  CHECK(held() == 2 * kTensor);
  backward.weights.run(ignore);
  CHECK(held() == 0);
}

// One weight makes what is handed on of the input, and what is handed on beside it.
TEST_CASE("a weight that reaches an output beside the path is not split") {
  at::manual_seed(9);
  const Weights weights{leaf({8, 8})};
  const at::Tensor input = leaf({4, 8});
  const auto outputs = [&] {
    return std::vector<at::Tensor>{at::linear(input, weights[0]), at::tanh(weights[0])};
  };
  const std::vector<at::Tensor> gradients{at::randn({4, 8}, at::kDouble),
                                          at::randn({8, 8}, at::kDouble)};
  Gradients fused, split;
  fused.input =
      fused_backward(forward_graph({input}, outputs(), weights), gradients, fused.sink())[0];
  SplitBackward backward =
      input_backward(forward_graph({input}, outputs(), weights), gradients, split.sink());
  split.input = backward.input_gradients[0];
  backward.weights.run(split.sink());
  CHECK(backward.not_split == "a weight reaches an output beside the path to the input");
  CHECK(distance(fused, split) == 0.0);
}

}  // namespace
}  // namespace penstock
