// A zip file ends with an end record (22 bytes and a comment), which says where the directory lies;
// where 16 or 32 bits do not suffice, a 64-bit end record does, to which a locator of 20 bytes in
// front of the end record leads. An entry of the directory is 46 bytes, a name and extra fields, of
// which number 1 holds the sizes and the place in 64 bits. The content lies behind a header of its
// own, whose name and extra fields may be of other lengths than the entry's.
//
// Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.3. Every number is compared with what
// is left of the file before anything is read by it.
#include "training/zip_directory.h"

#include <algorithm>
#include <initializer_list>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::uint32_t kEnd = 0x06054b50, kLocator64 = 0x07064b50, kEnd64 = 0x06064b50,
                        kEntry = 0x02014b50, kHeader = 0x04034b50;
constexpr std::size_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kEntryBytes = 46,
                      kHeaderBytes = 30, kLongestComment = 0xFFFF;
constexpr std::uint64_t kIn64 = 0xFFFFFFFF;  // the number is among the extra fields

class Reading {
 public:
  Reading(std::string_view file, const std::string& name) : file_(file), name_(name) {}

  std::vector<ZipRecord> directory() const {
    const std::uint64_t end = end_record();
    std::uint64_t entries = number(end + 10, 2), at = number(end + 16, 4);
    if (end >= kLocatorBytes && number(end - kLocatorBytes, 4) == kLocator64) {
      const std::uint64_t end64 = number(end - kLocatorBytes + 8, 8);
      if (number(end64, 4) != kEnd64) refuse("its 64-bit end record is not where it should be");
      require(end64, kEnd64Bytes);
      entries = number(end64 + 32, 8);
      at = number(end64 + 48, 8);
    }
    if (entries > file_.size() / kEntryBytes) refuse("it is too short for its directory");
    std::vector<ZipRecord> records;
    records.reserve(entries);
    while (records.size() < entries) records.push_back(entry(at));
    return records;
  }

  std::uint64_t content(const ZipRecord& record) const {
    if (number(record.header, 4) != kHeader) refuse("there is no " + record.name + " in it");
    const std::uint64_t begin = record.header + kHeaderBytes + number(record.header + 26, 2) +
                                number(record.header + 28, 2);
    require(begin, record.size);
    return begin;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw_bad_input(name_ +
                    ": neither a TorchScript archive nor an .npz file, or one that was cut "
                    "short: " +
                    why +
                    "\nhelp: an archive is what torch.jit.script(model).save(\"model.pt\") writes");
  }
  void require(std::uint64_t at, std::uint64_t bytes) const {
    if (at > file_.size() || bytes > file_.size() - at) refuse("it ends too early");
  }
  std::uint64_t number(std::uint64_t at, int bytes) const {
    require(at, static_cast<std::uint64_t>(bytes));
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
      const auto byte = static_cast<unsigned char>(file_[at + static_cast<std::uint64_t>(i)]);
      value = (value << 8U) | byte;
    }
    return value;
  }

  // The last one whose comment reaches to the end of the file.
  std::uint64_t end_record() const {
    if (file_.size() >= kEndBytes) {
      const std::uint64_t last = file_.size() - kEndBytes;
      const std::uint64_t first = last - std::min<std::uint64_t>(last, kLongestComment);
      for (std::uint64_t at = last + 1; at-- > first;) {
        if (number(at, 4) == kEnd && number(at + 20, 2) == last - at) return at;
      }
    }
    refuse("it does not end as a zip file does");
  }

  ZipRecord entry(std::uint64_t& at) const {
    require(at, kEntryBytes);
    if (number(at, 4) != kEntry) refuse("its directory is not where it should be");
    ZipRecord record;
    record.is_stored = number(at + 10, 2) == 0;
    record.crc = static_cast<std::uint32_t>(number(at + 16, 4));
    std::uint64_t packed = number(at + 20, 4);
    record.size = number(at + 24, 4);
    record.header = number(at + 42, 4);
    const std::uint64_t name = number(at + 28, 2), extra = number(at + 30, 2);
    const std::uint64_t fields = at + kEntryBytes + name;
    require(at + kEntryBytes, name + extra);
    record.name = file_.substr(at + kEntryBytes, name);
    read_64({&record.size, &packed, &record.header}, fields, fields + extra);
    if (record.is_stored && packed != record.size) refuse(record.name + " has two sizes");
    at = fields + extra + number(at + 32, 2);
    return record;
  }

  // Those that are in 64 bits, in this order.
  void read_64(std::initializer_list<std::uint64_t*> values, std::uint64_t at,
               std::uint64_t end) const {
    constexpr std::uint64_t kField64 = 1;
    while (at + 4 <= end) {
      const std::uint64_t field = number(at, 2), bytes = number(at + 2, 2);
      at += 4;
      std::uint64_t next = at;
      at += bytes;
      if (field != kField64 || at > end) continue;
      for (std::uint64_t* const value : values) {
        if (*value != kIn64 || next + 8 > at) continue;
        *value = number(next, 8);
        next += 8;
      }
    }
  }

  std::string_view file_;
  const std::string& name_;
};

}  // namespace

std::vector<ZipRecord> zip_directory(std::string_view file, const std::string& name) {
  return Reading(file, name).directory();
}

std::uint64_t content_of(const ZipRecord& record, std::string_view file, const std::string& name) {
  return Reading(file, name).content(record);
}

}  // namespace penstock
