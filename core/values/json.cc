// Parsing is nlohmann's SAX interface with a handler of our own, because its value type keeps
// neither lines nor the text of numbers. Containers under construction lie on an explicit stack;
// depth and number of values are bounded, so that a hostile file ends in an error and not in
// exhausted memory. Messages of the library are cut down to what a person needs.
#include "core/values/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "core/values/error.h"

namespace penstock {

Json::Json(bool value) : kind_(Kind::kBool), bool_(value) {}
Json::Json(std::int64_t value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
Json::Json(int value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
Json::Json(std::uint64_t value) : kind_(Kind::kNumber), text_(std::to_string(value)) {}
Json::Json(std::string value) : kind_(Kind::kString), text_(std::move(value)) {}
Json::Json(const char* value) : kind_(Kind::kString), text_(value) {}

Json::Json(double value) : kind_(Kind::kNumber) {
  if (!std::isfinite(value)) {
    throw Error(ErrorKind::kInternal, "JSON has no way to write an infinite number or NaN");
  }
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  text_.assign(buffer.data(), result.ptr);
}

Json Json::array() {
  Json value;
  value.kind_ = Kind::kArray;
  return value;
}

Json Json::object() {
  Json value;
  value.kind_ = Kind::kObject;
  return value;
}

Json Json::number(std::string text) {
  Json value(std::move(text));
  value.kind_ = Kind::kNumber;
  return value;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Json& Json::set(std::string key, Json value) {
  members_.emplace_back(std::move(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  elements_.push_back(std::move(value));
  return *this;
}

bool Json::operator==(const Json& other) const {
  return kind_ == other.kind_ && bool_ == other.bool_ && text_ == other.text_ &&
         elements_ == other.elements_ && members_ == other.members_;
}

namespace {

constexpr std::size_t kDeepest = 64;
// A value takes some 100 bytes, so a hostile file of "[0,0,0,..." stays at a few GiB.
constexpr std::size_t kMostValues = std::size_t{1} << 25;

// How much of the text the parser has read. The parser copies its iterator, so they all count here.
struct Progress {
  std::string_view text;
  std::size_t read = 0;
  int newlines = 0;

  // The line of the token that was just read. The parser reads one character past a number; when
  // that is a newline, it does not belong to the token. No other token ends in one.
  [[nodiscard]] int line() const {
    const bool looked_ahead = read > 0 && text[read - 1] == '\n';
    return newlines + 1 - (looked_ahead ? 1 : 0);
  }

  // The text of the number that was just read.
  [[nodiscard]] std::string number() const {
    constexpr std::string_view kCharacters = "0123456789+-.eE";
    const std::size_t end = text.find_last_of(kCharacters, read - 1) + 1;
    const std::size_t before = text.find_last_not_of(kCharacters, end - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return std::string(text.substr(begin, end - begin));
  }
};

// What nlohmann's lexer reads through; it only dereferences, increments and compares with the end.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;  // the end
  explicit CountingIterator(Progress* progress) : progress_(progress) {}

  reference operator*() const { return progress_->text[progress_->read]; }
  CountingIterator& operator++() {
    if (progress_->text[progress_->read++] == '\n') ++progress_->newlines;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_end() == other.at_end(); }

 private:
  [[nodiscard]] bool at_end() const {
    return progress_ == nullptr || progress_->read == progress_->text.size();
  }
  Progress* progress_ = nullptr;
};

// "[json.exception.parse_error.101] parse error at line 1, column 4: syntax error ..." without what
// our own message says already, and without the start of a long token.
std::string complaint_of(std::string what) {
  if (const std::size_t at = what.find("syntax error"); at != std::string::npos) {
    what.erase(0, at);
  } else if (const std::size_t bracket = what.find("] "); bracket != std::string::npos) {
    what.erase(0, bracket + 2);
  }
  constexpr std::string_view kLastRead = "last read: '";
  constexpr std::size_t kTail = 60;
  if (const std::size_t at = what.find(kLastRead);
      at != std::string::npos && what.size() > at + kLastRead.size() + kTail) {
    what.replace(at + kLastRead.size(), what.size() - kTail - at - kLastRead.size(), "...");
  }
  for (char& c : what) {
    if (c < ' ' || c > '~') c = '?';  // the token may hold half a character
  }
  return what;
}

// nlohmann calls one method per token; the names are its interface. Containers under construction
// lie on a stack of ours, so that depth costs no C++ stack.
class Builder {
 public:
  Builder(const Progress& progress, const std::string& file) : progress_(progress), file_(file) {}

  Json take() { return std::move(root_); }

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t) { return add(Json::number(progress_.number())); }
  bool number_unsigned(std::uint64_t) { return add(Json::number(progress_.number())); }
  bool number_float(double, const std::string&) { return add(Json::number(progress_.number())); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // JSON text has none

  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second) {
      fail("the key " + to_text(Json(name)) + " appears twice in one object; keep one of them");
    }
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    fail(complaint_of(error.what()));
  }

 private:
  struct Frame {
    Json value;
    std::string key;  // that the next value of an object gets
    std::unordered_set<std::string> keys;
  };

  bool add(Json value) {
    value.set_line(progress_.line());
    count_value();
    attach(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kDeepest) {
      fail("nested deeper than " + std::to_string(kDeepest) + " levels");
    }
    value.set_line(progress_.line());
    count_value();
    open_.push_back({.value = std::move(value), .key = {}, .keys = {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    attach(std::move(value));
    return true;
  }

  void attach(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.kind() == Json::Kind::kArray) {
      open_.back().value.push(std::move(value));
    } else {
      open_.back().value.set(std::move(open_.back().key), std::move(value));
    }
  }

  void count_value() {
    if (++values_ > kMostValues) {
      fail("more than " + std::to_string(kMostValues) + " values in one file");
    }
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw_bad_input(file_ + ":" + std::to_string(progress_.line()) + ": " + message);
  }

  const Progress& progress_;
  const std::string& file_;
  Json root_;
  std::vector<Frame> open_;
  std::size_t values_ = 0;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  Progress progress{.text = text};
  Builder builder(progress, file);
  nlohmann::json::sax_parse(CountingIterator(&progress), CountingIterator(), &builder,
                            nlohmann::json::input_format_t::json, /*strict=*/true,
                            /*ignore_comments=*/true);
  return builder.take();
}

}  // namespace penstock
