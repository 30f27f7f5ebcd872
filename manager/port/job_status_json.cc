// The JSON of /status and `penstock status --json`: flat, units in the key names, absent keys for
// what is not known. A loss that is no number is null.
#include "core/values/json_fields.h"
#include "manager/event.h"
#include "manager/port/job_status.h"

namespace penstock {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kMostRanks = 1 << 30;
constexpr double kMostNumber = 1e300;

Json write_time(UtcTime time) { return to_text(time); }

UtcTime read_time(const JsonReader& reader) {
  const auto time = parse_utc_time(reader.string());
  if (!time) reader.expected("a UTC time");
  return *time;
}

using TimesInPhase = decltype(JobStatus::in_phase);

Json write_times(const TimesInPhase& times) {
  Json json = Json::object();
  for (const auto& [phase, time] : times) json.set(phase, json_of(time));
  return json;
}

TimesInPhase read_times(JsonReader reader) {
  TimesInPhase times;
  for (const auto& [phase, time] : reader.members()) read_json(time, times[phase]);
  return times;
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MachineStatus>& machine) {
  fields("name", machine.name);
  fields("gpus", machine.gpus, 0, kMostRanks);
  fields("condition", machine.condition);
  fields("ranks", machine.ranks, 0, kMostRanks);
  fields("slow_factor", machine.slow_factor, 0.0, kMostNumber);
  fields.as_if_any("gone_by", machine.gone_by, write_time, read_time);
  fields.if_any("device", machine.device);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, LogEntry>& entry) {
  fields.as("at", entry.at, write_time, read_time);
  fields("generation", entry.generation);
  fields("event", entry.event);
  fields("decision", entry.decision);
  fields("reason", entry.reason);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, JobStatus>& status) {
  int version = kSchemaVersion;
  fields("schema_version", version, kSchemaVersion, kSchemaVersion);
  fields("job", status.job);
  fields.as("at", status.at, write_time, read_time);
  fields("phase", status.phase);
  fields("why", status.why);
  fields("plan", status.plan);
  fields("generation", status.generation);
  fields("step", status.step);
  fields("steps", status.steps);
  fields("gpus_present", status.gpus_present, 0, kMostRanks);
  fields("gpus_used", status.gpus_used, 0, kMostRanks);
  fields.as_if_any("loss", status.loss, finite_or_null,
                   [](const JsonReader& loss) { return number_or_null(loss, kNotFinite); });
  fields.if_any("tokens_per_s", status.tokens_per_s, -kMostNumber, kMostNumber);
  fields.time_if_any("step", status.step_time);
  fields.time_if_any("predicted_step", status.predicted_step);
  fields.as_if_any("next_step_at", status.next_step_at, write_time, read_time);
  fields("checkpoint_step", status.checkpoint_step);
  fields.as_if_any("checkpoint_at", status.checkpoint_at, write_time, read_time);
  fields("restarts", status.restarts);
  fields("lost_steps", status.lost_steps);
  fields("failures", status.failures);
  fields.as("in_phase_ns", status.in_phase, write_times, read_times);
  fields.if_any("goodput", status.goodput, -kMostNumber, kMostNumber);
  fields("machines", status.machines);
  fields("decisions", status.decisions);
}

Json write_job_status(const JobStatus& status) { return json_of(status); }

JobStatus read_job_status(const Json& json, const std::string& file) {
  return read_json<JobStatus>(JsonReader(json, file));
}

}  // namespace penstock
