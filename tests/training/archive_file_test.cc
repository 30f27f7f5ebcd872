#include "training/archive_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "core/values/error.h"

namespace penstock {
namespace {

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return text;
}

// CRC-32 of "123456789", the check value of every catalogue of CRCs.
constexpr std::uint32_t kCrcOfDigits = 0xCBF43926;

// A zip file with one stored record, after APPNOTE.TXT: header, content, directory, end. With
// `in_64`, sizes and places are in 64 bits, as LibTorch writes them.
struct OneRecord {
  std::string name = "m/data/0";
  std::string content = "123456789";
  std::uint32_t crc = kCrcOfDigits;
  bool in_64 = false;
  std::uint32_t method = 0;

  [[nodiscard]] std::string file() const {
    const std::string padding(5, 'p');  // of the header only, as LibTorch aligns contents
    std::string text = number(0x04034b50, 4) + std::string(10, '\0') + number(crc, 4) +
                       number(content.size(), 4) + number(content.size(), 4) +
                       number(name.size(), 2) + number(padding.size(), 2) + name + padding +
                       content;
    const std::uint64_t directory = text.size();
    const auto in_32 = [&](std::uint64_t value) { return number(in_64 ? 0xFFFFFFFF : value, 4); };
    const std::string extra = in_64 ? number(7, 2) + number(2, 2) + "xx" + number(1, 2) +
                                          number(24, 2) + number(content.size(), 8) +
                                          number(content.size(), 8) + number(0, 8)
                                    : "";
    text += number(0x02014b50, 4) + number(0, 6) + number(method, 2) + number(0, 4) +
            number(crc, 4) + in_32(content.size()) + in_32(content.size()) +
            number(name.size(), 2) + number(extra.size(), 2) + number(0, 2) + number(0, 8) +
            in_32(0) + name + extra;
    const std::uint64_t end = text.size();
    if (in_64) {
      text += number(0x06064b50, 4) + number(44, 8) + number(0, 12) + number(1, 8) + number(1, 8) +
              number(end - directory, 8) + number(directory, 8);
      text += number(0x07064b50, 4) + number(0, 4) + number(end, 8) + number(1, 4);
    }
    return text + number(0x06054b50, 4) + number(0, 4) + number(1, 2) + number(1, 2) +
           in_32(end - directory) + in_32(directory) + number(3, 2) + "end";
  }
};

struct Stored {
  explicit Stored(const std::string& bytes)
      : path(std::filesystem::temp_directory_path() / "penstock_archive_file_test.pt") {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  Stored(const Stored&) = delete;
  Stored& operator=(const Stored&) = delete;
  ~Stored() { std::filesystem::remove(path); }
  std::string path;
};

std::string read(const ArchiveFile& file, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '?');
  file.read(0, offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST_CASE("a record is found by the directory, with numbers of 32 and of 64 bits") {
  for (const bool in_64 : {false, true}) {
    OneRecord one;
    one.in_64 = in_64;
    const std::string file = one.file();
    const std::vector<ZipRecord> records = zip_directory(file, "m.pt");
    REQUIRE(records.size() == 1);
    CHECK(records[0] == ZipRecord{"m/data/0", 0, 9, kCrcOfDigits, true});
    CHECK(content_of(records[0], file, "m.pt") == 30 + 8 + 5);
    const Stored stored(file);
    const ArchiveFile archive(stored.path);
    REQUIRE(archive.tensors().size() == 1);
    CHECK(read(archive, 0, 9) == "123456789");
    CHECK(read(archive, 3, 2) == "45");
  }
}

TEST_CASE("a file that was cut short anywhere is refused") {
  for (const bool in_64 : {false, true}) {
    OneRecord one;
    one.in_64 = in_64;
    const std::string file = one.file();
    for (std::size_t bytes = 0; bytes < file.size(); ++bytes) {
      CHECK_THROWS_AS(zip_directory(std::string_view(file).substr(0, bytes), "m.pt"), Error);
    }
  }
}

// Each number of the directory and of the end, set to what leads out of the file.
TEST_CASE("numbers that lead out of the file are refused or read as others, never followed") {
  for (const bool in_64 : {false, true}) {
    OneRecord one;
    one.in_64 = in_64;
    const std::string file = one.file();
    for (std::size_t at = 0; at < file.size(); ++at) {
      std::string changed = file;
      changed[at] = '\xFF';
      try {
        for (const ZipRecord& record : zip_directory(changed, "m.pt")) {
          const std::uint64_t begin = content_of(record, changed, "m.pt");
          CHECK(begin + record.size <= changed.size());
        }
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::kBadInput);
      }
    }
  }
}

TEST_CASE("the hash follows name, size and checksum of the records, not where they lie") {
  OneRecord one;
  const std::string hash = hash_of_archive(Stored(one.file()).path);
  CHECK(hash.starts_with("zip:fnv1a64:"));
  one.in_64 = true;
  CHECK(hash_of_archive(Stored(one.file()).path) == hash);
  one.crc = 1;
  CHECK(hash_of_archive(Stored(one.file()).path) != hash);
  one = {.name = "m/data/1"};
  CHECK(hash_of_archive(Stored(one.file()).path) != hash);
}

TEST_CASE("a record whose bytes have changed is refused, read whole or in part") {
  OneRecord one;
  one.content = "123456780";
  const Stored stored(one.file());
  for (const std::size_t bytes : {std::size_t{9}, std::size_t{2}}) {
    std::string words;
    try {
      read(ArchiveFile(stored.path), 0, bytes);
    } catch (const Error& error) {
      words = error.what();
    }
    CHECK(words.find("m/data/0 is damaged") != std::string::npos);
  }
}

TEST_CASE("only tensors of modules that lie there as they are can be left in the file") {
  OneRecord one;
  one.name = "m/constants/0";
  CHECK(ArchiveFile(Stored(one.file()).path).tensors().empty());
  one = {.method = 8};
  CHECK(ArchiveFile(Stored(one.file()).path).tensors().empty());
}

}  // namespace
}  // namespace penstock
