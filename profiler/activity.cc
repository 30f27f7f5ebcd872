// A device record belongs to the scope during which the host launched it: both carry a correlation
// id, and the host call lies within one scope because scopes do not overlap. What the id cannot
// place is counted as unattributed, and makes the trace void.
#include "profiler/activity.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 7> kKinds{
    "kernel", "memcpy", "memset", "runtime", "driver", "external_correlation", "overhead"};
constexpr std::array<std::string_view, 10> kPhases{
    "",          "forward",   "input_gradient", "weight_gradient", "fused_backward",
    "recompute", "optimizer", "communication",  "gradient_norm",   "step_begin"};

bool runs_on_device(ActivityKind kind) { return kind <= ActivityKind::kMemset; }
bool is_host_call(ActivityKind kind) {
  return kind == ActivityKind::kRuntime || kind == ActivityKind::kDriver;
}

struct Interval {
  Duration start{}, end{};
  auto operator<=>(const Interval&) const = default;
};

std::string in_words(ActivityTag tag) {
  return "section " + std::to_string(section_of(tag)) + " " + std::string(name_of(phase_of(tag)));
}

// Scopes by the host time at which they begin.
class OpenScopes {
 public:
  explicit OpenScopes(const std::vector<ActivityScope>& scopes) : scopes_(scopes) {
    order_.reserve(scopes.size());
    for (std::size_t i = 0; i < scopes.size(); ++i) order_.push_back(i);
    std::ranges::sort(order_, {}, [&](std::size_t i) { return std::pair(scopes[i].begin, i); });
    for (std::size_t i = 1; i < order_.size(); ++i) refuse_overlap(order_[i - 1], order_[i]);
  }

  // The scope that was open during the whole of `call`.
  [[nodiscard]] std::optional<std::size_t> during(const Interval& call) const {
    const auto after = std::ranges::upper_bound(order_, call.start, {},
                                                [&](std::size_t i) { return scopes_[i].begin; });
    if (after == order_.begin()) return std::nullopt;
    const std::size_t scope = *(after - 1);
    if (call.end > scopes_[scope].end) return std::nullopt;
    return scope;
  }

 private:
  void refuse_overlap(std::size_t before, std::size_t after) const {
    if (scopes_[after].begin >= scopes_[before].end) return;
    throw_bad_input("scope " + std::to_string(after) + " (" + in_words(scopes_[after].tag) +
                    ") opens before scope " + std::to_string(before) + " (" +
                    in_words(scopes_[before].tag) +
                    ") has closed; a kernel can be attributed only while one scope is open at a "
                    "time: measure one after the other");
  }

  const std::vector<ActivityScope>& scopes_;
  std::vector<std::size_t> order_;
};

// By correlation id. A runtime call and the driver call inside it may share one: the outer counts.
std::unordered_map<std::uint32_t, Interval> launches_of(
    const std::vector<ActivityRecord>& records) {
  std::unordered_map<std::uint32_t, Interval> launches;
  for (const ActivityRecord& record : records) {
    if (!is_host_call(record.kind)) continue;
    const auto [found, is_new] =
        launches.try_emplace(record.correlation, Interval{record.start, record.end});
    if (is_new) continue;
    found->second.start = std::min(found->second.start, record.start);
    found->second.end = std::max(found->second.end, record.end);
  }
  return launches;
}

std::unordered_map<std::uint32_t, std::uint64_t> external_ids_of(
    const std::vector<ActivityRecord>& records) {
  std::unordered_map<std::uint32_t, std::uint64_t> ids;
  for (const ActivityRecord& record : records) {
    if (record.kind == ActivityKind::kExternalCorrelation) {
      ids.emplace(record.correlation, record.external_id);
    }
  }
  return ids;
}

void add(ScopeActivity& scope, const ActivityRecord& record) {
  scope.busy += record.end - record.start;
  if (record.kind == ActivityKind::kKernel) {
    ++scope.kernels;
  } else if (record.kind == ActivityKind::kMemcpy) {
    ++scope.copies;
    scope.copied += record.bytes;
  } else {
    ++scope.memsets;
    scope.set += record.bytes;
  }
}

void measure(ScopeActivity& scope, std::vector<Interval>& intervals) {
  if (intervals.empty()) return;
  std::ranges::sort(intervals);
  Duration reached = intervals.front().start;
  for (const Interval& interval : intervals) {
    scope.covered += std::max(interval.end, reached) - std::max(interval.start, reached);
    reached = std::max(reached, interval.end);
  }
  scope.span = reached - intervals.front().start;
  scope.launch_gaps = scope.span - scope.covered;
}

Duration median(std::vector<Duration> values) {
  std::ranges::sort(values);
  const Duration below = values[(values.size() - 1) / 2], above = values[values.size() / 2];
  return below + (above - below) / 2;
}

TypicalDuration typical(const std::vector<ScopeActivity>& repeats, Duration ScopeActivity::*field) {
  std::vector<Duration> values;
  values.reserve(repeats.size());
  for (const ScopeActivity& repeat : repeats) values.push_back(repeat.*field);
  TypicalDuration result{median(values), {}};
  for (Duration& value : values) value = std::chrono::abs(value - result.median);
  result.deviation = median(std::move(values));
  return result;
}

class Attributor {
 public:
  explicit Attributor(const ActivityRecording& recording)
      : recording_(recording),
        open_(recording.scopes),
        launches_(launches_of(recording.records)),
        external_ids_(external_ids_of(recording.records)),
        intervals_(recording.scopes.size()) {
    result_.scopes.resize(recording.scopes.size());
  }

  Attribution run() {
    for (std::size_t i = 0; i < recording_.records.size(); ++i) {
      const ActivityRecord& record = recording_.records[i];
      if (record.kind == ActivityKind::kOverhead) {
        result_.tracer_overhead += record.end - record.start;
      } else if (runs_on_device(record.kind)) {
        place(i, record);
      }
    }
    for (std::size_t i = 0; i < result_.scopes.size(); ++i) {
      measure(result_.scopes[i], intervals_[i]);
    }
    return std::move(result_);
  }

 private:
  void place(std::size_t index, const ActivityRecord& record) {
    if (record.end < record.start || record.end == Duration{}) {
      return leave_out(index, Duration{}, UnattributedReason::kNoTimes);
    }
    const Duration time = record.end - record.start;
    const auto launch = launches_.find(record.correlation);
    if (launch == launches_.end()) return leave_out(index, time, UnattributedReason::kNoLaunch);
    const std::optional<std::size_t> scope = open_.during(launch->second);
    if (!scope) return leave_out(index, time, UnattributedReason::kOutsideScopes);
    const auto external = external_ids_.find(record.correlation);
    if (external == external_ids_.end()) {
      ++result_.without_external_id;
    } else if (external->second == recording_.scopes[*scope].tag.value) {
      ++result_.confirmed;
    } else {
      return leave_out(index, time, UnattributedReason::kOtherExternalId);
    }
    add(result_.scopes[*scope], record);
    intervals_[*scope].push_back({record.start, record.end});
  }

  void leave_out(std::size_t index, Duration time, UnattributedReason reason) {
    result_.unattributed.push_back({index, reason});
    result_.unattributed_time += time;
  }

  const ActivityRecording& recording_;
  OpenScopes open_;
  std::unordered_map<std::uint32_t, Interval> launches_;
  std::unordered_map<std::uint32_t, std::uint64_t> external_ids_;
  std::vector<std::vector<Interval>> intervals_;  // per scope, of what ran for it
  Attribution result_;
};

std::string_view in_words(UnattributedReason reason) {
  switch (reason) {
    case UnattributedReason::kNoLaunch:
      return "no launch was recorded for it";
    case UnattributedReason::kOutsideScopes:
      return "launched outside all scopes";
    case UnattributedReason::kNoTimes:
      return "it has no times";
    case UnattributedReason::kOtherExternalId:
      return "its external id names another scope";
  }
  return "";
}

}  // namespace

std::string_view name_of(ActivityKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view name_of(ActivityPhase phase) {
  const auto index = static_cast<std::size_t>(phase);
  return index < kPhases.size() ? kPhases[index] : "unknown";
}

std::optional<ActivityPhase> activity_phase_named(std::string_view name) {
  for (std::size_t i = 1; i < kPhases.size(); ++i) {
    if (kPhases[i] == name) return static_cast<ActivityPhase>(i);
  }
  return std::nullopt;
}

void drop_calls_without_activity(ActivityRecording& recording) {
  std::unordered_set<std::uint32_t> used;
  for (const ActivityRecord& record : recording.records) {
    if (runs_on_device(record.kind)) used.insert(record.correlation);
  }
  std::erase_if(recording.records, [&](const ActivityRecord& record) {
    return record.kind != ActivityKind::kOverhead && !used.contains(record.correlation);
  });
}

Attribution attribute(const ActivityRecording& recording) { return Attributor(recording).run(); }

std::optional<std::string> why_void(const ActivityRecording& recording,
                                    const Attribution& attribution) {
  if (recording.dropped != 0) {
    return "the tracer dropped " + std::to_string(recording.dropped) +
           " records, so kernels are missing; trace fewer repeats at a time";
  }
  if (attribution.unattributed.empty()) return std::nullopt;
  constexpr std::size_t kMost = 8;
  const std::size_t count = attribution.unattributed.size();
  std::string text = std::to_string(attribution.unattributed_time.count()) + " ns of " +
                     std::to_string(count) + " device activities belong to no scope: ";
  for (std::size_t i = 0; i < std::min(count, kMost); ++i) {
    const UnattributedActivity& activity = attribution.unattributed[i];
    const ActivityRecord& record = recording.records[activity.record];
    text += (i == 0 ? "" : "; ") +
            (record.name.empty() ? std::string(name_of(record.kind)) : record.name) + " (" +
            std::string(in_words(activity.reason)) + ")";
  }
  return count > kMost ? text + "; ..." : text;
}

std::vector<TagActivity> by_tag(const ActivityRecording& recording,
                                const Attribution& attribution) {
  std::map<ActivityTag, std::vector<ScopeActivity>> repeats;
  for (std::size_t i = 0; i < recording.scopes.size(); ++i) {
    repeats[recording.scopes[i].tag].push_back(attribution.scopes[i]);
  }
  std::vector<TagActivity> result;
  result.reserve(repeats.size());
  for (const auto& [tag, scopes] : repeats) {
    const ScopeActivity& fullest = *std::ranges::max_element(scopes, {}, &ScopeActivity::kernels);
    result.push_back({tag, static_cast<int>(scopes.size()), typical(scopes, &ScopeActivity::busy),
                      typical(scopes, &ScopeActivity::covered),
                      typical(scopes, &ScopeActivity::span),
                      typical(scopes, &ScopeActivity::launch_gaps), fullest.kernels, fullest.copies,
                      fullest.memsets, fullest.copied, fullest.set});
  }
  return result;
}

}  // namespace penstock
