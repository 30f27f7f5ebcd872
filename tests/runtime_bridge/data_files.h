// Files of training data, as a test writes them.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/values/json_reader.h"

namespace penstock {

// Files of one test.
class Folder {
 public:
  explicit Folder(const std::string& name = "penstock_training_data_test")
      : path_(std::filesystem::temp_directory_path() / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ / name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(path(name), bytes);
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::string counting(int n) {
  std::vector<T> values;
  for (int i = 0; i < n; ++i) values.push_back(static_cast<T>(i % 250));
  return bytes_of(values);
}

// As numpy.save writes it: version 1, padded to 64 bytes.
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& bytes,
                       const std::string& order = "False") {
  std::string text =
      "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(text.size() & 0xFF);
  file += static_cast<char>(text.size() >> 8);
  return file + text + bytes;
}

}  // namespace penstock
