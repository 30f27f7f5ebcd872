// to_text(Json): how files look.
#include <cstddef>

#include "core/values/json.h"

namespace penstock {
namespace {

// The length of the UTF-8 character at the front of `text` (RFC 3629), 0 when it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [byte](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return continues(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const bool overlong = first == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = first == 0xEDU && byte(1) > 0x9FU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const bool overlong = first == 0xF0U && byte(1) < 0x90U;
    const bool beyond = first == 0xF4U && byte(1) > 0x8FU;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

std::string escaped(char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20U && byte != 0x7FU) return {c};
  constexpr std::string_view kHex = "0123456789abcdef";
  return std::string("\\u00") + kHex[byte >> 4U] + kHex[byte & 15U];
}

// File names need not be UTF-8, JSON must be: bytes that are not become the replacement character.
void append_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      out += escaped(text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

bool is_container(const Json& value) {
  return value.kind() == Json::Kind::kArray || value.kind() == Json::Kind::kObject;
}

void append_scalar(std::string& out, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::kNull:
      out += "null";
      break;
    case Json::Kind::kBool:
      out += value.boolean() ? "true" : "false";
      break;
    case Json::Kind::kNumber:
      out += value.text();
      break;
    default:
      append_string(out, value.text());
  }
}

void append_key(std::string& out, const std::string& key) {
  append_string(out, key);
  out += ": ";
}

// Appends the compact form, but gives up as soon as `out` is longer than `most`: the work for one
// container is bounded by the width of a line, whatever it holds.
bool append_compact(std::string& out, const Json& value, std::size_t most) {
  if (!is_container(value)) {
    append_scalar(out, value);
    return out.size() <= most;
  }
  const bool array = value.kind() == Json::Kind::kArray;
  out += array ? '[' : '{';
  bool first = true;
  const auto separate = [&out, &first] {
    if (!first) out += ", ";
    first = false;
  };
  for (const Json& element : value.elements()) {
    separate();
    if (!append_compact(out, element, most)) return false;
  }
  for (const Json::Member& member : value.members()) {
    separate();
    append_key(out, member.first);
    if (!append_compact(out, member.second, most)) return false;
  }
  out += array ? ']' : '}';
  return out.size() <= most;
}

class Writer {
 public:
  explicit Writer(int width) : width_(width > 0 ? static_cast<std::size_t>(width) : 0) {}

  std::string take() { return std::move(out_); }

  void write(const Json& value, std::size_t indent) {
    if (!is_container(value)) return append_scalar(out_, value);
    const bool array = value.kind() == Json::Kind::kArray;
    if (array ? value.elements().empty() : value.members().empty()) {
      out_ += array ? "[]" : "{}";
    } else if (!write_on_this_line(value)) {
      array ? write_array(value, indent + 2) : write_object(value, indent + 2);
      new_line(indent);
      out_ += array ? ']' : '}';
    }
  }

 private:
  [[nodiscard]] std::size_t column() const { return out_.size() - line_start_; }

  void new_line(std::size_t indent) {
    out_ += '\n';
    line_start_ = out_.size();
    out_.append(indent, ' ');
  }

  // One column is kept for the comma that may follow.
  bool write_on_this_line(const Json& value) {
    const std::size_t before = out_.size();
    const std::size_t most = line_start_ + (width_ > 0 ? width_ - 1 : 0);
    if (append_compact(out_, value, most)) return true;
    out_.resize(before);
    return false;
  }

  void write_object(const Json& value, std::size_t indent) {
    out_ += '{';
    bool first = true;
    for (const Json::Member& member : value.members()) {
      if (!first) out_ += ',';
      first = false;
      new_line(indent);
      append_key(out_, member.first);
      write(member.second, indent);
    }
  }

  // Plain values fill their lines, so that a list of ten thousand names is not as many lines.
  void write_array(const Json& value, std::size_t indent) {
    out_ += '[';
    const Json* previous = nullptr;
    for (const Json& element : value.elements()) {
      if (previous != nullptr) out_ += ',';
      const bool fills = previous != nullptr && !is_container(*previous) && !is_container(element);
      if (!fills || !append_to_line(element)) {
        new_line(indent);
        write(element, indent);
      }
      previous = &element;
    }
  }

  bool append_to_line(const Json& scalar) {
    const std::size_t before = out_.size();
    out_ += ' ';
    append_scalar(out_, scalar);
    if (column() < width_) return true;
    out_.resize(before);
    return false;
  }

  std::string out_;
  std::size_t width_;
  std::size_t line_start_ = 0;
};

}  // namespace

std::string to_text(const Json& value, int width) {
  Writer writer(width);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace penstock
