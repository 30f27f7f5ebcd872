// Files that are on the disk when we say so. Errors name the path and what the system said.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// A new file; what was there is replaced.
class SyncedFile {
 public:
  explicit SyncedFile(std::string path);
  SyncedFile(const SyncedFile&) = delete;
  SyncedFile& operator=(const SyncedFile&) = delete;
  ~SyncedFile();
  void write(std::span<const std::byte> data);
  void close();  // after this it survives a crash of the machine

 private:
  std::string path_;
  int descriptor_;
};

void write_synced(const std::string& path, std::string_view text);
// So that names in the folder survive too.
void sync_folder(const std::string& path);

}  // namespace penstock
