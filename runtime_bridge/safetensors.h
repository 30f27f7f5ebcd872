// The file format of checkpoints: safetensors, a header that says where each tensor lies, then raw
// bytes. This is the header; safetensors_file.h reads and writes files.
//
//   8 bytes: length of the header, little-endian
//   header:  {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//             "__metadata__": {"KEY": "VALUE", ...}}
//   data:    the tensors without gaps; offsets count from here
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "training/buffer.h"

namespace penstock {

inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;

struct StoredTensor {
  std::string name;
  ElementType type = ElementType::kByte;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes of the data
  bool operator==(const StoredTensor&) const = default;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
  bool operator==(const SafetensorsHeader&) const = default;
  [[nodiscard]] std::uint64_t data_bytes() const {
    return tensors.empty() ? 0 : tensors.back().end;
  }
};

// The number of elements; Error{kInternal} when it exceeds 2^63.
std::uint64_t elements_of(const std::vector<std::int64_t>& shape);

// How long the header of a file is by its first eight bytes. Error{kBadInput} when it exceeds
// kMostHeaderBytes or the file.
std::uint64_t header_length(std::string_view first_bytes, std::uint64_t file_bytes,
                            const std::string& file);
// `text` is the header without its length. Error{kBadInput} unless the tensors fill the rest of the
// file exactly, without gaps and overlaps, each as long as its shape says.
SafetensorsHeader read_safetensors_header(std::string_view text, std::uint64_t file_bytes,
                                          const std::string& file);
// With its length in front, padded so that the data begin at a multiple of eight bytes.
std::string write_safetensors_header(const SafetensorsHeader& header);

}  // namespace penstock
