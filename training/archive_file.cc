// The hash of an archive is that of its records' names, sizes and CRCs: reading the directory is
// enough to know whether an archive is the one that was profiled. Each tensor's CRC-32 is checked
// when it is first read, also where only a part of it is asked for. Archives with compressed
// tensors have none of their records listed here, and LibTorch reads them as a whole.
#include "training/archive_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;

std::uint32_t crc_of(std::uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// "NAME/data/17"; what lies in "NAME/constants" belongs to the code.
bool is_tensor(const std::string& name) {
  const std::size_t folder = name.find('/');
  return folder != std::string::npos && name.compare(folder, 6, "/data/") == 0;
}

}  // namespace

std::string hash_of_archive(const std::string& path) {
  const MappedFile file(path);
  std::string facts;
  for (const ZipRecord& record : zip_directory(file.text(), path)) {
    facts += record.name + ' ' + std::to_string(record.size) + ' ' + std::to_string(record.crc);
    facts += '\n';
  }
  return "zip:" + content_hash(facts);
}

ArchiveFile::ArchiveFile(const std::string& path) : path_(path) {
  const MappedFile file(path);
  size_ = file.bytes().size();
  for (ZipRecord& record : zip_directory(file.text(), path)) {
    if (is_tensor(record.name)) tensors_.push_back({std::move(record), 0});
  }
  if (!std::ranges::all_of(tensors_, [](const auto& each) { return each.record.is_stored; })) {
    tensors_.clear();
  }
  for (TensorRecord& tensor : tensors_) {
    tensor.begin = content_of(tensor.record, file.text(), path);
  }
  is_checked_.resize(tensors_.size());
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error(ErrorKind::kMissingResource, path + ": cannot be read: " + std::strerror(errno));
  }
}

ArchiveFile::~ArchiveFile() { close(descriptor_); }

void ArchiveFile::read(std::uint64_t begin, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(descriptor_, to.data(), to.size(), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorKind::kMissingResource,
                  path_ + ": cannot be read: " +
                      (got < 0 ? std::strerror(errno) : "it has become shorter"));
    }
    begin += static_cast<std::uint64_t>(got);
    to = to.subspan(static_cast<std::size_t>(got));
  }
}

void ArchiveFile::read(std::size_t tensor, std::uint64_t offset, std::span<std::byte> to) const {
  const auto& [record, begin] = tensors_[tensor];
  read(begin + offset, to);
  if (is_checked_[tensor]) return;
  if (to.size() == record.size) return require_sound(tensor, crc_of(0, to));
  std::vector<std::byte> block(std::min<std::uint64_t>(kBlock, record.size));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < record.size; at += block.size()) {
    const std::span part(block.data(), std::min<std::uint64_t>(block.size(), record.size - at));
    read(begin + at, part);
    crc = crc_of(crc, part);
  }
  require_sound(tensor, crc);
}

void ArchiveFile::require_sound(std::size_t tensor, std::uint32_t crc) const {
  const ZipRecord& record = tensors_[tensor].record;
  if (crc != record.crc) {
    throw_bad_input(path_ + ": " + record.name +
                    " is damaged: its bytes do not have the CRC-32 that the archive notes\nhelp: "
                    "copy the archive again, or save it again");
  }
  is_checked_[tensor] = true;
}

}  // namespace penstock
