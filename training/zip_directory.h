// The directory of a zip file, as LibTorch writes its archives: what is in it and where. No more of
// the format than that: nothing is unpacked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ZipRecord {
  std::string name;
  std::uint64_t header = 0;  // where its own header begins
  std::uint64_t size = 0;    // of its content
  std::uint32_t crc = 0;     // CRC-32 of its content
  bool is_stored = true;     // its bytes lie in the file as they are
  bool operator==(const ZipRecord&) const = default;
};

// In the directory's order. Of the file's bytes only the directory is looked at. Error{kBadInput},
// starting with `name`, for what is no whole zip file.
std::vector<ZipRecord> zip_directory(std::string_view file, const std::string& name);

// Where the content of a stored record begins; all of it lies within the file.
std::uint64_t content_of(const ZipRecord& record, std::string_view file, const std::string& name);

}  // namespace penstock
