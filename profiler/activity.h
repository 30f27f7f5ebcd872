// What a GPU did and who asked for it: activity records of a tracer, the host intervals (scopes) of
// what was measured, and the attribution of the one to the other. Pure values and a pure function;
// profiler/cuda fills the records from CUPTI, a file of profiler/activity_file.h replays them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/units.h"

namespace penstock {

enum class ActivityKind : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kRuntime,              // a call of the CUDA runtime, on the host
  kDriver,               // a call of the driver, on the host
  kExternalCorrelation,  // joins a correlation id to an external id; has no times
  kOverhead,             // time the tracer itself took
};
std::string_view name_of(ActivityKind kind);  // "kernel"

// All times are since the epoch of the steady clock, on which scopes are noted as well.
struct ActivityRecord {
  ActivityKind kind = ActivityKind::kKernel;
  Duration start{}, end{};
  std::uint32_t correlation = 0;  // of a device activity: that of the call which launched it
  std::uint64_t external_id = 0;  // only of kExternalCorrelation; here the tag of a scope
  std::uint32_t device = 0, stream = 0;
  std::uint64_t thread = 0;  // of a host call
  Bytes bytes{};             // of a copy or a memset
  std::string name;          // of a kernel, or the number of the call
  bool operator==(const ActivityRecord&) const = default;
};

// Starts at 1, so that no tag is 0, which stands for "no external id".
enum class ActivityPhase : std::uint8_t {
  kForward = 1,
  kInputGradient,
  kWeightGradient,
  kFusedBackward,
  kRecompute,
  kOptimizer,
  kCommunication,
  // Of all sections together; tags name section 0 then.
  kGradientNorm,
  kStepBegin,  // gradients are set to 0
};
std::string_view name_of(ActivityPhase phase);  // "forward"
std::optional<ActivityPhase> activity_phase_named(std::string_view name);
constexpr bool is_of_one_section(ActivityPhase phase) {
  return phase != ActivityPhase::kGradientNorm && phase != ActivityPhase::kStepBegin;
}

// What a scope measures: a phase of a section.
struct ActivityTag {
  std::uint32_t value = 0;  // section << 8 | phase
  auto operator<=>(const ActivityTag&) const = default;
};
constexpr ActivityTag activity_tag(int section, ActivityPhase phase) {
  return {static_cast<std::uint32_t>(section) << 8 | static_cast<std::uint32_t>(phase)};
}
constexpr int section_of(ActivityTag tag) { return static_cast<int>(tag.value >> 8); }
constexpr ActivityPhase phase_of(ActivityTag tag) {
  return static_cast<ActivityPhase>(tag.value & 0xFF);
}

// One repeat of what a tag names: from before its first launch to after its last on the host. The
// kernels may run later.
struct ActivityScope {
  ActivityTag tag;
  Duration begin{}, end{};
  std::uint64_t thread = 0;
  bool operator==(const ActivityScope&) const = default;
};

struct ActivityRecording {
  std::string device, driver, date;  // where and when it was made
  std::int64_t dropped = 0;          // records that the tracer lost
  std::vector<ActivityScope> scopes;
  std::vector<ActivityRecord> records;
  bool operator==(const ActivityRecording&) const = default;
};

// Host calls that launched nothing and external ids of nothing say nothing about the device, and a
// trace holds many of them.
void drop_calls_without_activity(ActivityRecording& recording);

// What the device did for one scope.
struct ScopeActivity {
  Duration busy{};         // sum over kernels, copies and memsets
  Duration covered{};      // union of their intervals
  Duration span{};         // first start to last end
  Duration launch_gaps{};  // span - covered: nothing of the scope ran
  int kernels = 0, copies = 0, memsets = 0;
  Bytes copied{}, set{};
  bool operator==(const ScopeActivity&) const = default;
};

enum class UnattributedReason : std::uint8_t {
  kNoLaunch,        // no host call has its correlation id
  kOutsideScopes,   // launched while no scope was open
  kNoTimes,         // the tracer could not time it
  kOtherExternalId  // its scope and its external id name different tags
};

struct UnattributedActivity {
  std::size_t record = 0;  // index into the records
  UnattributedReason reason = UnattributedReason::kNoLaunch;
  bool operator==(const UnattributedActivity&) const = default;
};

struct Attribution {
  std::vector<ScopeActivity> scopes;  // one per scope, in their order
  std::vector<UnattributedActivity> unattributed;
  Duration unattributed_time{};
  // Device activities whose external id confirmed the scope, and those that had none: LibTorch
  // launches backward from a thread of its own, which has no external id.
  int confirmed = 0, without_external_id = 0;
  Duration tracer_overhead{};
  bool operator==(const Attribution&) const = default;
};

// A kernel belongs to the scope during which the host call that launched it (same correlation id)
// was made, whatever thread made it. That is sound only while one scope is open at a time: scopes
// that overlap are Error{kBadInput}. The order of the records does not matter.
Attribution attribute(const ActivityRecording& recording);

// Nothing when every number of the attribution can be used; else what voids it: dropped records, or
// the activities that belong to no scope, by name.
std::optional<std::string> why_void(const ActivityRecording& recording,
                                    const Attribution& attribution);

// Over the repeats of a tag: the median and the median absolute deviation from it.
struct TypicalDuration {
  Duration median{}, deviation{};
  bool operator==(const TypicalDuration&) const = default;
};

struct TagActivity {
  ActivityTag tag;
  int repeats = 0;
  TypicalDuration busy, covered, span, launch_gaps;
  int kernels = 0, copies = 0, memsets = 0;  // of the repeat that has the most kernels
  Bytes copied{}, set{};                     // likewise
  bool operator==(const TagActivity&) const = default;
};

// One entry per tag, ascending.
std::vector<TagActivity> by_tag(const ActivityRecording& recording, const Attribution& attribution);

}  // namespace penstock
