// A drawing is a list of boxes and texts in hundredths of a pixel, which picture.cc and the PNG
// writer paint. Actions at least a pixel wide are boxes of their own; narrower ones are summed per
// column of pixels, and the column gets the mixture of their colours over the colour of idle time,
// so that a picture of a million actions has a few thousand boxes and still shows how busy every
// column is. Positions are integers, so pictures have the same bytes everywhere.
#include "report/pictures/step_picture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/values/action_rules.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::int64_t kLabels = 110 * kPixel;  // width left of the rows
constexpr std::int64_t kColumns = 1080;         // pixels that the longest step takes
constexpr std::int64_t kMargin = 10 * kPixel;
constexpr std::int64_t kRowHeight = 18 * kPixel;  // compute
constexpr std::int64_t kLaneHeight = 5 * kPixel;  // sends and collectives below it
constexpr std::int64_t kRowPitch = 28 * kPixel;
constexpr std::int64_t kTextSize = 10 * kPixel;
constexpr std::int64_t kNameSize = 9 * kPixel;
constexpr std::int64_t kHeldHeight = 16 * kPixel, kHeldPitch = 20 * kPixel;
constexpr std::size_t kMostRanks = 256;

constexpr Colour kGround{0xec, 0xee, 0xf1};  // idle
constexpr Colour kInk{0x22, 0x26, 0x2c};
constexpr Colour kGrid{0xc4, 0xc9, 0xd0};
constexpr Colour kHeld{0x8f, 0xa8, 0xcf};
constexpr Colour kWhite{0xff, 0xff, 0xff};

// By kind; those of the HTML report in its light theme.
constexpr std::array<Colour, kActionKinds> kColours = {{
    {0x2f, 0x6f, 0xd6},  // F
    {0x14, 0x90, 0x8c},  // I
    {0x3f, 0x9a, 0x45},  // W
    {0xe8, 0x87, 0x1e},  // B
    {0x9a, 0xa1, 0xab},  // R
    {0x8d, 0x6b, 0xc4},  // SEND_F
    {0xa8, 0xad, 0xb5},  // RECV_F
    {0xb7, 0x9a, 0xe0},  // SEND_B
    {0xa8, 0xad, 0xb5},  // RECV_B
    {0x6f, 0x6a, 0x9c},  // UNSHARD
    {0xa8, 0xad, 0xb5},  // RESHARD
    {0xa9, 0x7c, 0xa3},  // TIED_REDUCE
    {0x86, 0x55, 0x7f},  // REDUCE_GRAD
    {0x7b, 0x84, 0x94},  // NORM
    {0x59, 0x60, 0x6b},  // OPT
    {0xc2, 0x8e, 0x2c},  // LOAD
    {0xd8, 0xb4, 0x6a},  // STORE
}};

Colour colour_of(ActionKind kind) { return kColours[static_cast<std::size_t>(kind)]; }

// White on dark colours, else ink: by brightness as the eye weighs it.
Colour ink_on(Colour colour) {
  const int brightness = (299 * colour.red + 587 * colour.green + 114 * colour.blue) / 1000;
  return brightness < 140 ? kWhite : kInk;
}

// What stands in one row of pixels, column by column: how much of each kind, in hundredths.
class Coverage {
 public:
  Coverage() : columns_(static_cast<std::size_t>(kColumns)) {}

  // From `left` to `right`, in hundredths of a pixel.
  void add(std::int64_t left, std::int64_t right, ActionKind kind) {
    for (std::int64_t at = left; at < right;) {
      const std::int64_t column = at / kPixel;
      const std::int64_t end = std::min(right, (at / kPixel + 1) * kPixel);
      columns_[static_cast<std::size_t>(column)].add(kind, end - at);
      at = end;
    }
  }

  // Neighbours of one colour become one box; empty columns none.
  void draw(std::int64_t top, std::int64_t height, std::vector<PictureBox>& boxes) const {
    const std::size_t before = boxes.size();
    for (std::int64_t i = 0; i < kColumns; ++i) {
      const Column& column = columns_[static_cast<std::size_t>(i)];
      if (column.covered == 0) continue;
      const Colour colour = column.mixed();
      const std::int64_t left = kLabels + i * kPixel;
      if (boxes.size() > before && boxes.back().colour == colour &&
          boxes.back().left + boxes.back().width == left) {
        boxes.back().width += kPixel;
      } else {
        boxes.push_back({left, top, kPixel, height, colour});
      }
    }
  }

 private:
  struct Column {
    std::int64_t covered = 0, red = 0, green = 0, blue = 0;  // weighted sums
    void add(ActionKind kind, std::int64_t weight) {
      const Colour colour = colour_of(kind);
      covered += weight;
      red += weight * colour.red;
      green += weight * colour.green;
      blue += weight * colour.blue;
    }
    [[nodiscard]] Colour mixed() const {
      const std::int64_t idle = std::max<std::int64_t>(0, kPixel - covered);
      const std::int64_t all = covered + idle;
      const auto mix = [&](std::int64_t sum, std::int64_t ground) {
        // In steps of 8, so that neighbours that look the same become one box.
        return static_cast<std::uint8_t>((sum + idle * ground) / all / 8 * 8);
      };
      return {mix(red, kGround.red), mix(green, kGround.green), mix(blue, kGround.blue)};
    }
  };
  std::vector<Column> columns_;
};

class Drawing {
 public:
  Drawing(const std::vector<StepTrace>& traces, const StepPictureOptions& options)
      : traces_(traces), held_unit_(options.held_per_micro_batch) {
    picture_.title = options.title;
    picture_.width = kLabels + kColumns * kPixel + 3 * kMargin;
    Duration to = options.to;
    if (to == Duration{}) {
      for (const StepTrace& trace : traces) to = std::max(to, trace.length);
    }
    from_ = options.from;
    length_ = std::max(to - from_, Duration{1});
    for (const StepTrace& trace : traces) {
      for (const TraceRank& rank : trace.ranks) {
        most_held_ = std::max(most_held_, most_held(rank));
      }
    }
  }

  Picture draw() {
    top_ = kMargin + kTextSize;
    text(kMargin, top_, 13 * kPixel, TextAnchor::kStart, kInk, picture_.title);
    top_ += kMargin;
    for (const StepTrace& trace : traces_) draw_trace(trace);
    draw_axis();
    draw_legend();
    picture_.height = top_ + kMargin;
    return std::move(picture_);
  }

 private:
  // Hundredths of a pixel from the start of the step, without overflow for any length.
  [[nodiscard]] std::int64_t x_of(Duration time) const {
    constexpr std::int64_t kWidth = kColumns * kPixel;
    const std::int64_t length = length_.count();
    const std::int64_t t = std::clamp<std::int64_t>((time - from_).count(), 0, length);
    if (length <= std::numeric_limits<std::int64_t>::max() / kWidth) return t * kWidth / length;
    return std::min(kWidth, t / (length / kWidth));
  }

  void text(std::int64_t x, std::int64_t baseline, std::int64_t size, TextAnchor anchor,
            Colour colour, std::string words) {
    picture_.texts.push_back({x, baseline, size, anchor, colour, std::move(words)});
  }

  void draw_trace(const StepTrace& trace) {
    top_ += kMargin;
    if (traces_.size() > 1) {
      text(kMargin, top_ + kTextSize, kTextSize, TextAnchor::kStart, kInk,
           fmt::format("{}: {}", trace.what, to_text(trace.length)));
      top_ += 2 * kMargin;
    }
    const std::size_t ranks = std::min(trace.ranks.size(), kMostRanks);
    for (std::size_t r = 0; r < ranks; ++r) draw_rank(trace.ranks[r]);
    if (held_unit_ > 0) draw_held(trace, ranks);
    if (ranks == trace.ranks.size()) return;
    text(kMargin, top_ + kTextSize, kTextSize, TextAnchor::kStart, kInk,
         fmt::format("{} more ranks are not drawn", trace.ranks.size() - ranks));
    top_ += 2 * kMargin;
  }

  void draw_rank(const TraceRank& rank) {
    const std::string copies = rank.replicas > 1 ? fmt::format(" x{}", rank.replicas) : "";
    text(kLabels - kPixel * 6, top_ + 13 * kPixel, kTextSize, TextAnchor::kEnd, kInk,
         fmt::format("rank {}{}", rank.rank, copies));
    picture_.boxes.push_back({kLabels, top_, kColumns * kPixel, kRowHeight, kGround});
    Coverage narrow, beside;
    for (const TraceSlice& slice : rank.slices) {
      if (!is_shown(slice)) continue;
      seen_[static_cast<std::size_t>(slice.kind)] = true;
      if (slice.lane != TraceLane::kCompute) {
        beside.add(x_of(slice.start), x_of(slice.end), slice.kind);
      } else if (!is_wide(slice)) {
        narrow.add(x_of(slice.start), x_of(slice.end), slice.kind);
      }
    }
    narrow.draw(top_, kRowHeight, picture_.boxes);
    for (const TraceSlice& slice : rank.slices) {
      if (is_shown(slice) && slice.lane == TraceLane::kCompute && is_wide(slice)) draw_box(slice);
    }
    beside.draw(top_ + kRowHeight + kPixel, kLaneHeight, picture_.boxes);
    top_ += kRowPitch;
  }

  [[nodiscard]] bool is_shown(const TraceSlice& slice) const {
    return slice.end > from_ && slice.start < from_ + length_;
  }

  // How many micro-batches' activations each rank holds, all on one scale.
  void draw_held(const StepTrace& trace, std::size_t ranks) {
    top_ += kMargin;
    text(kLabels, top_ + kTextSize, kTextSize, TextAnchor::kStart, kInk,
         "activations held, in micro-batches of a whole rank");
    top_ += 2 * kMargin;
    for (std::size_t r = 0; r < ranks; ++r) {
      const TraceRank& rank = trace.ranks[r];
      text(kLabels - kPixel * 6, top_ + 13 * kPixel, kTextSize, TextAnchor::kEnd, kInk,
           fmt::format("rank {}: {}", rank.rank, in_micro_batches(most_held(rank))));
      picture_.boxes.push_back({kLabels, top_ + kHeldHeight, kColumns * kPixel, kPixel / 2, kGrid});
      draw_held_of(rank);
      top_ += kHeldPitch;
    }
    top_ += kMargin;
  }

  [[nodiscard]] static std::int64_t most_held(const TraceRank& rank) {
    std::int64_t most = 0;
    for (const MemoryPoint& point : rank.memory) most = std::max(most, point.stash.count);
    return most;
  }

  [[nodiscard]] std::string in_micro_batches(std::int64_t held) const {
    const bool whole = held % held_unit_ == 0;
    return fixed(static_cast<double>(held) / static_cast<double>(held_unit_), whole ? 0 : 2);
  }

  // A column of pixels is as high as the most that is held in it; equal neighbours are one box.
  void draw_held_of(const TraceRank& rank) {
    std::vector<std::int64_t> columns(static_cast<std::size_t>(kColumns));
    for (std::size_t i = 0; i < rank.memory.size(); ++i) {
      const Duration end = i + 1 < rank.memory.size() ? rank.memory[i + 1].time : from_ + length_;
      if (end <= from_ || rank.memory[i].time >= from_ + length_) continue;
      const std::int64_t last = std::min(kColumns - 1, x_of(end) / kPixel);
      for (std::int64_t c = x_of(rank.memory[i].time) / kPixel; c <= last; ++c) {
        std::int64_t& column = columns[static_cast<std::size_t>(std::min(c, kColumns - 1))];
        column = std::max(column, rank.memory[i].stash.count);
      }
    }
    for (std::int64_t c = 0; c < kColumns;) {
      const std::int64_t held = columns[static_cast<std::size_t>(c)];
      std::int64_t end = c + 1;
      while (end < kColumns && columns[static_cast<std::size_t>(end)] == held) ++end;
      const std::int64_t height = kHeldHeight * held / most_held_;
      if (height > 0) {
        picture_.boxes.push_back(
            {kLabels + c * kPixel, top_ + kHeldHeight - height, (end - c) * kPixel, height, kHeld});
      }
      c = end;
    }
  }

  [[nodiscard]] bool is_wide(const TraceSlice& slice) const {
    return x_of(slice.end) - x_of(slice.start) >= kPixel;
  }

  void draw_box(const TraceSlice& slice) {
    const std::int64_t left = x_of(slice.start), right = x_of(slice.end);
    const Colour colour = colour_of(slice.kind);
    // Neighbours stay apart where there is room.
    const std::int64_t gap = right - left >= 4 * kPixel ? kPixel / 2 : 0;
    picture_.boxes.push_back({kLabels + left, top_, right - left - gap, kRowHeight, colour});
    // A letter is about 0.65 of its size wide.
    const auto needed = std::ssize(slice.name) * kNameSize * 65 / 100;
    if (needed + 2 * kPixel > right - left) return;
    text(kLabels + (left + right) / 2, top_ + 12 * kPixel, kNameSize, TextAnchor::kMiddle,
         ink_on(colour), slice.name);
  }

  // 1, 2 or 5 times a power of ten, so that there are at most ten ticks.
  [[nodiscard]] Duration tick() const {
    std::int64_t step = 1;
    for (int i = 0; length_.count() / step > 10; ++i) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return Duration{step};
  }

  void draw_axis() {
    const Duration step = tick();
    picture_.boxes.push_back({kLabels, top_, kColumns * kPixel, kPixel, kGrid});
    const std::int64_t first = (from_.count() + step.count() - 1) / step.count();
    for (std::int64_t i = first; i <= (from_ + length_) / step; ++i) {
      const std::int64_t x = kLabels + x_of(step * i);
      picture_.boxes.push_back({x, top_, kPixel, 5 * kPixel, kGrid});
      text(x, top_ + 16 * kPixel, kTextSize, i == 0 ? TextAnchor::kStart : TextAnchor::kMiddle,
           kInk, i == 0 ? "0" : to_text(step * i));
    }
    top_ += 32 * kPixel;
  }

  void draw_legend() {
    std::int64_t x = kLabels;
    for (std::size_t kind = 0; kind < seen_.size(); ++kind) {
      if (!seen_[kind]) continue;
      const auto action = static_cast<ActionKind>(kind);
      const Colour colour = colour_of(action);
      const std::string words = fmt::format("{} {}", name_of(action), rule_of(action).meaning);
      const auto width = std::ssize(words) * kTextSize * 62 / 100;
      if (x + width + 30 * kPixel > picture_.width && x > kLabels) {
        x = kLabels;
        top_ += 18 * kPixel;
      }
      picture_.boxes.push_back({x, top_, 10 * kPixel, 10 * kPixel, colour});
      text(x + 14 * kPixel, top_ + 9 * kPixel, kTextSize, TextAnchor::kStart, kInk, words);
      x += width + 30 * kPixel;
    }
    top_ += 12 * kPixel;
  }

  const std::vector<StepTrace>& traces_;
  Duration from_{}, length_{};
  std::int64_t held_unit_ = 0, most_held_ = 1;
  Picture picture_;
  std::int64_t top_ = 0;
  std::array<bool, static_cast<std::size_t>(kActionKinds)> seen_{};
};

}  // namespace

Picture step_picture(const std::vector<StepTrace>& traces, const StepPictureOptions& options) {
  return Drawing(traces, options).draw();
}

Picture step_picture(const std::vector<StepTrace>& traces, const std::string& title) {
  StepPictureOptions options;
  options.title = title;
  return step_picture(traces, options);
}

}  // namespace penstock
