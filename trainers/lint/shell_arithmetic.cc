// A recursive descent with the usual precedence. Nothing, rather than a number, where a name is not
// known, a value leaves 10^12, or parentheses nest deeper than 32: an answer is never guessed.
#include "trainers/lint/shell_arithmetic.h"

#include <cstdlib>

namespace penstock {
namespace {

using Number = std::optional<std::int64_t>;

// So that products of two stay in 64 bits.
constexpr std::int64_t kLargest = 1'000'000'000;
constexpr std::int64_t kLargestResult = 1'000'000'000'000;
constexpr int kDeepest = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_in_range(std::int64_t number) {
  return -kLargestResult <= number && number <= kLargestResult;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Arithmetic {
 public:
  Arithmetic(std::string_view text, const std::function<Number(const std::string&)>& value_of)
      : text_(text), value_of_(value_of) {}

  Number result() {
    const Number number = sum(0);
    skip_blanks();
    return at_ == text_.size() ? number : Number();
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  // The next character, if it is one of `which`; 0 otherwise.
  char take(std::string_view which) {
    skip_blanks();
    if (at_ >= text_.size() || which.find(text_[at_]) == std::string_view::npos) return 0;
    return text_[at_++];
  }

  static Number combined(char sign, std::int64_t a, std::int64_t b) {
    if (sign == '+') return a + b;
    if (sign == '-') return a - b;
    if (sign == '*') {
      if (std::abs(a) > kLargest || std::abs(b) > kLargest) return {};
      return a * b;
    }
    if (b == 0) return {};
    return sign == '/' ? a / b : a % b;
  }

  Number sum(int depth) { return chain("+-", depth, &Arithmetic::product); }
  Number product(int depth) { return chain("*/%", depth, &Arithmetic::factor); }

  Number chain(std::string_view signs, int depth, Number (Arithmetic::*part)(int)) {
    Number total = (this->*part)(depth);
    while (total) {
      const char sign = take(signs);
      if (sign == 0) break;
      const Number next = (this->*part)(depth);
      if (!next) return {};
      total = combined(sign, *total, *next);
      if (total && !is_in_range(*total)) return {};
    }
    return total;
  }

  Number factor(int depth) {
    if (depth > kDeepest) return {};
    if (take("(") != 0) {
      const Number inside = sum(depth + 1);
      return take(")") != 0 ? inside : Number();
    }
    if (take("-") != 0) {
      const Number inside = factor(depth + 1);
      return inside ? Number(-*inside) : Number();
    }
    skip_blanks();
    return at_ < text_.size() && is_digit(text_[at_]) ? digits() : name();
  }

  Number digits() {
    std::int64_t number = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      number = number * 10 + (text_[at_++] - '0');
      if (number > kLargestResult) return {};
    }
    return number;
  }

  Number name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    if (at_ == begin) return {};
    const Number value = value_of_(std::string(text_.substr(begin, at_ - begin)));
    return value && is_in_range(*value) ? value : Number();
  }

  std::string_view text_;
  const std::function<Number(const std::string&)>& value_of_;
  std::size_t at_ = 0;
};

}  // namespace

Number shell_arithmetic(std::string_view text,
                        const std::function<Number(const std::string&)>& value_of) {
  return Arithmetic(text, value_of).result();
}

}  // namespace penstock
