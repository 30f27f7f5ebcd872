// The header is a Python literal of a dictionary with three keys, written by NumPy in one form:
//   {'descr': '<u2', 'fortran_order': False, 'shape': (1000, 513), }
// Keys may come in any order; a structured type has a list for 'descr' and is refused.
#include "runtime_bridge/npy_header.h"

#include <charconv>
#include <limits>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

class Literal {
 public:
  Literal(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader read() {
    NpyHeader header;
    expect('{');
    while (!take('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        header.descr = string();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = tuple();
      } else {
        refuse("unknown key '" + key + "'");
      }
      static_cast<void>(take(','));
    }
    if (header.descr.empty()) refuse("no 'descr'");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw_bad_input(file_ + ": a .npy header that cannot be read: " + what +
                    "\nhelp: write the array with numpy.save, of plain integers");
  }
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    if (at_ == text_.size()) refuse("it ends early");
    return text_[at_];
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("expected '") + c + "' at character " + std::to_string(at_));
  }
  std::string string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') refuse("elements of several fields, or no text");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("a text without an end");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::string(inside);
  }
  bool boolean() {
    static_cast<void>(next());
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    refuse("expected True or False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    expect('(');
    while (!take(')')) {
      std::int64_t number = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
      if (error != std::errc() || number < 0) refuse("a shape that is not a list of sizes");
      at_ += static_cast<std::size_t>(end - begin);
      numbers.push_back(number);
      static_cast<void>(take(','));
    }
    return numbers;
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

// A header may say anything: what is beyond all files stays there.
std::int64_t elements_of(const NpyHeader& header) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t elements = 1;
  for (const std::int64_t size : header.shape) {
    if (size != 0 && elements > kMost / size) return kMost;
    elements *= size;
  }
  return elements;
}

std::optional<TokenType> integers_of(const NpyHeader& header) {
  struct Known {
    std::string_view descr;
    TokenType type;
  };
  static constexpr Known kKnown[] = {{"|u1", TokenType::kUint8},
                                     {"<u2", TokenType::kUint16},
                                     {"<u4", TokenType::kUint32},
                                     {"<i4", TokenType::kInt32},
                                     {"<i8", TokenType::kInt64}};
  for (const Known& known : kKnown) {
    if (known.descr == header.descr) return known.type;
  }
  return std::nullopt;
}

bool is_npy(std::string_view begin) { return begin.starts_with(kMagic); }

NpyHeader read_npy_header(std::string_view begin, const std::string& file) {
  const std::size_t version_at = kMagic.size();
  const std::size_t length_bytes = begin.size() > version_at && begin[version_at] == 1 ? 2 : 4;
  const std::size_t length_at = version_at + 2;
  if (!is_npy(begin) || begin.size() < length_at + length_bytes) {
    throw_bad_input(file + ": is not a complete .npy file");
  }
  const std::size_t length = little_endian(begin.substr(length_at, length_bytes));
  const std::size_t text_at = length_at + length_bytes;
  if (begin.size() - text_at < length) throw_bad_input(file + ": ends within its .npy header");
  NpyHeader header = Literal(begin.substr(text_at, length), file).read();
  header.data_offset = text_at + length;
  return header;
}

}  // namespace penstock
