// The JSON value of all files. Two things set it apart from the usual: a number keeps the text it
// was written with, so that durations are read as exact decimals, and every value knows the line
// it came from, so that errors can point at it. Objects keep the order of their keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock {

class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(bool value);           // NOLINT(google-explicit-constructor)
  Json(std::int64_t value);   // NOLINT(google-explicit-constructor)
  Json(int value);            // NOLINT(google-explicit-constructor)
  Json(std::uint64_t value);  // NOLINT(google-explicit-constructor)
  Json(double value);         // NOLINT(google-explicit-constructor): shortest text that reads back
  Json(std::string value);    // NOLINT(google-explicit-constructor)
  Json(const char* value);    // NOLINT(google-explicit-constructor)
  static Json array();
  static Json object();
  static Json number(std::string text);  // the text becomes the number as it stands

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] int line() const { return line_; }  // 0 when it was not read from a text
  void set_line(int line) { line_ = line; }

  [[nodiscard]] bool boolean() const { return bool_; }
  [[nodiscard]] const std::string& text() const { return text_; }  // of a string or a number
  [[nodiscard]] const std::vector<Json>& elements() const { return elements_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  // The value of a key of an object, or nothing.
  [[nodiscard]] const Json* find(std::string_view key) const;

  // Building. set() appends (it does not look for an equal key) and returns *this.
  Json& set(std::string key, Json value);
  Json& push(Json value);

  bool operator==(const Json& other) const;  // lines do not count

 private:
  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  int line_ = 0;
  std::string text_;
  std::vector<Json> elements_;
  std::vector<Member> members_;
};

// Parses one JSON text; comments (// and /* */) are allowed, since people write these files by
// hand. Duplicate keys, trailing text, nesting deeper than 64 and everything else outside JSON are
// Error{kBadInput}: "FILE:LINE: what is wrong". `file` is only used in messages.
Json parse_json(std::string_view text, const std::string& file);

// Two-space indentation; arrays and objects whose compact form fits in `width` columns stay on one
// line, and plain values of a longer array fill their lines. Ends without a newline.
std::string to_text(const Json& value, int width = 100);

}  // namespace penstock
