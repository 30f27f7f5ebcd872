// Zip files, as TorchScript archives and .npz files are, and .npy arrays, in them and alone: what
// is accepted lies within the file. Stored records that are packed again by the simplest writer are
// found again with the same names and contents.
#include <vector>

#include "fuzz/fuzz.h"
#include "runtime_bridge/npy_header.h"
#include "training/zip_directory.h"

namespace penstock {
namespace {

using fuzz::require;

struct Packed {
  std::string name;
  std::string_view content;
};

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xFF);
  return text;
}

std::string zip_of(const std::vector<Packed>& records) {
  std::string file, directory;
  for (const Packed& record : records) {
    const std::string both = number(0, 12) + number(record.content.size(), 4) +
                             number(record.content.size(), 4) + number(record.name.size(), 2) +
                             number(0, 2);
    directory += "PK\x01\x02" + number(20, 2) + number(20, 2) + both + number(0, 10) +
                 number(file.size(), 4) + record.name;
    file += "PK\x03\x04" + number(20, 2) + both + record.name;
    file += record.content;
  }
  return file + directory + "PK\x05\x06" + number(0, 4) + number(records.size(), 2) +
         number(records.size(), 2) + number(directory.size(), 4) + number(file.size(), 4) +
         number(0, 2);
}

void read_array(const std::string& bytes) {
  const auto header = fuzz::accepted(
      bytes, [](const std::string& text) { return read_npy_header(text, fuzz::kFile); });
  if (!header) return;
  require(header->data_offset <= bytes.size(), "the numbers begin behind the file");
  require(elements_of(*header) >= 0, "fewer than no numbers");
  for (const std::int64_t size : header->shape) require(size >= 0, "a size below 0");
  static_cast<void>(integers_of(*header));
}

void read_zip(const std::string& file) {
  const auto records = fuzz::accepted(
      file, [](const std::string& text) { return zip_directory(text, fuzz::kFile); });
  if (!records) return;
  std::vector<Packed> stored;
  for (const ZipRecord& record : *records) {
    // A name that looks like a record of the end would be taken for one behind the directory.
    if (!record.is_stored || record.name.find("PK") != std::string::npos) continue;
    const auto begin = fuzz::accepted(
        file, [&](const std::string& text) { return content_of(record, text, fuzz::kFile); });
    if (!begin) continue;
    require(*begin <= file.size() && record.size <= file.size() - *begin,
            "a record lies elsewhere");
    stored.push_back({record.name, std::string_view(file).substr(*begin, record.size)});
    read_array(std::string(stored.back().content));
  }
  // Records may lie over each other, so that they are larger apart than the file.
  constexpr std::size_t kMostRecords = 100;
  if (stored.size() > kMostRecords) return;
  const std::string again = zip_of(stored);
  const std::vector<ZipRecord> found = zip_directory(again, fuzz::kFile);
  require(found.size() == stored.size(), "packed again there are others");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::uint64_t begin = content_of(found[i], again, fuzz::kFile);
    require(found[i].name == stored[i].name &&
                std::string_view(again).substr(begin, found[i].size) == stored[i].content,
            "packed again a record is another one");
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  penstock::read_zip(bytes);
  penstock::read_array(bytes);
  return 0;
}
