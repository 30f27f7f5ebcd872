// A step of a million boxes would be 100 MB of JSON. The boxes are written as arrays, one field
// after the other (structure of arrays, little endian, the widest fields first, so that every array
// is aligned in the page), then compressed and in base64. Times are 32-bit multiples of a tick, the
// least whole nanosecond count that holds the step. Where a tick is longer than 1 ns, boxes of one
// row are moved so that they still follow each other.
#include "report/page/timeline_payload.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/values/action_kind.h"
#include "report/page/packed_text.h"

namespace penstock {
namespace {

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint8_t kCritical = 1;

// Arrays of numbers, little endian, one behind the other.
class Bytewise {
 public:
  template <class Unsigned>
  void add(Unsigned value) {
    for (std::size_t i = 0; i < sizeof(value); ++i) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(std::uint64_t{value} >> (8 * i)));
    }
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Payload {
 public:
  Payload(const PlanFile& plan, const StepTrace& trace, const TimelineRows& rows,
          const BoxLinks& links)
      : plan_(plan), trace_(trace), rows_(rows), links_(links), tick_(tick_of(trace.length)) {}

  [[nodiscard]] Json about(const TimelineNames& names) const {
    Json json = Json::object();
    json.set("id", names.id).set("title", names.title).set("what", trace_.what);
    json.set("plan", names.plan);
    if (trace_.what == "measured") json.set("step", trace_.step);
    json.set("length_ns", std::int64_t{trace_.length.count()}).set("tick_ns", tick_);
    json.set("boxes", std::ssize(rows_.boxes));
    json.set("kinds", kinds()).set("rows", rows_json()).set("memory", memory_json());
    return json.set("overlaps", overlaps_json());
  }

  [[nodiscard]] std::string bytes() const {
    Bytewise out;
    each_box([&](std::size_t, const TraceSlice& slice) {
      out.add(static_cast<double>(slice.bytes.count));
    });
    each_point([&](const MemoryPoint& point) { out.add(static_cast<double>(point.stash.count)); });
    const Ticks ticks = box_ticks();
    for (const std::uint32_t start : ticks.start) out.add(start);
    for (const std::uint32_t duration : ticks.duration) out.add(duration);
    each_box([&](std::size_t, const TraceSlice& slice) {
      out.add(static_cast<std::uint32_t>(slice.micro_batch));  // none: all bits
    });
    for (const std::uint32_t box : links_.waited_for) out.add(box);
    each_point([&](const MemoryPoint& point) { out.add(ticks_at(point.time)); });
    for (const TimelineRows::Box& box : rows_.boxes) out.add(box.row);
    each_box([&](std::size_t, const TraceSlice& slice) {
      out.add(static_cast<std::uint16_t>(slice.stage));
    });
    each_box([&](std::size_t, const TraceSlice& slice) {
      out.add(static_cast<std::uint8_t>(slice.kind));
    });
    for (const bool critical : links_.critical) out.add(critical ? kCritical : std::uint8_t{0});
    return out.bytes();
  }

 private:
  template <class Visit>
  void each_box(Visit visit) const {
    for (std::size_t i = 0; i < rows_.boxes.size(); ++i) {
      visit(i, TimelineRows::slice(trace_, rows_.boxes[i]));
    }
  }
  template <class Visit>
  void each_point(Visit visit) const {
    for (const TraceRank& rank : trace_.ranks) {
      for (const MemoryPoint& point : rank.memory) visit(point);
    }
  }

  [[nodiscard]] std::uint32_t ticks_at(Duration time) const {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(time.count() / tick_, 0, std::int64_t{kMost}));
  }

  // Where a tick is longer than a nanosecond, boxes could share one: then the later one moves.
  struct Ticks {
    std::vector<std::uint32_t> start, duration;
  };
  [[nodiscard]] Ticks box_ticks() const {
    Ticks ticks;
    std::uint32_t free = 0;
    each_box([&](std::size_t i, const TraceSlice& slice) {
      if (rows_.rows[rows_.boxes[i].row].first == i) free = 0;
      const std::uint32_t start = std::max(free, ticks_at(slice.start));
      const std::uint32_t end = ticks_at(slice.end);
      const std::uint32_t duration = end > start ? end - start : 1;
      ticks.start.push_back(start);
      ticks.duration.push_back(duration);
      free = start + duration;
    });
    return ticks;
  }

  static Json kinds() {
    Json json = Json::array();
    for (int kind = 0; kind < kActionKinds; ++kind) {
      json.push(std::string(penstock::name_of(static_cast<ActionKind>(kind))));
    }
    return json;
  }

  [[nodiscard]] Json rows_json() const {
    Json json = Json::array();
    for (const TimelineRow& row : rows_.rows) {
      const TraceRank& rank = trace_.ranks[row.rank];
      Json stages = Json::array();
      for (const int stage : rank.stages) stages.push(stage);
      json.push(Json::object()
                    .set("rank", rank.rank)
                    .set("pipeline_rank", rank.pipeline_rank)
                    .set("replicas", rank.replicas)
                    .set("stages", std::move(stages))
                    .set("device", rank.device)
                    .set("lane", name_of(row.lane))
                    .set("track", row.track)
                    .set("first", std::int64_t{row.first})
                    .set("count", std::int64_t{row.count}));
    }
    return json;
  }

  [[nodiscard]] Json memory_json() const {
    Json json = Json::array();
    std::int64_t first = 0;
    for (const TraceRank& rank : trace_.ranks) {
      if (!rank.memory.empty()) json.push(memory_of(rank, first));
      first += std::ssize(rank.memory);
    }
    return json;
  }

  [[nodiscard]] Json memory_of(const TraceRank& rank, std::int64_t first) const {
    const auto peak = std::max_element(
        rank.memory.begin(), rank.memory.end(),
        [](const MemoryPoint& a, const MemoryPoint& b) { return a.total < b.total; });
    Json json = Json::object();
    json.set("rank", rank.rank).set("capacity_bytes", rank.capacity.count);
    json.set("constant_bytes", constant_of(rank));
    json.set("first", first).set("count", std::ssize(rank.memory));
    json.set("peak_bytes", peak->total.count);
    json.set("peak_at_ns", std::int64_t{peak->time.count()});
    if (const TraceSlice* slice = compute_at(rank, peak->time)) json.set("peak_at", slice->name);
    return json;
  }

  [[nodiscard]] Json constant_of(const TraceRank& rank) const {
    const std::size_t place = rank.listed;
    MemoryUse use;
    if (place < plan_.prediction.ranks.size()) use = plan_.prediction.ranks[place].memory;
    return Json::object()
        .set("parameters", use.parameters.count)
        .set("gradients", use.gradients.count)
        .set("optimizer_state", use.optimizer_state.count)
        .set("working", use.working_peak.count)
        .set("communication", use.communication.count)
        .set("reserve", use.reserve.count);
  }

  // What the rank computes from then on.
  static const TraceSlice* compute_at(const TraceRank& rank, Duration time) {
    for (const TraceSlice& slice : rank.slices) {
      const bool now = slice.start <= time && time < slice.end;
      if (now && slice.lane == TraceLane::kCompute) return &slice;
    }
    return nullptr;
  }

  [[nodiscard]] Json overlaps_json() const {
    Json json = Json::object();
    each_box([&](std::size_t i, const TraceSlice& slice) {
      if (slice.name.starts_with('(')) json.set(std::to_string(i), slice.name);
    });
    return json;
  }

  const PlanFile& plan_;
  const StepTrace& trace_;
  const TimelineRows& rows_;
  const BoxLinks& links_;
  std::int64_t tick_;
};

}  // namespace

std::int64_t tick_of(Duration length) {
  return std::max<std::int64_t>(1, (length.count() + kMost - 1) / std::int64_t{kMost});
}

TimelinePayload timeline_payload(const TimelineNames& names, const PlanFile& plan,
                                 const StepTrace& trace, const TimelineRows& rows,
                                 const BoxLinks& links) {
  const Payload payload(plan, trace, rows, links);
  return {payload.about(names), {names.id, base64(gzip(payload.bytes()))}};
}

}  // namespace penstock
