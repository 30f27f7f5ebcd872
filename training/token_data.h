// Tokenised data: files of integers, read where they lie in memory (mapped, as a rule), cut into
// samples that do not overlap.
//
// A sample is a run of sequence length + 1 tokens: inputs and, one further, targets. Sample k of a
// file without rows begins at token k * sequence length, so that every target but the first of the
// file is predicted once; a file with rows has a sample per row. Samples never cross files, and are
// numbered through all files in the order in which they were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/token_source.h"

namespace penstock {

enum class TokenType { kUint8, kUint16, kUint32, kInt32, kInt64 };  // little-endian

std::string_view name_of(TokenType type);  // "uint16"
std::optional<TokenType> token_type_named(std::string_view name);
std::size_t size_of(TokenType type);

// One file, or a part of one.
struct TokenFile {
  std::string name;  // for messages
  TokenType type = TokenType::kUint16;
  std::span<const std::byte> bytes;   // of the tokens
  std::size_t offset = 0;             // of these bytes in the file
  std::int64_t row = 0;               // tokens per row; 0: no rows
  std::shared_ptr<const void> owner;  // keeps the bytes

  [[nodiscard]] std::int64_t tokens() const {
    return static_cast<std::int64_t>(bytes.size() / size_of(type));
  }
};

class TokenData {
 public:
  // `vocabulary`: ids at and beyond it are refused; 0 when it is not known, then negative ones
  // only. Error{kBadInput} for files that hold no whole number of tokens, for rows of another
  // length than a sample, and when there is not one sample.
  TokenData(std::vector<TokenFile> files, int sequence_length, std::int64_t vocabulary);

  [[nodiscard]] std::int64_t samples() const { return first_.back(); }
  // The sequence length + 1 tokens of a sample. Error{kBadInput} with file, place and value for an
  // id outside the vocabulary.
  [[nodiscard]] std::vector<std::int64_t> tokens(std::int64_t sample) const;

  // Looks at so many bytes of all files before a run begins, evenly spread where they are more;
  // the same Error.
  void check(std::size_t most_bytes) const;

 private:
  void check(const TokenFile& file, std::int64_t first, std::int64_t end) const;
  void require_known(const TokenFile& file, std::int64_t token, std::int64_t id) const;

  std::vector<TokenFile> files_;
  std::int64_t length_, vocabulary_;
  std::vector<std::int64_t> first_;  // sample of each file; one more at the end
};

// What evaluations use: the data's samples from `first` on, in order. Batch b of an evaluation is
// step -1 - b.
class EvaluationData : public TokenSource {
 public:
  EvaluationData(std::shared_ptr<const TokenData> data, std::int64_t first, int global_batch);

  static std::int64_t step_of_batch(std::int64_t batch) { return -1 - batch; }
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;

 private:
  std::shared_ptr<const TokenData> data_;
  std::int64_t first_;
  int global_batch_;
};

// Samples [first, end) of the data in an order that is shuffled anew in every epoch: every sample
// once, then every sample again. Where the run has arrived is one number, how many samples it has
// taken, whatever the layout of the ranks and whatever its batches were.
class EpochData : public TokenSource {
 public:
  // Step `step` takes the samples from `taken` on; every step takes `global_batch` of them.
  struct Start {
    std::int64_t step = 0, taken = 0;
    int global_batch = 1;
  };
  EpochData(std::shared_ptr<const TokenData> data, std::int64_t first, std::int64_t end,
            const Start& start);

  [[nodiscard]] std::int64_t samples() const { return end_ - first_; }
  // Which one of the data's samples it is.
  [[nodiscard]] std::int64_t index(const SampleId& id) const;
  [[nodiscard]] TokenSample sample(const ModelDescription& model,
                                   const SampleId& id) const override;

 private:
  std::shared_ptr<const TokenData> data_;
  std::int64_t first_, end_;
  Start start_;
};

}  // namespace penstock
