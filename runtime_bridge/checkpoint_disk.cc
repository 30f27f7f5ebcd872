#include "runtime_bridge/checkpoint_disk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/values/error.h"

namespace penstock {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kMissingResource, path + ": " + what + ": " + std::strerror(errno));
}

}  // namespace

SyncedFile::SyncedFile(std::string path)
    : path_(std::move(path)),
      descriptor_(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail(path_, "cannot be written");
}

SyncedFile::~SyncedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SyncedFile::write(std::span<const std::byte> data) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // Linux writes no more than 2 GiB
  while (!data.empty()) {
    const ssize_t written = ::write(descriptor_, data.data(), std::min(data.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "cannot be written");
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

void SyncedFile::close() {
  if (fsync(descriptor_) != 0) fail(path_, "cannot be written to the disk");
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) fail(path_, "cannot be closed");
}

void write_synced(const std::string& path, std::string_view text) {
  SyncedFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.close();
}

void sync_folder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "cannot be opened");
  const int result = fsync(descriptor);
  ::close(descriptor);
  // Some network file systems cannot, and need not.
  if (result != 0 && errno != EINVAL) fail(path, "cannot be written to the disk");
}

}  // namespace penstock
