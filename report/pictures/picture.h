// A drawing of rectangles, lines and texts, before it is SVG or PNG. Lengths are in hundredths of a
// pixel, whole numbers, so that the same step gives the same bytes everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

inline constexpr std::int64_t kPixel = 100;

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Colour&) const = default;
};

struct PictureBox {
  std::int64_t left = 0, top = 0, width = 0, height = 0;
  Colour colour;
  bool operator==(const PictureBox&) const = default;
};

enum class TextAnchor { kStart, kMiddle, kEnd };

struct PictureText {
  std::int64_t x = 0, baseline = 0, size = 0;
  TextAnchor anchor = TextAnchor::kStart;
  Colour colour;
  std::string text;
  bool operator==(const PictureText&) const = default;
};

struct Picture {
  std::int64_t width = 0, height = 0;
  std::string title;              // for those who cannot see it
  std::vector<PictureBox> boxes;  // later ones lie on top; a thin one is a line
  std::vector<PictureText> texts;
};

// As SVG 1.1: no script, no style sheet, nothing from elsewhere.
std::string svg_of(const Picture& picture);

}  // namespace penstock
