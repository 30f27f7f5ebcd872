// Sizes are checked first, then the sections are listed: embedding, blocks, head. Initial weights
// are uniform with the standard deviation of GPT-2's normal ones, since a uniform number is the
// same on every machine.
#include "training/model_outline.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "core/values/error.h"

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

ModelOutline built_in_outline(const ModelDescription& d) {
  if (d.family == ModelFamily::kTorchScript) {
    throw Error(ErrorKind::kInternal, "the outline of an archive is read from the archive");
  }
  check_sizes(d);
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
