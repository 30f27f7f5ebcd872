// The sections of GPT, of an encoder and of a chain of perceptrons, as functions of their weights,
// which are bound from outside: a section allocates nothing that lasts. The order of parameters is
// that of model_outline.cc. The loss sums over tokens and is weighted by the caller, so that micro-
// batches of different lengths add up to the mean of the batch.

#include "core/values/error.h"
#include "training/token_source.h"
#include "training/torch/built_in_section.h"
#include "training/torch/section_module.h"
#include "training/torch/t5_sections.h"
#include "training/torch/torch_version.h"

namespace penstock {
namespace {

constexpr double kNormEpsilon = 1e-5;

class TextSection : public BuiltInSection {
 public:
  using BuiltInSection::BuiltInSection;

 protected:
  // Of the two parameters from `first` on.
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, std::size_t first) const {
    return at::layer_norm(x, {description_.hidden}, weights_[first], weights_[first + 1],
                          kNormEpsilon);
  }
  [[nodiscard]] at::Tensor linear(const at::Tensor& x, std::size_t first) const {
    return at::linear(x, weights_[first], weights_[first + 1]);
  }
};

class Embedding : public TextSection {
 public:
  using TextSection::TextSection;
  Tensors forward(const Tensors& /*handed*/, const Tensors& inputs,
                  std::optional<std::uint64_t> /*draw*/) override {
    const at::Tensor& tokens = inputs[0];
    // What is below 0 is padding, which no other token attends to.
    return {at::embedding(weights_[0], tokens.clamp_min(0)) +
            weights_[1].narrow(0, 0, tokens.size(1))};
  }
};

class Block : public TextSection {
 public:
  using TextSection::TextSection;
  Tensors forward(const Tensors& handed, const Tensors& /*inputs*/,
                  std::optional<std::uint64_t> /*draw*/) override {
    at::Tensor x = handed[0];
    std::size_t next = 0;
    if (description_.family != ModelFamily::kMlp) {
      x = x + attended(norm(x, 0));
      next = 6;
    }
    return {x + linear(at::gelu(linear(norm(x, next), next + 2)), next + 4)};
  }

 private:
  [[nodiscard]] at::Tensor attended(const at::Tensor& x) const {
    const auto samples = x.size(0), tokens = x.size(1), width = x.size(2);
    const std::int64_t heads = description_.heads;
    const at::Tensor qkv =
        linear(x, 2).view({samples, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const at::Tensor y =
        attention(qkv[0], qkv[1], qkv[2], description_.family == ModelFamily::kGpt);
    return linear(y.transpose(1, 2).reshape({samples, tokens, width}), 4);
  }
};

class Head : public TextSection {
 public:
  using TextSection::TextSection;
  Tensors forward(const Tensors& handed, const Tensors& /*inputs*/,
                  std::optional<std::uint64_t> /*draw*/) override {
    return {at::linear(norm(handed[0], 0), weights_[2])};
  }
};

}  // namespace

std::unique_ptr<SectionModule> built_in_section(const ModelDescription& description,
                                                const SectionOutline& outline) {
  const std::size_t parameters = outline.parameters.size();
  if (description.family == ModelFamily::kT5) return t5_section(description, outline);
  if (outline.type == "embedding") return std::make_unique<Embedding>(description, parameters);
  if (outline.type == "block") return std::make_unique<Block>(description, parameters);
  if (outline.type == "head") return std::make_unique<Head>(description, parameters);
  throw Error(ErrorKind::kInternal, "no section of type " + outline.type);
}

at::Tensor token_loss(const at::Tensor& logits, const at::Tensor& targets, double weight) {
  if (logits.dim() == 0) {  // the mean, worked out by the model itself
    return (logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat)) *
           (weight * static_cast<double>(targets.ne(kNoTarget).sum().item<std::int64_t>()));
  }
  if (logits.numel() / logits.size(-1) != targets.numel()) {
    throw_bad_input(
        "the model's result, " + c10::str(logits.sizes()) +
        ", is neither a loss nor fits the targets " + c10::str(targets.sizes()) +
        "; return logits [samples, tokens, vocabulary], of images [samples, classes], or "
        "let forward take the targets, too, and return the mean loss");
  }
  // On a GPU a look at them would wait for it; what is wrong there ends the run without this
  // reason.
  if (targets.is_cpu() && targets.numel() > 0) {
    const auto largest = targets.max().item<std::int64_t>();
    if (largest >= logits.size(-1)) {
      throw_bad_input(
          "a target is " + std::to_string(largest) + ", and the model's result has " +
          std::to_string(logits.size(-1)) +
          " classes, numbered from 0\nhelp: are these the labels or tokens of this model?");
    }
  }
  at::Tensor rows = logits.reshape({-1, logits.size(-1)});
  if (rows.scalar_type() != at::kDouble) rows = rows.to(at::kFloat);
  return at::cross_entropy_loss(rows, targets.reshape({-1}), {}, at::Reduction::Sum, kNoTarget) *
         weight;
}

}  // namespace penstock
