// Sizes are checked first, then the sections are listed: embedding, blocks, head; of t5 those of
// the encoder, then those of the decoder. Initial weights are uniform with the standard deviation
// of GPT-2's normal ones, since a uniform number is the same on every machine.
#include "training/model_outline.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/values/error.h"
#include "training/relative_bucket.h"

namespace penstock {
namespace {

// The spread of GPT-2's initial weights, a standard deviation of 0.02, as that of a uniform
// distribution: a uniform number is the same on every machine, a normal one hangs on its libm.
const double kSpread = 0.02 * std::sqrt(3.0);

void check(bool holds, const std::string& what, int value, const std::string& remedy) {
  if (!holds) {
    throw_bad_input("model description: " + what + " is " + std::to_string(value) + "; " + remedy);
  }
}

void check_sizes(const ModelDescription& d) {
  check(d.layers >= 0, "layers", d.layers, "expected at least 0");
  check(d.hidden >= 1, "hidden", d.hidden, "expected at least 1");
  check(d.feed_forward >= 1, "feed_forward", d.feed_forward, "expected at least 1");
  check(d.vocabulary >= 256, "vocabulary", d.vocabulary, "expected at least 256: tokens are bytes");
  check(d.positions >= 1, "positions", d.positions, "expected at least 1");
  if (d.family == ModelFamily::kMlp) return;
  if (d.family == ModelFamily::kT5) {
    check(d.decoder_layers >= 1, "decoder_layers", d.decoder_layers, "expected at least 1");
  }
  check(d.heads >= 1 && d.hidden % d.heads == 0, "heads", d.heads,
        "expected a divisor of hidden, " + std::to_string(d.hidden));
}

ParameterOutline matrix(std::string name, std::int64_t rows, std::int64_t columns, double spread) {
  return {std::move(name), {rows, columns}, 0.0, spread};
}
ParameterOutline vector_of(std::string name, std::int64_t size, double value) {
  return {std::move(name), {size}, value, 0.0};
}

void add_norm(SectionOutline& section, const std::string& name, int size) {
  section.parameters.push_back(vector_of(name + ".weight", size, 1.0));
  section.parameters.push_back(vector_of(name + ".bias", size, 0.0));
}
void add_linear(SectionOutline& section, const std::string& name, int outputs, int inputs,
                double spread) {
  section.parameters.push_back(matrix(name + ".weight", outputs, inputs, spread));
  section.parameters.push_back(vector_of(name + ".bias", outputs, 0.0));
}

SectionOutline embedding(const ModelDescription& d) {
  return {"embedding",
          "embedding",
          {matrix("token.weight", d.vocabulary, d.hidden, kSpread),
           matrix("position.weight", d.positions, d.hidden, kSpread)},
          {}};
}

// The order of parameters is that in which built_in_sections.cc uses them.
SectionOutline block(const ModelDescription& d, int index) {
  SectionOutline section{"block." + std::to_string(index), "block", {}, {}};
  // What is added to the residual stream is scaled down by its number of additions (GPT-2).
  const double residual = kSpread / std::sqrt(2.0 * d.layers);
  if (d.family != ModelFamily::kMlp) {
    add_norm(section, "attention_norm", d.hidden);
    add_linear(section, "attention.qkv", 3 * d.hidden, d.hidden, kSpread);
    add_linear(section, "attention.out", d.hidden, d.hidden, residual);
  }
  add_norm(section, "mlp_norm", d.hidden);
  add_linear(section, "mlp.up", d.feed_forward, d.hidden, kSpread);
  add_linear(section, "mlp.down", d.hidden, d.feed_forward, residual);
  return section;
}

SectionOutline head(const ModelDescription& d) {
  SectionOutline section{"head", "head", {}, {}};
  add_norm(section, "norm", d.hidden);
  section.parameters.push_back(matrix("weight", d.vocabulary, d.hidden, kSpread));
  return section;
}

// T5 (arXiv 1910.10683): norms that only scale, no biases, and a bias for how far a key is away,
// which all blocks of a half share.
class T5Outline {
 public:
  explicit T5Outline(const ModelDescription& d)
      : d_(d), residual_(kSpread / std::sqrt(2.0 * d.layers + 3.0 * d.decoder_layers)) {}

  ModelOutline build() {
    begin("encoder.embedding", "encoder_embedding");
    add("token.weight", d_.vocabulary, d_.hidden, kSpread, &tokens_);
    for (int i = 0; i < d_.layers; ++i) {
      begin("encoder.block." + std::to_string(i), "encoder_block");
      add_attention(&encoder_bias_);
      add_perceptron();
    }
    begin("decoder.embedding", "decoder_embedding");
    add_norm("encoder_norm.weight");
    add("token.weight", d_.vocabulary, d_.hidden, kSpread, &tokens_);
    for (int i = 0; i < d_.decoder_layers; ++i) {
      // The last hands on no more than the head reads.
      const bool is_last = i + 1 == d_.decoder_layers;
      begin("decoder.block." + std::to_string(i), is_last ? "decoder_end" : "decoder_block");
      add_attention(&decoder_bias_);
      add_norm("cross_norm.weight");
      add("cross.q.weight", d_.hidden, d_.hidden, kSpread);
      add("cross.kv.weight", 2 * d_.hidden, d_.hidden, kSpread);
      add("cross.out.weight", d_.hidden, d_.hidden, residual_);
      add_perceptron();
    }
    begin("head", "decoder_head");
    add_norm("norm.weight");
    add("weight", d_.vocabulary, d_.hidden, kSpread, &tokens_);
    if (d_.tied_embedding) outline_.ties.push_back(tokens_);
    for (const TieOutline* bias : {&encoder_bias_, &decoder_bias_}) {
      if (bias->sections.size() > 1) outline_.ties.push_back(*bias);
    }
    return std::move(outline_);
  }

 private:
  void begin(std::string name, std::string type) {
    outline_.sections.push_back({std::move(name), std::move(type), {}, {}});
  }
  // `tie`: the section's tensor is one of those.
  void add(std::string name, int rows, int columns, double spread, TieOutline* tie = nullptr) {
    auto& parameters = outline_.sections.back().parameters;
    if (tie != nullptr) {
      tie->sections.push_back(static_cast<int>(outline_.sections.size()) - 1);
      tie->parameters.push_back(static_cast<int>(parameters.size()));
    }
    parameters.push_back(matrix(std::move(name), rows, columns, spread));
  }
  void add_norm(std::string name) {
    outline_.sections.back().parameters.push_back(vector_of(std::move(name), d_.hidden, 1.0));
  }
  void add_attention(TieOutline* bias) {
    add_norm("attention_norm.weight");
    add("attention.qkv.weight", 3 * d_.hidden, d_.hidden, kSpread);
    add("attention.out.weight", d_.hidden, d_.hidden, residual_);
    add("relative_bias.weight", kRelativeBuckets, d_.heads, kSpread, bias);
  }
  void add_perceptron() {
    add_norm("mlp_norm.weight");
    add("mlp.up.weight", d_.feed_forward, d_.hidden, kSpread);
    add("mlp.down.weight", d_.hidden, d_.feed_forward, residual_);
  }

  const ModelDescription& d_;
  const double residual_;
  ModelOutline outline_;
  TieOutline tokens_{"embedding", {}, {}};
  TieOutline encoder_bias_{"encoder.relative_bias", {}, {}};
  TieOutline decoder_bias_{"decoder.relative_bias", {}, {}};
};

}  // namespace

std::int64_t ParameterOutline::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

namespace {

std::int64_t sum_of(const std::vector<ParameterOutline>& parameters, bool frozen) {
  std::int64_t sum = 0;
  for (const ParameterOutline& parameter : parameters) {
    if (parameter.frozen == frozen) sum += parameter.count();
  }
  return sum;
}

}  // namespace

std::int64_t SectionOutline::parameter_count() const { return sum_of(parameters, false); }
std::int64_t SectionOutline::frozen_count() const { return sum_of(parameters, true); }

std::int64_t SectionOutline::buffer_bytes() const {
  std::int64_t sum = 0;
  for (const BufferOutline& buffer : buffers) {
    sum += buffer.count() * static_cast<std::int64_t>(bytes_of(buffer.type));
  }
  return sum;
}

std::int64_t BufferOutline::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t ModelOutline::tied_parameter_count(const TieOutline& tie) const {
  return sections[static_cast<std::size_t>(tie.sections[0])]
      .parameters[static_cast<std::size_t>(tie.parameters[0])]
      .count();
}

bool knows_decoder(const std::string& section_type) { return section_type.starts_with("decoder_"); }

ModelOutline built_in_outline(const ModelDescription& d) {
  if (d.family == ModelFamily::kTorchScript) {
    throw Error(ErrorKind::kInternal, "the outline of an archive is read from the archive");
  }
  check_sizes(d);
  if (d.family == ModelFamily::kT5) return T5Outline(d).build();
  ModelOutline outline;
  outline.sections.reserve(static_cast<std::size_t>(d.layers) + 2);
  outline.sections.push_back(embedding(d));
  for (int i = 0; i < d.layers; ++i) outline.sections.push_back(block(d, i));
  outline.sections.push_back(head(d));
  if (d.tied_embedding) {
    const int last = static_cast<int>(outline.sections.size()) - 1;
    outline.ties.push_back({"embedding", {0, last}, {0, 2}});
  }
  return outline;
}

}  // namespace penstock
