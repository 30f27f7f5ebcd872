// A reader is a value with the path to it. Each question notes its key, and finish() refuses what
// nobody asked for, so a typo cannot pass as a default; the nearest key is offered by edit
// distance. Durations may be given in several units (kDurationKeys), and are read as exact
// decimals, never through a double.
#include "core/values/json_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <system_error>

#include "core/values/edit_distance.h"
#include "core/values/error.h"

namespace penstock {
namespace {

struct DurationKey {
  std::string_view suffix;
  TimeUnit unit;
};
constexpr std::array kDurationKeys{
    DurationKey{"_ns", TimeUnit::kNanoseconds},
    DurationKey{"_us", TimeUnit::kMicroseconds},
    DurationKey{"_ms", TimeUnit::kMilliseconds},
    DurationKey{"_s", TimeUnit::kSeconds},
};

// What a message shows of a value or a key: enough to recognise it.
std::string excerpt(const Json& value) {
  if (value.kind() == Json::Kind::kArray) {
    return "an array of " + std::to_string(value.elements().size());
  }
  if (value.kind() == Json::Kind::kObject) return "an object";
  std::size_t most = 80;
  if (value.text().size() <= most) return to_text(value);
  while (most > 0 && (value.text()[most] & 0xC0) == 0x80) --most;  // not inside a UTF-8 character
  const std::string start = value.text().substr(0, most);
  if (value.kind() == Json::Kind::kNumber) return start + "...";
  return to_text(Json(start)) + "...";
}

std::string key_text(std::string_view key) { return excerpt(Json(std::string(key))); }

using Keys = std::set<std::string, std::less<>>;

// What to do about a key that nobody knows.
std::string remedy(std::string_view key, const Keys& known) {
  if (known.empty() || key.size() > 80) return "remove it";
  const auto distance = [key](const std::string& other) { return edit_distance(key, other); };
  const auto nearest = std::ranges::min_element(known, {}, distance);
  if (distance(*nearest) <= std::max<std::size_t>(2, key.size() / 3)) {
    return "did you mean " + key_text(*nearest) + "?";
  }
  return "remove it; the nearest known key is " + key_text(*nearest);
}

std::string number_text(double value) { return Json(value).text(); }

std::string range_text(const std::string& kind, double least, double most) {
  using Limits = std::numeric_limits<double>;
  const bool positive = least == Limits::min();
  if (most == Limits::max()) return kind + (positive ? " > 0" : " >= " + number_text(least));
  if (positive) return kind + " > 0 and <= " + number_text(most);
  if (least == Limits::lowest()) return kind + " <= " + number_text(most);
  return kind + " from " + number_text(least) + " to " + number_text(most);
}

std::string range_text(std::int64_t least, std::int64_t most) {
  if (most == std::numeric_limits<std::int64_t>::max()) {
    return "an integer >= " + std::to_string(least);
  }
  return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
}

// The whole text as a number, or nothing.
template <class Number>
std::optional<Number> parse_whole(const std::string& text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return {};
  return value;
}

[[noreturn]] void cannot(const std::string& verb, const std::string& path, int error) {
  throw Error(ErrorKind::kMissingResource,
              path + ": cannot " + verb + " this file: " + std::generic_category().message(error));
}

// In pieces, since the size of a pipe is not known before its end.
std::string read_all(std::istream& in, const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  std::vector<char> piece(std::size_t{1} << 16);
  std::string text;
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kLargest) {
      throw_bad_input(path + ": larger than 1 GiB; that is not a file of Penstock");
    }
  }
  if (in.bad()) cannot("read", path, errno);
  return text;
}

void write_directly(const std::string& path, std::string_view text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) cannot("write", path, errno);
}

}  // namespace

JsonReader::JsonReader(const Json& value, std::string file, std::string path)
    : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

JsonReader JsonReader::at(std::string_view key) {
  std::optional<JsonReader> found = get(key);
  if (!found) fail("the key " + key_text(key) + " is missing here; add it");
  return *std::move(found);
}

std::optional<JsonReader> JsonReader::get(std::string_view key) {
  if (value_->kind() != Json::Kind::kObject) expected("an object");
  known_.emplace(key);
  const Json* found = value_->find(key);
  if (found == nullptr) return {};
  return JsonReader(*found, file_, path_ + "/" + std::string(key));
}

std::vector<JsonReader> JsonReader::elements() const {
  if (value_->kind() != Json::Kind::kArray) expected("an array");
  std::vector<JsonReader> readers;
  readers.reserve(value_->elements().size());
  for (const Json& element : value_->elements()) {
    readers.emplace_back(element, file_, path_ + "/" + std::to_string(readers.size()));
  }
  return readers;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() {
  if (value_->kind() != Json::Kind::kObject) expected("an object");
  std::vector<std::pair<std::string, JsonReader>> readers;
  readers.reserve(value_->members().size());
  for (const auto& [key, member] : value_->members()) {
    known_.insert(key);
    readers.emplace_back(key, JsonReader(member, file_, path_ + "/" + key));
  }
  return readers;
}

std::string JsonReader::string() const {
  if (value_->kind() != Json::Kind::kString) expected("a string");
  return value_->text();
}

bool JsonReader::boolean() const {
  if (value_->kind() != Json::Kind::kBool) expected("true or false");
  return value_->boolean();
}

std::int64_t JsonReader::integer(std::int64_t least, std::int64_t most) const {
  if (value_->kind() != Json::Kind::kNumber) expected(range_text(least, most));
  const std::optional<std::int64_t> number = parse_whole<std::int64_t>(value_->text());
  if (!number || *number < least || *number > most) expected(range_text(least, most));
  return *number;
}

double JsonReader::number(double least, double most) const {
  if (value_->kind() != Json::Kind::kNumber) expected(range_text("a number", least, most));
  const std::optional<double> number = parse_whole<double>(value_->text());
  // Written so that NaN is refused too.
  if (!number || !(*number >= least && *number <= most)) {
    expected(range_text("a number", least, most));
  }
  return *number;
}

Bytes JsonReader::bytes() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;  // what a double still holds exactly
  const std::string what = "a number of bytes, an integer from 0 to 2^53";
  if (value_->kind() != Json::Kind::kNumber) expected(what);
  const std::optional<std::int64_t> number = parse_whole<std::int64_t>(value_->text());
  if (!number || *number < 0 || *number > kMost) expected(what);
  return {*number};
}

Duration JsonReader::duration(std::string_view stem) {
  const std::optional<Duration> found = get_duration(stem);
  if (!found) {
    fail("the key " + key_text(std::string(stem) + "_ns") +
         " (or _us, _ms, _s) is missing here; add it");
  }
  return *found;
}

std::optional<Duration> JsonReader::get_duration(std::string_view stem) {
  std::optional<JsonReader> found;
  TimeUnit unit{};
  std::string found_key;
  for (const DurationKey& candidate : kDurationKeys) {
    const std::string key = std::string(stem) + std::string(candidate.suffix);
    std::optional<JsonReader> reader = get(key);
    if (!reader) continue;
    if (found) reader->fail("the same time is given as " + key_text(found_key) + " too; keep one");
    found = std::move(reader);
    found_key = key;
    unit = candidate.unit;
  }
  if (!found) return {};
  if (found->value().kind() != Json::Kind::kNumber) found->expected("a duration >= 0, a number");
  const std::string& text = found->value().text();
  const std::optional<Duration> duration = parse_decimal_duration(text, unit);
  if (!duration) {
    const bool negative = text.starts_with('-');
    found->expected(negative ? "a duration >= 0"
                             : "a duration of at most " + to_text(kLongestDuration));
  }
  return duration;
}

void JsonReader::finish() const {
  for (const auto& [key, member] : value_->members()) {
    if (known_.contains(key)) continue;
    const JsonReader at_member(member, file_, path_);
    at_member.fail("unknown key " + key_text(key) + "; " + remedy(key, known_));
  }
}

void JsonReader::fail(const std::string& message) const {
  std::string place = file_;
  if (value_->line() > 0) place += ":" + std::to_string(value_->line());
  if (!path_.empty()) place += ": " + path_;
  throw_bad_input(place + ": " + message);
}

void JsonReader::expected(const std::string& what) const {
  fail("expected " + what + ", got " + excerpt(*value_));
}

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) cannot("read", path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) cannot("read", path, errno);
  return read_all(in, path);
}

void write_file(const std::string& path, std::string_view text) {
  // Something that is no regular file (/dev/stdout, a pipe) must be written, not replaced.
  std::error_code ignored;
  const bool replaces =
      !std::filesystem::exists(path, ignored) || std::filesystem::is_regular_file(path, ignored);
  if (!replaces) return write_directly(path, text);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(ErrorKind::kMissingResource, path + ": there is no folder " + folder.string() +
                                                 "\nhelp: make it first: mkdir -p " +
                                                 folder.string());
  }
  const std::string temporary = path + ".tmp";
  write_directly(temporary, text);
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::filesystem::remove(temporary, ignored);
    cannot("write", path, error.value());
  }
}

std::string content_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // offset basis and prime of FNV-1a, 64 bits
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "fnv1a64:";
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(hash >> shift) & 15U];
  return out;
}

}  // namespace penstock
