#include "training/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/values/error.h"

namespace penstock {
namespace {

[[noreturn]] void cannot_read(const std::string& path) {
  throw Error(ErrorKind::kMissingResource, path + ": cannot be read: " + std::strerror(errno));
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts = {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) cannot_read(path);
  if (S_ISDIR(facts.st_mode)) {
    throw_bad_input(path + ": is a folder\nhelp: name the files in it, for example '" + path +
                    "/*.bin'");
  }
  size_ = static_cast<std::size_t>(facts.st_size);
  if (size_ == 0) return;  // an empty mapping is an error
  void* const data = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number, 0);
  if (data == MAP_FAILED) cannot_read(path);
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace penstock
