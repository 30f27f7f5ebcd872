#include "training/byte_data.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "core/values/error.h"
#include "training/mixed_bits.h"

namespace penstock {
namespace {

// What the draw is for; masks are drawn with 2.
constexpr std::uint64_t kDrawOfOffset = 1;

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
  const auto offset = static_cast<std::size_t>(
      mixed_bits({id.seed, static_cast<std::uint64_t>(id.step),
                  static_cast<std::uint64_t>(id.sample), kDrawOfOffset, 0}) %
      offsets);
  std::vector<std::int64_t> tokens(length_ + 1);
  for (std::size_t i = 0; i <= length_; ++i) {
    tokens[i] = static_cast<unsigned char>(text_[offset + i]);
  }
  return sample_of(model, id, tokens);
}

}  // namespace penstock
