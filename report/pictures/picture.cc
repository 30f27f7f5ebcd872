#include "report/pictures/picture.h"

#include <fmt/format.h>

namespace penstock {
namespace {

// "12.5" from 1250.
std::string pixels(std::int64_t length) {
  std::string text = fmt::format("{}.{:02}", length / kPixel, length % kPixel);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        // XML has no other control characters.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

const char* anchor_of(const PictureText& text) {
  switch (text.anchor) {
    case TextAnchor::kMiddle:
      return R"( text-anchor="middle")";
    case TextAnchor::kEnd:
      return R"( text-anchor="end")";
    default:
      return "";
  }
}

}  // namespace

std::string svg_of(const Picture& picture) {
  const std::string width = pixels(picture.width), height = pixels(picture.height);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\""
      " role=\"img\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height, escaped(picture.title));
  for (const PictureBox& box : picture.boxes) {
    svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                       pixels(box.left), pixels(box.top), pixels(box.width), pixels(box.height),
                       hex(box.colour));
  }
  for (const PictureText& text : picture.texts) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}>{}</text>\n",
                       pixels(text.x), pixels(text.baseline), pixels(text.size), hex(text.colour),
                       anchor_of(text), escaped(text.text));
  }
  return svg + "</svg>\n";
}

}  // namespace penstock
