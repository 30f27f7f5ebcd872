// XXH64, the checksum of checkpoints: it costs a fraction of what writing to a disk does. The
// algorithm is Yann Collet's (xxHash, doc/xxhash_spec.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

std::uint64_t xxh64(std::span<const std::byte> data);
std::uint64_t xxh64(std::string_view text);

// "xxh64:0123456789abcdef"
std::string checksum_of(std::span<const std::byte> data);
std::string checksum_of(std::string_view text);

}  // namespace penstock
