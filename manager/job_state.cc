// The state of a job as JSON, field by field, for the manager's store.
//
// A manager that is started again must go on exactly where the last one was killed, so reading what
// was written gives an equal state; tests hold that for every state that the seeded runs of
// decide() reach. Times are integers in nanoseconds; a loss that is no number is null, because JSON
// has no NaN. Anything unknown or out of range is refused: a damaged store is better noticed than
// guessed at.
#include "manager/job_state.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "manager/event.h"
#include "manager/state_json.h"

namespace penstock {
namespace {

constexpr int kMostGpus = kMostGpusInFiles;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kMostFactor = 1e9;

constexpr std::array<std::string_view, 7> kPhases{"waiting",  "starting", "running", "stopping",
                                                  "finished", "stopped",  "failed"};
constexpr std::array<std::string_view, 3> kAfter{"start_again", "stop", "fail"};
constexpr std::array<std::string_view, kWaysToEnd> kWays{
    "told", "lost_peer", "silent_peer", "failed_start", "killed", "lost_unseen"};

using Ends = decltype(ChangeTimes::ends);

Json write_ends(const Ends& ends) {
  Json json = Json::object();
  for (std::size_t way = 0; way < kWaysToEnd; ++way) {
    json.set(std::string(kWays[way]), json_of(ends[way]));
  }
  return json;
}

// Managers before this one knew fewer ways.
Ends read_ends(JsonReader reader) {
  Ends ends;
  for (std::size_t way = 0; way < kWaysToEnd; ++way) {
    const auto its = reader.get(kWays[way]);
    if (its) read_json(*its, ends[way], 1, kMost);
  }
  reader.finish();
  return ends;
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, JobMachine>& machine) {
  fields("name", machine.name);
  fields("gpus", machine.gpus, 0, kMostGpus);
  fields("since_ns", machine.since);
  fields.if_any("gone_by_ns", machine.gone_by);
  fields.if_any("device", machine.device);
  fields("slow_factor", machine.slow_factor, 1.0, kMostFactor);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, RanksOfType>& ranks) {
  fields("device", ranks.device);
  fields("ranks", ranks.ranks, 0, kMostGpus);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlanPage>& page) {
  fields("page", page.page, 0, kMostGpus);
  fields("gpus", page.gpus, 0, kMostGpus);
  fields.if_any("devices", page.devices);
  fields("step_ns", page.step);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Generation>& generation) {
  fields("number", generation.number);
  fields("page", generation.page, 0, kMostGpus);
  fields("predicted_step_ns", generation.predicted_step);
  fields.if_any("slowed_step_ns", generation.slowed_step);
  fields("ranks", generation.ranks);
  fields("first_step", generation.first_step);
  fields("has_stepped", generation.has_stepped);
  fields("started_ns", generation.started);
  fields.if_any("ready_ns", generation.ready);
  fields.if_any("checkpointed_ns", generation.checkpointed);
  if constexpr (Fields::kReads) {
    static_cast<void>(fields.reader().get("checkpoint_asked_ns"));  // of managers before this one
  }
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, Stopping>& stopping) {
  fields.word("then", stopping.then, kAfter);
  fields.later_word("way", stopping.way, kWays);
  fields("with_checkpoint", stopping.with_checkpoint);
  fields("killed", stopping.killed);
  fields.later("outlived", stopping.outlived);
  fields("failure", stopping.failure);
  fields.later("began_ns", stopping.began);
  fields("kill_at_ns", stopping.kill_at);
  if constexpr (Fields::kReads) {
    if (!fields.reader().has("began_ns")) stopping.began = stopping.kill_at;
  }
  fields.if_any("kept_at_ns", stopping.kept_at);
  fields("reason", stopping.reason);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, SeenChange>& change) {
  fields("at_ns", change.at);
  fields("gpus", change.gpus, 0, kMostGpus);
  fields("added", change.added);
  fields("lost", change.lost);
  fields.if_any("running", change.running, 0, kMostGpus);
  fields.if_any("page", change.page, 0, kMostGpus);
  fields.if_any("of_types", change.of_types, 0, kMostGpus);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, TailoredPlan>& tailored) {
  fields("page", tailored.page);
  fields("ranks", tailored.ranks);
  fields("factors", tailored.factors, 1.0, kMostFactor);
  if constexpr (Fields::kReads) {
    if (tailored.factors.size() != tailored.ranks.size()) {
      fields.reader().at("factors").expected("one for every rank");
    }
  }
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MeasuredStart>& start) {
  fields("ranks", start.ranks, 0, kMostGpus);
  fields("time_ns", start.time, 1, kMost);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, ExpectedStep>& expected) {
  fields("since_ns", expected.since);
  fields("time_ns", expected.time);
  fields.if_any("end_ns", expected.end);
  fields("waited", expected.waited);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, JobState>& state) {
  fields.format("penstock.job-state/1");
  fields("job", state.job);
  fields("token", state.token);
  fields("created_ns", state.created);
  fields.word("phase", state.phase, kPhases);
  fields("why", state.why);
  fields("machines", state.machines);
  fields("generation", state.generation);
  fields.if_any("stopping", state.stopping);
  fields("last_step", state.last_step);
  fields.or_null("last_loss", state.last_loss, kNotFinite);
  fields.if_any("step_time_ns", state.step_time);
  fields.if_any("last_sign_ns", state.last_sign);
  fields("checkpoint_step", state.checkpoint_step);
  fields("write_time_ns", state.write_time);
  fields("restart_time_ns", state.restart_time);
  if constexpr (Fields::kReads) {  // of managers before this one
    Duration one{};
    fields.later("kept_interval_ns", one);
    if (one > Duration{}) state.kept_intervals = {one};
  }
  fields.later("kept_intervals_ns", state.kept_intervals, 1, kMost);
  fields("failures", state.failures, 0, kMostGpus);
  fields.later("failed_starts", state.failed_starts, 0, kMostGpus);
  fields.if_any("look_again_ns", state.look_again);
  fields.if_any("pause_until_ns", state.pause_until);
  fields("restarts", state.restarts);
  fields("breaks", state.breaks);
  fields("lost_steps", state.lost_steps);
  // What the next change is expected to take.
  fields.later_as("ends_ns", state.change_times.ends, write_ends, read_ends);
  fields.later("measured_starts", state.change_times.starts);
  if constexpr (Fields::kReads) {  // of managers before this one, in another form
    static_cast<void>(fields.reader().get("starts"));
    static_cast<void>(fields.reader().get("loads"));
  }
  fields.if_any("expected", state.expected);
  fields.later("found_pages", state.found_pages);
  fields.if_any("tailored", state.tailored);
  fields("history", state.history);
  fields("handled_commands", state.handled_commands);
}

std::string_view name_of(JobPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::optional<Duration> JobState::kept_interval() const {
  double sum = 0.0, squares = 0.0;
  for (const Duration interval : kept_intervals) {
    const auto length = static_cast<double>(interval.count());
    sum += length;
    squares += length * length;
  }
  if (sum <= 0.0) return std::nullopt;
  return Duration{std::llround(squares / sum)};
}

std::optional<Duration> ChangeTimes::typical(std::vector<Duration> times) {
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  return times[(times.size() - 1) / 2];
}

Json write_job_state(const JobState& state) { return json_of(state); }

JobState read_job_state(const Json& json, const std::string& file) {
  return read_json<JobState>(JsonReader(json, file));
}

}  // namespace penstock
