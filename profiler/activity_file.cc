// Reader and writer of one format, side by side. Fields that are zero are left out when written and
// zero when absent. Unknown keys, kinds and phases are refused, because a recording that is misread
// would give wrong sums without an error.
#include "profiler/activity_file.h"

#include <limits>
#include <utility>

#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kFormat = "penstock.activity/1";
constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostUint32 = std::numeric_limits<std::uint32_t>::max();
constexpr int kMostSections = (1 << 24) - 1;

std::int64_t optional_integer(JsonReader& object, std::string_view key, std::int64_t most) {
  const std::optional<JsonReader> value = object.get(key);
  return value ? value->integer(0, most) : 0;
}

std::uint32_t optional_uint32(JsonReader& object, std::string_view key) {
  return static_cast<std::uint32_t>(optional_integer(object, key, kMostUint32));
}

ActivityKind read_kind(const JsonReader& value) {
  const std::string text = value.string();
  constexpr auto kLast = static_cast<int>(ActivityKind::kOverhead);
  for (int i = 0; i <= kLast; ++i) {
    if (name_of(static_cast<ActivityKind>(i)) == text) return static_cast<ActivityKind>(i);
  }
  value.expected("kernel, memcpy, memset, runtime, driver, external_correlation or overhead");
}

ActivityRecord read_record(JsonReader& object) {
  ActivityRecord record;
  record.kind = read_kind(object.at("kind"));
  if (record.kind == ActivityKind::kExternalCorrelation) {
    record.external_id =
        static_cast<std::uint64_t>(object.at("external_id").integer(0, kMostInt64));
  } else {
    record.start = object.duration("start");
    record.end = object.duration("end");
  }
  record.correlation = optional_uint32(object, "correlation");
  record.device = optional_uint32(object, "device");
  record.stream = optional_uint32(object, "stream");
  record.thread = static_cast<std::uint64_t>(optional_integer(object, "thread", kMostInt64));
  if (const auto bytes = object.get("bytes")) record.bytes = bytes->bytes();
  if (const auto name = object.get("name")) record.name = name->string();
  object.finish();
  return record;
}

ActivityScope read_scope(JsonReader& object) {
  ActivityScope scope;
  const auto section = static_cast<int>(object.at("section").integer(0, kMostSections));
  const JsonReader phase = object.at("phase");
  const std::optional<ActivityPhase> found = activity_phase_named(phase.string());
  if (!found) {
    phase.expected(
        "forward, input_gradient, weight_gradient, fused_backward, recompute, optimizer, "
        "communication, gradient_norm or step_begin");
  }
  scope.tag = activity_tag(section, *found);
  scope.begin = object.duration("begin");
  scope.end = object.duration("end");
  if (scope.end < scope.begin) object.fail("expected an end not before the beginning");
  scope.thread = static_cast<std::uint64_t>(optional_integer(object, "thread", kMostInt64));
  object.finish();
  return scope;
}

Json write_scope(const ActivityScope& scope) {
  Json json = Json::object();
  json.set("section", section_of(scope.tag))
      .set("phase", std::string(name_of(phase_of(scope.tag))))
      .set("begin_ns", static_cast<std::int64_t>(scope.begin.count()))
      .set("end_ns", static_cast<std::int64_t>(scope.end.count()))
      .set("thread", scope.thread);
  return json;
}

void set_unless_zero(Json& object, const char* key, std::uint64_t value) {
  if (value != 0) object.set(key, value);
}

Json write_record(const ActivityRecord& record) {
  Json json = Json::object();
  json.set("kind", std::string(name_of(record.kind)));
  if (record.kind == ActivityKind::kExternalCorrelation) {
    json.set("external_id", record.external_id);
  } else {
    json.set("start_ns", static_cast<std::int64_t>(record.start.count()))
        .set("end_ns", static_cast<std::int64_t>(record.end.count()));
  }
  set_unless_zero(json, "correlation", record.correlation);
  set_unless_zero(json, "device", record.device);
  set_unless_zero(json, "stream", record.stream);
  set_unless_zero(json, "thread", record.thread);
  set_unless_zero(json, "bytes", static_cast<std::uint64_t>(record.bytes.count));
  if (!record.name.empty()) json.set("name", record.name);
  return json;
}

}  // namespace

ActivityRecording read_activity(const Json& json, const std::string& file_name) {
  JsonReader file(json, file_name);
  const JsonReader format = file.at("format");
  if (format.string() != kFormat) format.expected("\"" + std::string(kFormat) + "\"");
  ActivityRecording recording;
  recording.device = file.at("device").string();
  recording.driver = file.at("driver").string();
  recording.date = file.at("date").string();
  recording.dropped = file.at("dropped_records").integer(0, kMostInt64);
  std::vector<JsonReader> scopes = file.at("scopes").elements();
  recording.scopes.reserve(scopes.size());
  for (JsonReader& element : scopes) recording.scopes.push_back(read_scope(element));
  std::vector<JsonReader> records = file.at("records").elements();
  recording.records.reserve(records.size());
  for (JsonReader& element : records) recording.records.push_back(read_record(element));
  file.finish();
  return recording;
}

Json write_activity(const ActivityRecording& recording) {
  Json scopes = Json::array(), records = Json::array();
  for (const ActivityScope& scope : recording.scopes) scopes.push(write_scope(scope));
  for (const ActivityRecord& record : recording.records) records.push(write_record(record));
  Json file = Json::object();
  file.set("format", std::string(kFormat))
      .set("device", recording.device)
      .set("driver", recording.driver)
      .set("date", recording.date)
      .set("dropped_records", recording.dropped)
      .set("scopes", std::move(scopes))
      .set("records", std::move(records));
  return file;
}

}  // namespace penstock
