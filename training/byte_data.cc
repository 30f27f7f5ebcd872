#include "training/byte_data.h"

#include <utility>

#include "core/values/error.h"
#include "training/mixed_bits.h"

namespace penstock {
namespace {

// Draws of one sample that have nothing to do with each other.
enum class Draw : std::uint64_t { kOffset = 1, kMask = 2 };

std::uint64_t draw(const SampleId& id, Draw what, std::uint64_t position) {
  return mixed_bits({id.seed, static_cast<std::uint64_t>(id.step),
                     static_cast<std::uint64_t>(id.sample), static_cast<std::uint64_t>(what),
                     position});
}

// Behind the 256 bytes where the vocabulary has room, else the byte 0, which texts do not use.
std::int64_t mask_token(const ModelDescription& model) { return model.vocabulary > 256 ? 256 : 0; }

constexpr double kMaskedShare = 0.15;  // Devlin et al., arXiv:1810.04805, section 3.1

}  // namespace

ByteData::ByteData(std::string text, int sequence_length, const std::string& file)
    : text_(std::move(text)), length_(static_cast<std::size_t>(sequence_length)) {
  if (text_.size() < length_ + 1) {
    throw_bad_input(file + ": holds " + std::to_string(text_.size()) +
                    " bytes; a sample needs sequence length + 1 = " + std::to_string(length_ + 1) +
                    "; give a longer file or shorten the sequence");
  }
}

TokenSample ByteData::sample(const ModelDescription& model, const SampleId& id) const {
  const std::uint64_t offsets = text_.size() - length_;
  const auto offset = static_cast<std::size_t>(draw(id, Draw::kOffset, 0) % offsets);
  TokenSample sample;
  sample.inputs.reserve(length_);
  sample.targets.reserve(length_);
  for (std::size_t i = 0; i < length_; ++i) {
    const auto byte = static_cast<unsigned char>(text_[offset + i]);
    if (model.family != ModelFamily::kBert) {
      sample.inputs.push_back(byte);
      sample.targets.push_back(static_cast<unsigned char>(text_[offset + i + 1]));
    } else {
      const bool masked = is_masked(id, static_cast<int>(i));
      sample.inputs.push_back(masked ? mask_token(model) : byte);
      sample.targets.push_back(masked ? byte : kNoTarget);
    }
  }
  return sample;
}

bool is_masked(const SampleId& id, int position) {
  return unit_interval(draw(id, Draw::kMask, static_cast<std::uint64_t>(position))) < kMaskedShare;
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
