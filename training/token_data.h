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

#include "training/sample_set.h"

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

std::int64_t token_at(const TokenFile& file, std::int64_t token);

class TokenData : public SampleSet {
 public:
  // `vocabulary`: ids at and beyond it are refused; 0 when it is not known, then negative ones
  // only. Error{kBadInput} for files that hold no whole number of tokens, for rows of another
  // length than a sample, and when there is not one sample.
  TokenData(std::vector<TokenFile> files, int sequence_length, std::int64_t vocabulary);

  [[nodiscard]] std::int64_t samples() const override { return first_.back(); }
  // The sequence length + 1 tokens of a sample. Error{kBadInput} with file, place and value for an
  // id outside the vocabulary.
  [[nodiscard]] std::vector<std::int64_t> tokens(std::int64_t sample) const;
  [[nodiscard]] TokenSample sample(const ModelDescription& model, const SampleId& id,
                                   std::int64_t number) const override;

  void check(std::size_t most_bytes) const override;

 private:
  void check(const TokenFile& file, std::int64_t first, std::int64_t end) const;
  void require_known(const TokenFile& file, std::int64_t token, std::int64_t id) const;

  std::vector<TokenFile> files_;
  std::int64_t length_, vocabulary_;
  std::vector<std::int64_t> first_;  // sample of each file; one more at the end
};

}  // namespace penstock
