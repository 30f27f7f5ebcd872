// A TorchScript archive as a file: a zip file with a record for every tensor. Which archive it is
// says its directory, so that nobody has to read all of it: whoever reads a record checks that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "training/mapped_file.h"
#include "training/zip_directory.h"

namespace penstock {

// "zip:fnv1a64:0123456789abcdef", over name, size and CRC-32 of every record. Error{kBadInput} for
// what is no archive.
std::string hash_of_archive(const std::string& path);

class ArchiveFile {
 public:
  // Error{kBadInput} for what is no archive.
  explicit ArchiveFile(const std::string& path);
  ~ArchiveFile();
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // The records that hold the tensors of modules, and where the content of each begins; empty if
  // any of them is compressed.
  struct TensorRecord {
    ZipRecord record;
    std::uint64_t begin = 0;
  };
  [[nodiscard]] const std::vector<TensorRecord>& tensors() const { return tensors_; }

  // Of the file, from `begin` on. Error{kMissingResource} when it cannot be read.
  void read(std::uint64_t begin, std::span<std::byte> to) const;
  // Part of a tensor's record. The first time the whole record is compared with its CRC-32:
  // Error{kBadInput} where it differs.
  void read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> to) const;

 private:
  void require_sound(std::size_t tensor, std::uint32_t crc) const;

  std::string path_;
  std::uint64_t size_ = 0;
  int descriptor_ = -1;
  std::vector<TensorRecord> tensors_;
  mutable std::vector<bool> is_checked_;
};

}  // namespace penstock
