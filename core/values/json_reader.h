// Strict reading of a JSON value into a struct. Every failure is an Error{kBadInput} of the form
//   profile.json:12: /sections/0/forward_ns: expected a duration >= 0, got -4
// and every key that nobody asked for is refused by finish(), with the nearest known key.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/json.h"
#include "core/values/units.h"

namespace penstock {

class JsonReader {
 public:
  JsonReader(const Json& value, std::string file, std::string path = "");

  [[nodiscard]] const Json& value() const { return *value_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Members of an object. at() is required, get() may be absent. Asking marks the key as known.
  [[nodiscard]] JsonReader at(std::string_view key);
  [[nodiscard]] std::optional<JsonReader> get(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  // Elements of an array.
  [[nodiscard]] std::vector<JsonReader> elements() const;
  // All members of an object, in file order, as (key, reader).
  [[nodiscard]] std::vector<std::pair<std::string, JsonReader>> members();

  // The value itself.
  [[nodiscard]] std::string string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] double number(double least, double most) const;  // finite, closed range
  [[nodiscard]] Bytes bytes() const;                             // an integer in [0, 2^53]

  // A duration under the key `stem` + one of _ns, _us, _ms, _s, for example forward_ms: 18.522.
  // Exact decimals. Exactly one of the four keys must be present (get_: at most one).
  [[nodiscard]] Duration duration(std::string_view stem);
  [[nodiscard]] std::optional<Duration> get_duration(std::string_view stem);

  // Refuses members that nobody asked for.
  void finish() const;

  // "FILE:LINE: PATH: message" as Error{kBadInput}.
  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void expected(const std::string& what) const;  // "expected WHAT, got VALUE"

 private:
  const Json* value_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

// The text of a file. Error{kMissingResource} when there is none ("-" reads standard input),
// Error{kBadInput} when it is larger than 1 GiB.
std::string read_file(const std::string& path);
// Writes to PATH.tmp and renames it, so that a reader never sees half a file.
void write_file(const std::string& path, std::string_view text);

// 64-bit FNV-1a of a text as "fnv1a64:0123456789abcdef": enough to say "not the file you think".
std::string content_hash(std::string_view text);

}  // namespace penstock
