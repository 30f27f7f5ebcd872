// Where the samples of a run come from. Which sample i of step t is follows from the id and from
// what the source was made with, so every layout of the ranks sees the same samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/values/model_description.h"

namespace penstock {

// What names a sample. Samples are numbered within the global batch of their step.
struct SampleId {
  std::uint64_t seed = 1;
  std::int64_t step = 0;
  int sample = 0;
};

// The numbers of an image, channel by channel and row by row, where its file lies in memory.
enum class PixelType { kUint8, kFloat16, kFloat32, kFloat64 };
struct Pixels {
  PixelType type = PixelType::kFloat32;
  std::span<const std::byte> bytes;
  bool operator==(const Pixels& other) const;
};

struct TokenSample {
  // Of an encoder-decoder model the encoder's inputs, and what the decoder is to say; else one
  // target for each input.
  std::vector<std::int64_t> inputs, targets;
  Pixels image{};  // of a model that takes images, instead of inputs; its label is the target
  bool operator==(const TokenSample&) const = default;
};

inline constexpr std::int64_t kNoTarget = -100;  // this token does not count in the loss
// Behind the end of a sample that is shorter than its micro-batch: a model attends to none of it.
inline constexpr std::int64_t kPadding = -1;

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  [[nodiscard]] virtual TokenSample sample(const ModelDescription& model,
                                           const SampleId& id) const = 0;
  // The targets of all samples of a step that count in the loss, `global_batch` of them of
  // `sequence_length` tokens, unless the source knows better.
  [[nodiscard]] virtual std::int64_t targets_of_step(const ModelDescription& model,
                                                     std::uint64_t seed, std::int64_t step,
                                                     int global_batch, int sequence_length) const;
};

// What a model is trained to do with a run of tokens, one more than a sample has: gpt and mlp
// predict the next token; bert those that are masked in its inputs, by `id`.
TokenSample sample_of(const ModelDescription& model, const SampleId& id,
                      std::span<const std::int64_t> tokens);

// Whether a masked language model has to predict the token at `position` of the sample: 15 %.
bool is_masked(const SampleId& id, int position);

// The targets of the whole global batch that count in the loss, known to every rank without the
// other ranks' samples.
std::int64_t loss_tokens(const ModelDescription& model, std::uint64_t seed, std::int64_t step,
                         int global_batch, int sequence_length);

}  // namespace penstock
