#include "training/token_source.h"

#include <algorithm>
#include <cstddef>

#include "training/mixed_bits.h"

namespace penstock {
namespace {

// Behind the 256 bytes where the vocabulary has room, else the byte 0, which texts do not use.
std::int64_t mask_token(const ModelDescription& model) { return model.vocabulary > 256 ? 256 : 0; }

constexpr double kMaskedShare = 0.15;  // Devlin et al., arXiv:1810.04805, section 3.1

// What the draw is for; ByteData draws offsets with 1.
constexpr std::uint64_t kDrawOfMask = 2;

}  // namespace

bool Pixels::operator==(const Pixels& other) const {
  return type == other.type && std::ranges::equal(bytes, other.bytes);
}

bool is_masked(const SampleId& id, int position) {
  return unit_interval(mixed_bits({id.seed, static_cast<std::uint64_t>(id.step),
                                   static_cast<std::uint64_t>(id.sample), kDrawOfMask,
                                   static_cast<std::uint64_t>(position)})) < kMaskedShare;
}

TokenSample sample_of(const ModelDescription& model, const SampleId& id,
                      std::span<const std::int64_t> tokens) {
  const std::span<const std::int64_t> inputs = tokens.first(tokens.size() - 1);
  if (model.family != ModelFamily::kBert) {
    const std::span<const std::int64_t> next = tokens.subspan(1);
    return {{inputs.begin(), inputs.end()}, {next.begin(), next.end()}};
  }
  TokenSample sample;
  sample.inputs.reserve(inputs.size());
  sample.targets.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool masked = is_masked(id, static_cast<int>(i));
    sample.inputs.push_back(masked ? mask_token(model) : inputs[i]);
    sample.targets.push_back(masked ? inputs[i] : kNoTarget);
  }
  return sample;
}

std::int64_t TokenSource::targets_of_step(const ModelDescription& model, std::uint64_t seed,
                                          std::int64_t step, int global_batch,
                                          int sequence_length) const {
  return loss_tokens(model, seed, step, global_batch, sequence_length);
}

std::int64_t loss_tokens(const ModelDescription& model, std::uint64_t seed, std::int64_t step,
                         int global_batch, int sequence_length) {
  if (model.family != ModelFamily::kBert) {
    return std::int64_t{global_batch} * sequence_length;
  }
  std::int64_t count = 0;
  for (int s = 0; s < global_batch; ++s) {
    for (int i = 0; i < sequence_length; ++i) count += is_masked({seed, step, s}, i) ? 1 : 0;
  }
  return count;
}

}  // namespace penstock
