// The JSON of /status and `penstock status --json`: flat, units in the key names, absent keys for
// what is not known. A loss that is no number is null.
#include <limits>
#include <utility>

#include "core/files/finite_or_null.h"
#include "core/values/json_reader.h"
#include "manager/event.h"
#include "manager/port/job_status.h"

namespace penstock {
namespace {

constexpr int kSchemaVersion = 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kMostNumber = 1e300;

std::int64_t read_count(JsonReader& reader, std::string_view key) {
  return reader.at(key).integer(0, kMost);
}

UtcTime read_time(const JsonReader& reader) {
  const auto time = parse_utc_time(reader.string());
  if (!time) reader.expected("a UTC time");
  return *time;
}

std::optional<UtcTime> get_time(JsonReader& reader, std::string_view key) {
  const auto found = reader.get(key);
  return found ? std::optional(read_time(*found)) : std::nullopt;
}

std::optional<double> get_number(JsonReader& reader, std::string_view key) {
  const auto found = reader.get(key);
  return found ? std::optional(found->number(-kMostNumber, kMostNumber)) : std::nullopt;
}

Json write_machine(const MachineStatus& machine) {
  Json ranks = Json::array();
  for (const int rank : machine.ranks) ranks.push(rank);
  Json json = Json::object();
  json.set("name", machine.name).set("gpus", machine.gpus).set("condition", machine.condition);
  json.set("ranks", std::move(ranks)).set("slow_factor", machine.slow_factor);
  if (machine.gone_by) json.set("gone_by", to_text(*machine.gone_by));
  if (!machine.device.empty()) json.set("device", machine.device);
  return json;
}

MachineStatus read_machine(JsonReader reader) {
  MachineStatus machine;
  machine.name = reader.at("name").string();
  machine.gpus = static_cast<int>(reader.at("gpus").integer(0, 1 << 30));
  machine.condition = reader.at("condition").string();
  for (const JsonReader& rank : reader.at("ranks").elements()) {
    machine.ranks.push_back(static_cast<int>(rank.integer(0, 1 << 30)));
  }
  machine.slow_factor = reader.at("slow_factor").number(0.0, kMostNumber);
  machine.gone_by = get_time(reader, "gone_by");
  if (const auto device = reader.get("device")) machine.device = device->string();
  reader.finish();
  return machine;
}

Json write_decision(const LogEntry& entry) {
  Json json = Json::object();
  json.set("at", to_text(entry.at)).set("generation", entry.generation);
  json.set("event", entry.event).set("decision", entry.decision).set("reason", entry.reason);
  return json;
}

LogEntry read_decision(JsonReader reader) {
  LogEntry entry;
  entry.at = read_time(reader.at("at"));
  entry.generation = read_count(reader, "generation");
  entry.event = reader.at("event").string();
  entry.decision = reader.at("decision").string();
  entry.reason = reader.at("reason").string();
  reader.finish();
  return entry;
}

}  // namespace

Json write_job_status(const JobStatus& status) {
  Json json = Json::object();
  json.set("schema_version", kSchemaVersion).set("job", status.job).set("at", to_text(status.at));
  json.set("phase", status.phase).set("why", status.why).set("plan", status.plan);
  json.set("generation", status.generation).set("step", status.step).set("steps", status.steps);
  json.set("gpus_present", status.gpus_present).set("gpus_used", status.gpus_used);
  if (status.loss) json.set("loss", finite_or_null(*status.loss));
  if (status.tokens_per_s) json.set("tokens_per_s", *status.tokens_per_s);
  if (status.step_time) json.set("step_ns", std::int64_t{status.step_time->count()});
  if (status.predicted_step) {
    json.set("predicted_step_ns", std::int64_t{status.predicted_step->count()});
  }
  if (status.next_step_at) json.set("next_step_at", to_text(*status.next_step_at));
  json.set("checkpoint_step", status.checkpoint_step);
  if (status.checkpoint_at) json.set("checkpoint_at", to_text(*status.checkpoint_at));
  json.set("restarts", status.restarts).set("lost_steps", status.lost_steps);
  json.set("failures", status.failures);
  Json in_phase = Json::object();
  for (const auto& [phase, time] : status.in_phase) {
    in_phase.set(phase, std::int64_t{time.count()});
  }
  json.set("in_phase_ns", std::move(in_phase));
  if (status.goodput) json.set("goodput", *status.goodput);
  Json machines = Json::array();
  for (const MachineStatus& machine : status.machines) machines.push(write_machine(machine));
  Json decisions = Json::array();
  for (const LogEntry& entry : status.decisions) decisions.push(write_decision(entry));
  json.set("machines", std::move(machines)).set("decisions", std::move(decisions));
  return json;
}

JobStatus read_job_status(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  (void)reader.at("schema_version").integer(kSchemaVersion, kSchemaVersion);
  JobStatus status;
  status.job = reader.at("job").string();
  status.at = read_time(reader.at("at"));
  status.phase = reader.at("phase").string();
  status.why = reader.at("why").string();
  status.plan = reader.at("plan").string();
  status.generation = read_count(reader, "generation");
  status.step = read_count(reader, "step");
  status.steps = read_count(reader, "steps");
  status.gpus_present = static_cast<int>(reader.at("gpus_present").integer(0, 1 << 30));
  status.gpus_used = static_cast<int>(reader.at("gpus_used").integer(0, 1 << 30));
  if (const auto loss = reader.get("loss")) status.loss = number_or_null(*loss, kNotFinite);
  status.tokens_per_s = get_number(reader, "tokens_per_s");
  status.step_time = reader.get_duration("step");
  status.predicted_step = reader.get_duration("predicted_step");
  status.next_step_at = get_time(reader, "next_step_at");
  status.checkpoint_step = read_count(reader, "checkpoint_step");
  status.checkpoint_at = get_time(reader, "checkpoint_at");
  status.restarts = read_count(reader, "restarts");
  status.lost_steps = read_count(reader, "lost_steps");
  status.failures = read_count(reader, "failures");
  for (auto& [phase, time] : reader.at("in_phase_ns").members()) {
    status.in_phase[phase] = Duration(time.integer(0, kMost));
  }
  status.goodput = get_number(reader, "goodput");
  for (const JsonReader& one : reader.at("machines").elements()) {
    status.machines.push_back(read_machine(one));
  }
  for (const JsonReader& one : reader.at("decisions").elements()) {
    status.decisions.push_back(read_decision(one));
  }
  reader.finish();
  return status;
}

}  // namespace penstock
