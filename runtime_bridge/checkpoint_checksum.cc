#include "runtime_bridge/checkpoint_checksum.h"

#include <array>
#include <bit>
#include <cstring>

namespace penstock {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little, "words are read as they lie");

template <class Word>
std::uint64_t word_at(const std::byte* data) {
  Word word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

// The four lanes that whole stripes of 32 bytes go through, joined.
std::uint64_t stripes(const std::byte*& data, const std::byte* end) {
  std::array<std::uint64_t, 4> lanes{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
  for (; end - data >= 32; data += 32) {
    for (std::size_t i = 0; i < 4; ++i) {
      lanes[i] = round(lanes[i], word_at<std::uint64_t>(data + 8 * i));
    }
  }
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  return hash;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> data) {
  const std::byte* at = data.data();
  const std::byte* const end = at + data.size();
  std::uint64_t hash = data.size() >= 32 ? stripes(at, end) : kPrime5;
  hash += data.size();
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round(0, word_at<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ word_at<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) {
    hash = std::rotl(hash ^ word_at<std::uint8_t>(at) * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

std::uint64_t xxh64(std::string_view text) { return xxh64(std::as_bytes(std::span(text))); }

std::string checksum_of(std::span<const std::byte> data) {
  const std::uint64_t hash = xxh64(data);
  std::string text = "xxh64:";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 15];
  return text;
}

std::string checksum_of(std::string_view text) {
  return checksum_of(std::as_bytes(std::span(text)));
}

}  // namespace penstock
