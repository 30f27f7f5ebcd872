// Writing safetensors files, and reading from them only the tensors that are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime_bridge/safetensors.h"

namespace penstock {

struct TensorToStore {
  std::string name;
  ElementType type = ElementType::kByte;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

struct WrittenFile {
  std::uint64_t bytes = 0;
  std::string header_checksum;  // of the header with its length
  bool operator==(const WrittenFile&) const = default;
};

// On the disk when it returns.
WrittenFile write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                              const std::map<std::string, std::string>& metadata);

class SafetensorsFile {
 public:
  // Reads and checks the header. Error{kMissingResource} when there is no such file,
  // Error{kBadInput} when it is malformed.
  explicit SafetensorsFile(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const SafetensorsHeader& header() const { return header_; }
  [[nodiscard]] const WrittenFile& written() const { return written_; }
  [[nodiscard]] std::vector<std::byte> read(const StoredTensor& tensor);

 private:
  std::string path_;
  std::ifstream file_;
  WrittenFile written_;
  SafetensorsHeader header_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace penstock
