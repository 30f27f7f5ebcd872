// A sample's number leads to its tokens without a table: files say how many samples they have, a
// binary search over their sums finds the file, and a multiplication the place in it, so that
// nothing grows with the data.
#include "training/token_data.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::array kTypes{TokenType::kUint8, TokenType::kUint16, TokenType::kUint32,
                            TokenType::kInt32, TokenType::kInt64};

template <typename T>
std::int64_t read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<std::int64_t>(value);
}

std::int64_t samples_of(const TokenFile& file, std::int64_t length) {
  if (file.row > 0) return file.tokens() / file.row;
  return std::max<std::int64_t>(file.tokens() - 1, 0) / length;
}

void require_whole(const TokenFile& file, std::int64_t length) {
  if (file.bytes.size() % size_of(file.type) != 0) {
    throw_bad_input(file.name + ": holds " + std::to_string(file.bytes.size()) +
                    " bytes of tokens, which is not a whole number of " +
                    std::string(name_of(file.type)) + " tokens\nhelp: is --dtype right?");
  }
  if (file.row > 0 && file.row != length + 1) {
    throw_bad_input(
        file.name + ": has rows of " + std::to_string(file.row) +
        " tokens; a sample needs sequence length + 1 = " + std::to_string(length + 1) +
        "\nhelp: plan for a sequence length of " + std::to_string(file.row - 1) +
        ", or write the tokens as one row (numpy: tokens.reshape(-1)) to have them cut");
  }
}

}  // namespace

std::string_view name_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
      return "uint8";
    case TokenType::kUint16:
      return "uint16";
    case TokenType::kUint32:
      return "uint32";
    case TokenType::kInt32:
      return "int32";
    case TokenType::kInt64:
      return "int64";
  }
  return "";
}

std::optional<TokenType> token_type_named(std::string_view name) {
  for (const TokenType type : kTypes) {
    if (name == name_of(type)) return type;
  }
  return std::nullopt;
}

std::size_t size_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8:
      return 1;
    case TokenType::kUint16:
      return 2;
    case TokenType::kUint32:
    case TokenType::kInt32:
      return 4;
    case TokenType::kInt64:
      return 8;
  }
  return 1;
}

std::int64_t token_at(const TokenFile& file, std::int64_t token) {
  const std::byte* const at =
      file.bytes.data() + static_cast<std::size_t>(token) * size_of(file.type);
  switch (file.type) {
    case TokenType::kUint8:
      return read_as<std::uint8_t>(at);
    case TokenType::kUint16:
      return read_as<std::uint16_t>(at);
    case TokenType::kUint32:
      return read_as<std::uint32_t>(at);
    case TokenType::kInt32:
      return read_as<std::int32_t>(at);
    case TokenType::kInt64:
      return read_as<std::int64_t>(at);
  }
  return 0;
}

TokenData::TokenData(std::vector<TokenFile> files, int sequence_length, std::int64_t vocabulary)
    : files_(std::move(files)), length_(sequence_length), vocabulary_(vocabulary), first_{0} {
  std::int64_t tokens = 0;
  for (const TokenFile& file : files_) {
    require_whole(file, length_);
    first_.push_back(first_.back() + samples_of(file, length_));
    tokens += file.tokens();
  }
  if (samples() > 0) return;
  throw_bad_input((files_.size() == 1 ? files_.front().name : std::string("--data")) + ": holds " +
                  std::to_string(tokens) + " tokens; a sample needs sequence length + 1 = " +
                  std::to_string(length_ + 1) + "; give more data or shorten the sequence");
}

std::vector<std::int64_t> TokenData::tokens(std::int64_t sample) const {
  const auto next = std::upper_bound(first_.begin(), first_.end(), sample);
  const auto of = static_cast<std::size_t>(next - first_.begin()) - 1;
  const TokenFile& file = files_[of];
  const std::int64_t begin = (sample - first_[of]) * (file.row > 0 ? file.row : length_);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(length_) + 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int64_t token = begin + static_cast<std::int64_t>(i);
    ids[i] = token_at(file, token);
    require_known(file, token, ids[i]);
  }
  return ids;
}

TokenSample TokenData::sample(const ModelDescription& model, const SampleId& id,
                              std::int64_t number) const {
  return sample_of(model, id, tokens(number));
}

void TokenData::require_known(const TokenFile& file, std::int64_t token, std::int64_t id) const {
  if (id >= 0 && (vocabulary_ == 0 || id < vocabulary_)) return;
  const std::size_t offset = file.offset + static_cast<std::size_t>(token) * size_of(file.type);
  throw_bad_input(file.name + ": token " + std::to_string(token) + ", at byte " +
                  std::to_string(offset) + ", is " + std::to_string(id) +
                  (vocabulary_ == 0
                       ? "; token ids are not negative"
                       : "; the model's vocabulary is 0 to " + std::to_string(vocabulary_ - 1)) +
                  "\nhelp: is the file one of " + std::string(name_of(file.type)) +
                  " (--dtype), and made for this model's vocabulary?");
}

void TokenData::check(const TokenFile& file, std::int64_t first, std::int64_t end) const {
  for (std::int64_t token = first; token < end; ++token) {
    require_known(file, token, token_at(file, token));
  }
}

void TokenData::check(std::size_t most_bytes) const {
  constexpr std::int64_t kBlock = 1 << 14;  // tokens
  std::size_t bytes = 0;
  for (const TokenFile& file : files_) bytes += file.bytes.size();
  for (const TokenFile& file : files_) {
    const std::int64_t blocks = (file.tokens() + kBlock - 1) / kBlock;
    // Every n-th block; of each file the first.
    const auto n = static_cast<std::int64_t>(bytes / std::max<std::size_t>(most_bytes, 1)) + 1;
    for (std::int64_t block = 0; block < blocks; block += n) {
      check(file, block * kBlock, std::min(file.tokens(), (block + 1) * kBlock));
    }
  }
}

}  // namespace penstock
