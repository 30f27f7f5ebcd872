// Reader and writer of one format, by one list of fields. Fields that are zero are left out when
// written and zero when absent. Unknown keys, kinds and phases are refused, because a recording
// that is misread would give wrong sums without an error.
#include "profiler/activity_file.h"

#include "core/values/json_fields.h"

namespace penstock {
namespace {

constexpr int kMostSections = (1 << 24) - 1;

std::string name_in_file(ActivityKind kind) { return std::string(name_of(kind)); }

ActivityKind read_kind(const JsonReader& value) {
  const std::string text = value.string();
  constexpr auto kLast = static_cast<int>(ActivityKind::kOverhead);
  for (int i = 0; i <= kLast; ++i) {
    if (name_of(static_cast<ActivityKind>(i)) == text) return static_cast<ActivityKind>(i);
  }
  value.expected("kernel, memcpy, memset, runtime, driver, external_correlation or overhead");
}

std::string phase_in_file(ActivityPhase phase) { return std::string(name_of(phase)); }

ActivityPhase read_phase(const JsonReader& value) {
  const std::optional<ActivityPhase> phase = activity_phase_named(value.string());
  if (!phase) {
    value.expected(
        "forward, input_gradient, weight_gradient, fused_backward, recompute, optimizer, "
        "communication, gradient_norm or step_begin");
  }
  return *phase;
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ActivityScope>& scope) {
  int section = section_of(scope.tag);
  ActivityPhase phase = phase_of(scope.tag);
  fields("section", section, 0, kMostSections);
  fields.as("phase", phase, phase_in_file, read_phase);
  fields.time("begin", scope.begin);
  fields.time("end", scope.end);
  fields.later("thread", scope.thread);
  if constexpr (Fields::kReads) {
    scope.tag = activity_tag(section, phase);
    if (scope.end < scope.begin) fields.reader().fail("expected an end not before the beginning");
  }
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ActivityRecord>& record) {
  fields.as("kind", record.kind, name_in_file, read_kind);
  if (record.kind == ActivityKind::kExternalCorrelation) {
    fields("external_id", record.external_id);
  } else {
    fields.time("start", record.start);
    fields.time("end", record.end);
  }
  fields.unless_zero("correlation", record.correlation);
  fields.unless_zero("device", record.device);
  fields.unless_zero("stream", record.stream);
  fields.unless_zero("thread", record.thread);
  fields.unless_zero("bytes", record.bytes);
  fields.if_any("name", record.name);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ActivityRecording>& recording) {
  fields.format("penstock.activity/1");
  fields("device", recording.device);
  fields("driver", recording.driver);
  fields("date", recording.date);
  fields("dropped_records", recording.dropped);
  fields("scopes", recording.scopes);
  fields("records", recording.records);
}

ActivityRecording read_activity(const Json& json, const std::string& file_name) {
  return read_json<ActivityRecording>(JsonReader(json, file_name));
}

Json write_activity(const ActivityRecording& recording) { return json_of(recording); }

}  // namespace penstock
