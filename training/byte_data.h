// Training data: any file as a sequence of byte tokens. Which bytes sample i of step t is follows
// from the seed alone, so every layout of the ranks sees the same samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/model_description.h"

namespace penstock {

// What names a sample. Samples are numbered within the global batch of their step.
struct SampleId {
  std::uint64_t seed = 1;
  std::int64_t step = 0;
  int sample = 0;
};

struct TokenSample {
  std::vector<std::int64_t> inputs, targets;
  bool operator==(const TokenSample&) const = default;
};

inline constexpr std::int64_t kNoTarget = -100;  // this token does not count in the loss

class ByteData {
 public:
  // Error{kBadInput} when `text` is shorter than one sample, with what is needed; `file` is its
  // name there.
  ByteData(std::string text, int sequence_length, const std::string& file);

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  // gpt and mlp predict the next byte; bert those bytes that are masked in its inputs.
  [[nodiscard]] TokenSample sample(const ModelDescription& model, const SampleId& id) const;

 private:
  std::string text_;
  std::size_t length_;
};

// Whether a masked language model has to predict the token at `position` of the sample: 15 %.
bool is_masked(const SampleId& id, int position);

// The targets of the whole global batch that count in the loss, known to every rank without the
// other ranks' samples.
std::int64_t loss_tokens(const ModelDescription& model, std::uint64_t seed, std::int64_t step,
                         int global_batch, int sequence_length);

}  // namespace penstock
