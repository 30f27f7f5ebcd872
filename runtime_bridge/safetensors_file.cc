#include "runtime_bridge/safetensors_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/values/error.h"
#include "runtime_bridge/checkpoint_checksum.h"
#include "runtime_bridge/checkpoint_disk.h"

namespace penstock {
namespace {

std::uint64_t size_of_file(const std::string& path) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) throw Error(ErrorKind::kMissingResource, path + ": " + error.message());
  return bytes;
}

std::string read_text(std::ifstream& file, std::uint64_t bytes, const std::string& path) {
  std::string text(bytes, '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) {
    throw Error(ErrorKind::kMissingResource, path + ": cannot be read");
  }
  return text;
}

}  // namespace

WrittenFile write_safetensors(const std::string& path, const std::vector<TensorToStore>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  SafetensorsHeader header;
  header.metadata = metadata;
  for (const TensorToStore& tensor : tensors) {
    const std::uint64_t begin = header.data_bytes();
    header.tensors.push_back(
        {tensor.name, tensor.type, tensor.shape, begin, begin + tensor.data.size()});
    if (elements_of(tensor.shape) * bytes_of(tensor.type) != tensor.data.size()) {
      throw Error(ErrorKind::kInternal,
                  path + ": tensor '" + tensor.name + "' has another size than its shape");
    }
  }
  const std::string start = write_safetensors_header(header);
  SyncedFile file(path);
  file.write(std::as_bytes(std::span(start)));
  for (const TensorToStore& tensor : tensors) file.write(tensor.data);
  file.close();
  return {start.size() + header.data_bytes(), checksum_of(start)};
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  written_.bytes = size_of_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) throw Error(ErrorKind::kMissingResource, path + ": cannot be opened");
  const std::string first = read_text(file_, std::min<std::uint64_t>(8, written_.bytes), path);
  const std::uint64_t length = header_length(first, written_.bytes, path);
  const std::string text = read_text(file_, length, path);
  header_ = read_safetensors_header(text, written_.bytes, path);
  written_.header_checksum = checksum_of(first + text);
  data_begin_ = 8 + length;
}

std::vector<std::byte> SafetensorsFile::read(const StoredTensor& tensor) {
  std::vector<std::byte> data(tensor.end - tensor.begin);
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(data_begin_ + tensor.begin));
  if (!file_.read(reinterpret_cast<char*>(data.data()),
                  static_cast<std::streamsize>(data.size()))) {
    throw Error(ErrorKind::kMissingResource,
                path_ + ": tensor '" + tensor.name + "' cannot be read");
  }
  return data;
}

}  // namespace penstock
