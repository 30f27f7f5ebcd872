#include "report/pictures/step_picture.h"

#include <algorithm>
#include <limits>
#include <string>

#include <doctest/doctest.h>

namespace penstock {
namespace {

// A step of one rank. 1,080 pixels stand for its length, so that of 1,080 ns each takes one.
StepTrace one_rank(std::int64_t length) {
  StepTrace trace{.what = "predicted", .length = Duration{length}, .ranks = {}, .flows = {}};
  trace.ranks.emplace_back();
  return trace;
}

void add(StepTrace& trace, const std::string& name, ActionKind kind, std::int64_t start,
         std::int64_t end) {
  TraceSlice slice;
  slice.name = name;
  slice.kind = kind;
  slice.lane = is_send(kind) ? TraceLane::kSends : TraceLane::kCompute;
  slice.start = Duration{start};
  slice.end = Duration{end};
  trace.ranks[0].slices.push_back(slice);
}

constexpr Colour kForward{0x2f, 0x6f, 0xd6};
constexpr std::int64_t kLeft = 11'000;  // where time begins

bool has_text(const Picture& picture, const std::string& text) {
  return std::any_of(picture.texts.begin(), picture.texts.end(),
                     [&](const PictureText& one) { return one.text == text; });
}

TEST_CASE("a wide action is a box with its name, a narrow one has none") {
  StepTrace trace = one_rank(1080);
  add(trace, "0F0", ActionKind::kForward, 100, 600);
  add(trace, "0B0", ActionKind::kFusedBackward, 600, 604);
  const Picture picture = step_picture({trace}, "a title");
  const auto box = std::find_if(picture.boxes.begin(), picture.boxes.end(),
                                [](const PictureBox& one) { return one.colour == kForward; });
  REQUIRE(box != picture.boxes.end());
  CHECK(box->left == kLeft + 100 * kPixel);
  CHECK(box->width == 500 * kPixel - kPixel / 2);  // its neighbour stays apart
  CHECK(has_text(picture, "0F0"));
  CHECK(!has_text(picture, "0B0"));
  CHECK(has_text(picture, "rank 0"));
  CHECK(has_text(picture, "F forward"));
  CHECK(has_text(picture, "a title"));
}

// 10,800 ns: ten of them a pixel. From 10.5 to 11.7
// pixels, in two actions, column 10 is covered by half and column 11 by 0.7.
TEST_CASE("what is narrower than a pixel colours its columns by exact coverage") {
  StepTrace trace = one_rank(10'800);
  add(trace, "0F0", ActionKind::kForward, 105, 111);
  add(trace, "0F1", ActionKind::kForward, 111, 117);
  const Picture picture = step_picture({trace}, "");
  const auto at = [&](std::int64_t column) {
    for (const PictureBox& box : picture.boxes) {
      if (box.left == kLeft + column * kPixel && box.width == kPixel) return box.colour;
    }
    return Colour{};
  };
  // Half forward and half idle (ec ee f1): (47 + 236) / 2 = 141, (111 + 238) / 2 = 174,
  // (214 + 241) / 2 = 227, each in steps of 8.
  CHECK(at(10) == Colour{136, 168, 224});
  // 0.7 and 0.3: 103.7, 149.1, 222.1.
  CHECK(at(11) == Colour{96, 144, 216});
  CHECK(at(12) == Colour{});
}

TEST_CASE("a step of a million actions is a small file") {
  StepTrace trace = one_rank(10'000'000);
  for (int i = 0; i < 1'000'000; ++i) {
    add(trace, "0F0", i % 2 == 0 ? ActionKind::kForward : ActionKind::kFusedBackward, 10 * i,
        10 * i + 9);
  }
  CHECK(svg_of(step_picture({trace}, "")).size() < 200'000);
}

TEST_CASE("two steps share one scale of time, and the title is escaped") {
  StepTrace predicted = one_rank(1000), measured = one_rank(1080);
  measured.what = "measured";
  add(predicted, "0F0", ActionKind::kForward, 0, 1000);
  add(measured, "0F0", ActionKind::kForward, 0, 1080);
  const Picture picture = step_picture({predicted, measured}, "a <b> & c");
  CHECK(has_text(picture, "predicted: 1 us"));
  CHECK(has_text(picture, "measured: 1.08 us"));
  const std::string svg = svg_of(picture);
  CHECK(svg.find("<title>a &lt;b&gt; &amp; c</title>") != std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
  std::vector<std::int64_t> widths;
  for (const PictureBox& box : picture.boxes) {
    if (box.colour == kForward && box.width > 100 * kPixel) widths.push_back(box.width);
  }
  CHECK(widths ==
        std::vector<std::int64_t>{1000 * kPixel - kPixel / 2, 1080 * kPixel - kPixel / 2});
}

TEST_CASE("a step without length, and one of 292 years, can be drawn") {
  CHECK(step_picture({one_rank(0)}, "").height > 0);
  StepTrace trace = one_rank(std::numeric_limits<std::int64_t>::max());
  add(trace, "0F0", ActionKind::kForward, 0, std::numeric_limits<std::int64_t>::max());
  const Picture picture = step_picture({trace}, "");
  CHECK(has_text(picture, "0F0"));
}

}  // namespace
}  // namespace penstock
