#include <memory>
#include <string>

#include <cairo.h>

#include "cli/io/png.h"
#include "core/values/error.h"

namespace penstock {
namespace {

constexpr double kScale = 2.0;
constexpr std::int64_t kMostPixels = 32'767;  // cairo's limit in each direction

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
struct DestroyContext {
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using Surface = std::unique_ptr<cairo_surface_t, DestroySurface>;
using Context = std::unique_ptr<cairo_t, DestroyContext>;

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::kMissingResource, std::string("the PNG cannot be drawn: ") +
                                               cairo_status_to_string(status) +
                                               "\nhelp: write --format svg");
}

double pixels(std::int64_t length) {
  return static_cast<double>(length) / static_cast<double>(kPixel);
}

int size_of(std::int64_t length) {
  const std::int64_t size = 2 * ((length + kPixel - 1) / kPixel);
  if (size > kMostPixels) {
    throw Error(ErrorKind::kMissingResource,
                "the PNG would be larger than 32,767 pixels\nhelp: write --format svg");
  }
  return static_cast<int>(size);
}

void set_colour(cairo_t* context, Colour colour) {
  cairo_set_source_rgb(context, colour.red / 255.0, colour.green / 255.0, colour.blue / 255.0);
}

void draw(cairo_t* context, const PictureText& text) {
  set_colour(context, text.colour);
  cairo_set_font_size(context, pixels(text.size));
  cairo_text_extents_t extents;
  cairo_text_extents(context, text.text.c_str(), &extents);
  double x = pixels(text.x);
  if (text.anchor == TextAnchor::kMiddle) x -= extents.x_advance / 2;
  if (text.anchor == TextAnchor::kEnd) x -= extents.x_advance;
  cairo_move_to(context, x, pixels(text.baseline));
  cairo_show_text(context, text.text.c_str());
}

cairo_status_t append(void* to, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string png_of(const Picture& picture) {
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, size_of(picture.width),
                                                   size_of(picture.height)));
  check(cairo_surface_status(surface.get()));
  const Context context(cairo_create(surface.get()));
  cairo_scale(context.get(), kScale, kScale);
  set_colour(context.get(), {0xff, 0xff, 0xff});
  cairo_paint(context.get());
  for (const PictureBox& box : picture.boxes) {
    set_colour(context.get(), box.colour);
    cairo_rectangle(context.get(), pixels(box.left), pixels(box.top), pixels(box.width),
                    pixels(box.height));
    cairo_fill(context.get());
  }
  cairo_select_font_face(context.get(), "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  for (const PictureText& text : picture.texts) draw(context.get(), text);
  check(cairo_status(context.get()));
  std::string png;
  check(cairo_surface_write_to_png_stream(surface.get(), append, &png));
  return png;
}

}  // namespace penstock
