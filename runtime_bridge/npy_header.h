// The header of a .npy file (NumPy enhancement proposal 1, "A Simple File Format for NumPy
// Arrays"; versions 1 to 3): what its elements are, and in which shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "training/token_data.h"

namespace penstock {

struct NpyHeader {
  std::string descr;  // "<u2": byte order, kind, bytes of an element
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;  // of the elements in the file
};

bool is_npy(std::string_view begin);
// `begin`: the file, or at least its first 64 KiB. Error{kBadInput} that names `file`.
NpyHeader read_npy_header(std::string_view begin, const std::string& file);

// So many numbers by its header, at most 2^63 - 1.
std::int64_t elements_of(const NpyHeader& header);
// Nothing where its elements are no integers that token ids and labels can be.
std::optional<TokenType> integers_of(const NpyHeader& header);

}  // namespace penstock
