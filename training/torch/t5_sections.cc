// T5 (arXiv 1910.10683): blocks that add to a residual stream, norms that only scale, scores that
// are not divided by the width but have a bias for the distance of query and key.
//
// The sections of the encoder know one length, those of the decoder both: what the encoder made
// comes first in what they are handed, and goes on untouched to the last block. A token id below 0
// is padding; nobody attends to it, so a sample's results do not depend on what it shares a
// micro-batch with. The order of parameters is that of model_outline.cc.
#include "training/torch/t5_sections.h"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/relative_bucket.h"
#include "training/torch/built_in_section.h"

namespace penstock {
namespace {

constexpr double kNormEpsilon = 1e-6;

class T5Section : public BuiltInSection {
 public:
  using BuiltInSection::BuiltInSection;

 protected:
  [[nodiscard]] at::Tensor norm(const at::Tensor& x, std::size_t weight) const {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + kNormEpsilon) * weights_[weight];
  }
  [[nodiscard]] at::Tensor linear(const at::Tensor& x, std::size_t weight) const {
    return at::linear(x, weights_[weight]);
  }
  [[nodiscard]] at::Tensor words(const at::Tensor& ids, std::size_t weight) const {
    return at::embedding(weights_[weight], ids.clamp_min(0));
  }
  [[nodiscard]] at::Tensor perceptron(const at::Tensor& x, std::size_t first) const {
    return linear(at::relu(linear(norm(x, first), first + 1)), first + 2);
  }

  // Of `parts` projections side by side: [part][samples, heads, tokens, width of a head].
  [[nodiscard]] at::Tensor heads_of(const at::Tensor& x, int parts) const {
    const std::int64_t heads = description_.heads;
    return x.view({x.size(0), x.size(1), parts, heads, description_.hidden / heads})
        .permute({2, 0, 3, 1, 4});
  }
  // `scores` are told apart from those that do not count by -infinity.
  [[nodiscard]] at::Tensor mixed(const at::Tensor& scores, const at::Tensor& values) const {
    const at::Tensor y = at::matmul(at::softmax(scores, -1), values);
    return y.transpose(1, 2).reshape({y.size(0), y.size(2), description_.hidden});
  }

  // Norm, projections, result and bias are four weights from `first` on.
  [[nodiscard]] at::Tensor attended(const at::Tensor& x, std::size_t first, bool both_ways,
                                    const at::Tensor& hidden) const {
    const at::Tensor qkv = heads_of(linear(norm(x, first), first + 1), 3);
    const at::Tensor scores =
        (at::matmul(qkv[0], qkv[1].transpose(2, 3)) + bias(x.size(1), first + 3, both_ways))
            .masked_fill(hidden, -std::numeric_limits<double>::infinity());
    return linear(mixed(scores, qkv[2]), first + 2);
  }

  // [1, heads, queries, keys]: a row of the table for every distance, and of these for query q the
  // run that begins at distance -q.
  [[nodiscard]] at::Tensor bias(std::int64_t tokens, std::size_t weight, bool both_ways) const {
    const int last = static_cast<int>(tokens) - 1;
    at::Tensor buckets = at::empty({2 * tokens - 1}, at::kLong);
    auto* bucket = buckets.data_ptr<std::int64_t>();
    for (int distance = -last; distance <= last; ++distance) {
      *bucket++ = relative_bucket(distance, both_ways);
    }
    const at::Tensor& table = weights_[weight];
    return table.index_select(0, buckets.to(table.device()))
        .t()
        .unfold(1, tokens, 1)
        .flip(1)
        .unsqueeze(0);
  }
};

// [samples, 1, 1, keys]
at::Tensor padding_of(const at::Tensor& ids) { return ids.lt(0).unsqueeze(1).unsqueeze(1); }

class EncoderEmbedding : public T5Section {
 public:
  using T5Section::T5Section;
  Tensors forward(const Tensors& /*handed*/, const Tensors& inputs,
                  std::optional<std::uint64_t> /*draw*/) override {
    return {words(inputs[0], 0)};
  }
};

class EncoderBlock : public T5Section {
 public:
  using T5Section::T5Section;
  Tensors forward(const Tensors& handed, const Tensors& inputs,
                  std::optional<std::uint64_t> /*draw*/) override {
    const at::Tensor x = handed[0] + attended(handed[0], 0, true, padding_of(inputs[0]));
    return {x + perceptron(x, 4)};
  }
};

class DecoderEmbedding : public T5Section {
 public:
  using T5Section::T5Section;
  Tensors forward(const Tensors& handed, const Tensors& inputs,
                  std::optional<std::uint64_t> /*draw*/) override {
    return {norm(handed[0], 0), words(inputs[1], 1)};
  }
};

class DecoderBlock : public T5Section {
 public:
  using T5Section::T5Section;
  Tensors forward(const Tensors& handed, const Tensors& inputs,
                  std::optional<std::uint64_t> /*draw*/) override {
    const at::Tensor& seen = handed[0];
    at::Tensor x = handed[1];
    const auto later = at::ones({x.size(1), x.size(1)}, x.options().dtype(at::kBool)).triu(1);
    x = x + attended(x, 0, false, later);
    x = x + across(x, seen, padding_of(inputs[0]));
    return handed_on(seen, x + perceptron(x, 8));
  }

 protected:
  // The encoder's result, for the blocks behind this one.
  virtual Tensors handed_on(const at::Tensor& seen, const at::Tensor& x) const { return {seen, x}; }

 private:
  [[nodiscard]] at::Tensor across(const at::Tensor& x, const at::Tensor& seen,
                                  const at::Tensor& hidden) const {
    const at::Tensor q = heads_of(linear(norm(x, 4), 5), 1)[0];
    const at::Tensor kv = heads_of(linear(seen, 6), 2);
    const at::Tensor scores = at::matmul(q, kv[0].transpose(2, 3))
                                  .masked_fill(hidden, -std::numeric_limits<double>::infinity());
    return linear(mixed(scores, kv[1]), 7);
  }
};

class LastDecoderBlock : public DecoderBlock {
 public:
  using DecoderBlock::DecoderBlock;

 protected:
  Tensors handed_on(const at::Tensor& /*seen*/, const at::Tensor& x) const override { return {x}; }
};

class DecoderHead : public T5Section {
 public:
  using T5Section::T5Section;
  Tensors forward(const Tensors& handed, const Tensors& /*inputs*/,
                  std::optional<std::uint64_t> /*draw*/) override {
    at::Tensor x = norm(handed[0], 0);
    if (description_.tied_embedding) x = x / std::sqrt(static_cast<double>(description_.hidden));
    return {linear(x, 1)};
  }
};

}  // namespace

std::unique_ptr<SectionModule> t5_section(const ModelDescription& description,
                                          const SectionOutline& outline) {
  const std::size_t parameters = outline.parameters.size();
  if (outline.type == "encoder_embedding") {
    return std::make_unique<EncoderEmbedding>(description, parameters);
  }
  if (outline.type == "encoder_block") {
    return std::make_unique<EncoderBlock>(description, parameters);
  }
  if (outline.type == "decoder_embedding") {
    return std::make_unique<DecoderEmbedding>(description, parameters);
  }
  if (outline.type == "decoder_block") {
    return std::make_unique<DecoderBlock>(description, parameters);
  }
  if (outline.type == "decoder_end") {
    return std::make_unique<LastDecoderBlock>(description, parameters);
  }
  if (outline.type == "decoder_head") {
    return std::make_unique<DecoderHead>(description, parameters);
  }
  throw Error(ErrorKind::kInternal, "no section of type " + outline.type);
}

}  // namespace penstock
