// The JSON of Chrome's trace viewer, which Perfetto reads: a process per rank, a thread per lane,
// arrows (flow events) from sends to what they feed, counters for memory. Perfetto has habits that
// are not in its documentation, and the comments at each place name them: ids are never 0, an arrow
// ends strictly inside a slice, events of one time keep their order.
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "report/traces/trace_files.h"

namespace penstock {
namespace {

constexpr int kTracksPerLane = 100;

std::string in_quotes(const std::string& text) { return to_text(Json(text)); }

// Never 0, which Perfetto replaces by the process.
int track_id(const TraceSlice& slice) {
  return 1 + kTracksPerLane * static_cast<int>(slice.lane) + slice.track;
}

std::string track_name(int id) {
  const auto lane = static_cast<TraceLane>((id - 1) / kTracksPerLane);
  const int track = (id - 1) % kTracksPerLane;
  const char* name = name_of(lane);
  return track == 0 ? std::string(name) : fmt::format("{} {}", name, track + 1);
}

// "rank 3: stage 3 on a100, x16": the last when so many ranks do the same.
std::string process_name(const TraceRank& rank) {
  return fmt::format("rank {}: {} {} on {}{}", rank.rank,
                     rank.stages.size() > 1 ? "stages" : "stage", fmt::join(rank.stages, ", "),
                     rank.device, rank.replicas > 1 ? fmt::format(", x{}", rank.replicas) : "");
}

class Writer {
 public:
  explicit Writer(const StepTrace& trace) : trace_(trace) {}

  std::string write(const Json& metadata) {
    text_ = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
    for (const TraceRank& rank : trace_.ranks) {
      add_names(rank);
      for (const TraceSlice& slice : rank.slices) add_slice(rank, slice);
      for (const MemoryPoint& point : rank.memory) add_memory(rank, point);
    }
    // An arrow comes after both slices that it joins.
    for (std::size_t i = 0; i < trace_.flows.size(); ++i) add_flow(i);
    text_ += "\n], \"metadata\": " + to_text(metadata, std::numeric_limits<int>::max()) + "}\n";
    return std::move(text_);
  }

 private:
  void event(const std::string& body) {
    text_ += text_.back() == '[' ? "\n" : ",\n";
    text_ += body;
  }

  void add_names(const TraceRank& rank) {
    event(fmt::format(R"({{"ph": "M", "name": "process_name", "pid": {}, "args": {{"name": {}}}}})",
                      rank.rank, in_quotes(process_name(rank))));
    event(fmt::format(
        R"({{"ph": "M", "name": "process_sort_index", "pid": {0}, "args": {{"sort_index": {0}}}}})",
        rank.rank));
    std::set<int> tracks;
    for (const TraceSlice& slice : rank.slices) tracks.insert(track_id(slice));
    for (const int track : tracks) {
      event(fmt::format(
          R"({{"ph": "M", "name": "thread_name", "pid": {}, "tid": {}, "args": {{"name": "{}"}}}})",
          rank.rank, track, track_name(track)));
      event(fmt::format(
          R"({{"ph": "M", "name": "thread_sort_index", "pid": {0}, "tid": {1}, "args": {{"sort_index": {1}}}}})",
          rank.rank, track));
    }
  }

  void add_slice(const TraceRank& rank, const TraceSlice& slice) {
    std::string args = fmt::format(R"("stage": {})", slice.stage);
    if (slice.micro_batch >= 0) args += fmt::format(R"(, "micro_batch": {})", slice.micro_batch);
    if (slice.bytes.count > 0) args += fmt::format(R"(, "bytes": {})", slice.bytes.count);
    if (slice.peer >= 0) args += fmt::format(R"(, "to_rank": {})", slice.peer);
    event(fmt::format(
        R"({{"ph": "X", "name": "PP:{}", "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        slice.name, slice.lane == TraceLane::kCompute ? "compute" : "communication", rank.rank,
        track_id(slice), trace_time(slice.start), trace_length(slice.start, slice.end), args));
  }

  // Counters do not stack: the total stands beside its part.
  void add_memory(const TraceRank& rank, const MemoryPoint& point) {
    event(fmt::format(
        R"({{"ph": "C", "name": "memory_bytes", "pid": {}, "ts": {}, "args": {{"stash": {}, "total": {}}}}})",
        rank.rank, trace_time(point.time), point.stash.count, point.total.count));
  }

  void add_flow(std::size_t index) {
    const TraceFlow& flow = trace_.flows[index];
    const TraceRank& from = trace_.ranks[flow.from_rank];
    const TraceRank& to = trace_.ranks[flow.to_rank];
    const TraceSlice& send = from.slices[flow.from_slice];
    const TraceSlice& user = to.slices[flow.to_slice];
    // Strictly inside the slice that it ends in; nothing is inside one of a nanosecond.
    if (user.end - user.start < Duration{2}) return;
    const std::string arrow = fmt::format(R"("cat": "send", "name": "send", "id": {})", index + 1);
    event(fmt::format(R"({{"ph": "s", {}, "pid": {}, "tid": {}, "ts": {}}})", arrow, from.rank,
                      track_id(send), trace_time(send.start)));
    event(fmt::format(R"({{"ph": "f", "bp": "e", {}, "pid": {}, "tid": {}, "ts": {}}})", arrow,
                      to.rank, track_id(user), trace_time(user.start + Duration{1})));
  }

  const StepTrace& trace_;
  std::string text_;
};

}  // namespace

std::string perfetto_json(const StepTrace& trace, const Json& metadata) {
  return Writer(trace).write(metadata);
}

}  // namespace penstock
