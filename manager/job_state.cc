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

#include "core/files/finite_or_null.h"
#include "manager/event.h"
#include "manager/state_json.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr int kMostGpus = 1 << 20;
constexpr double kMostFactor = 1e9;

constexpr std::array<std::string_view, 7> kPhases{"waiting",  "starting", "running", "stopping",
                                                  "finished", "stopped",  "failed"};
constexpr std::array<std::string_view, 3> kAfter{"start_again", "stop", "fail"};
constexpr std::array<std::string_view, kWaysToEnd> kWays{
    "told", "lost_peer", "silent_peer", "failed_start", "killed", "lost_unseen"};

template <std::size_t N>
int index_of(const std::array<std::string_view, N>& names, const JsonReader& reader) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == reader.string()) return static_cast<int>(i);
  }
  reader.fail("there is no such word here");
}

int read_count(const JsonReader& reader) { return static_cast<int>(reader.integer(0, kMostGpus)); }

void set_time(Json& json, const char* key, const std::optional<UtcTime>& time) {
  if (time) json.set(key, write_time(*time));
}

Json texts(const std::vector<std::string>& all) {
  Json json = Json::array();
  for (const std::string& each : all) json.push(each);
  return json;
}
std::vector<std::string> read_texts(const JsonReader& reader) {
  std::vector<std::string> all;
  for (const JsonReader& each : reader.elements()) all.push_back(each.string());
  return all;
}

Json write_machine(const JobMachine& machine) {
  Json json = Json::object();
  json.set("name", machine.name)
      .set("gpus", machine.gpus)
      .set("since_ns", write_time(machine.since));
  set_time(json, "gone_by_ns", machine.gone_by);
  if (!machine.device.empty()) json.set("device", machine.device);
  return json.set("slow_factor", machine.slow_factor);
}

JobMachine read_machine(JsonReader reader) {
  JobMachine machine;
  machine.name = reader.at("name").string();
  machine.gpus = read_count(reader.at("gpus"));
  machine.since = read_time(reader.at("since_ns"));
  machine.gone_by = get_time(reader, "gone_by_ns");
  if (const auto device = reader.get("device")) machine.device = device->string();
  machine.slow_factor = reader.at("slow_factor").number(1.0, kMostFactor);
  reader.finish();
  return machine;
}

Json write_page(const PlanPage& page) {
  Json json = Json::object();
  json.set("page", page.page).set("gpus", page.gpus);
  if (!page.devices.empty()) {
    Json devices = Json::array();
    for (const RanksOfType& each : page.devices) {
      devices.push(Json::object().set("device", each.device).set("ranks", each.ranks));
    }
    json.set("devices", std::move(devices));
  }
  return json.set("step_ns", std::int64_t{page.step.count()});
}

PlanPage read_page(JsonReader reader) {
  PlanPage page;
  page.page = read_count(reader.at("page"));
  page.gpus = read_count(reader.at("gpus"));
  page.step = Duration{reader.at("step_ns").integer(0, kMost)};
  if (const auto devices = reader.get("devices")) {
    for (JsonReader& each : devices->elements()) {
      page.devices.push_back({each.at("device").string(), read_count(each.at("ranks"))});
      each.finish();
    }
  }
  reader.finish();
  return page;
}

void set_duration(Json& json, const char* key, const std::optional<Duration>& time) {
  if (time) json.set(key, std::int64_t{time->count()});
}
std::optional<Duration> get_measured(JsonReader& reader, const char* key) {
  const auto value = reader.get(key);
  return value ? std::optional{Duration{value->integer(0, kMost)}} : std::nullopt;
}

Json write_generation(const Generation& generation) {
  Json ranks = Json::array();
  for (const PlacedRank& rank : generation.ranks) ranks.push(write_placed_rank(rank));
  Json json = Json::object();
  json.set("number", generation.number).set("page", generation.page);
  json.set("predicted_step_ns", std::int64_t{generation.predicted_step.count()});
  set_duration(json, "slowed_step_ns", generation.slowed_step);
  json.set("ranks", std::move(ranks)).set("first_step", generation.first_step);
  json.set("has_stepped", generation.has_stepped);
  json.set("started_ns", write_time(generation.started));
  set_time(json, "ready_ns", generation.ready);
  set_time(json, "checkpointed_ns", generation.checkpointed);
  return json;
}

Generation read_generation(JsonReader reader) {
  Generation generation;
  generation.number = reader.at("number").integer(0, kMost);
  generation.page = read_count(reader.at("page"));
  generation.predicted_step = Duration{reader.at("predicted_step_ns").integer(0, kMost)};
  generation.slowed_step = get_measured(reader, "slowed_step_ns");
  for (const JsonReader& rank : reader.at("ranks").elements()) {
    generation.ranks.push_back(read_placed_rank(rank));
  }
  generation.first_step = reader.at("first_step").integer(0, kMost);
  generation.has_stepped = reader.at("has_stepped").boolean();
  generation.started = read_time(reader.at("started_ns"));
  generation.ready = get_time(reader, "ready_ns");
  generation.checkpointed = get_time(reader, "checkpointed_ns");
  static_cast<void>(reader.get("checkpoint_asked_ns"));  // of managers before this one
  reader.finish();
  return generation;
}

Json write_stopping(const Stopping& stopping) {
  Json json = Json::object();
  json.set("then", std::string(kAfter[static_cast<std::size_t>(stopping.then)]));
  json.set("way", std::string(kWays[static_cast<std::size_t>(stopping.way)]));
  json.set("with_checkpoint", stopping.with_checkpoint).set("killed", stopping.killed);
  json.set("outlived", stopping.outlived).set("failure", stopping.failure);
  json.set("began_ns", write_time(stopping.began));
  json.set("kill_at_ns", write_time(stopping.kill_at));
  set_time(json, "kept_at_ns", stopping.kept_at);
  return json.set("reason", stopping.reason);
}

Stopping read_stopping(JsonReader reader) {
  Stopping stopping;
  stopping.then = static_cast<AfterStop>(index_of(kAfter, reader.at("then")));
  if (const auto way = reader.get("way"))
    stopping.way = static_cast<WayToEnd>(index_of(kWays, *way));
  stopping.with_checkpoint = reader.at("with_checkpoint").boolean();
  stopping.killed = reader.at("killed").boolean();
  if (const auto outlived = reader.get("outlived")) stopping.outlived = outlived->boolean();
  stopping.failure = reader.at("failure").boolean();
  stopping.kill_at = read_time(reader.at("kill_at_ns"));
  stopping.kept_at = get_time(reader, "kept_at_ns");
  stopping.began = get_time(reader, "began_ns").value_or(stopping.kill_at);
  stopping.reason = reader.at("reason").string();
  reader.finish();
  return stopping;
}

Json write_change(const SeenChange& change) {
  Json json = Json::object();
  json.set("at_ns", write_time(change.at)).set("gpus", change.gpus);
  json.set("added", texts(change.added)).set("lost", texts(change.lost));
  if (change.running) json.set("running", *change.running);
  if (change.page) json.set("page", *change.page);
  if (!change.of_types.empty()) {
    Json of_types = Json::array();
    for (const int gpus : change.of_types) of_types.push(gpus);
    json.set("of_types", std::move(of_types));
  }
  return json;
}

SeenChange read_change(JsonReader reader) {
  SeenChange change;
  change.at = read_time(reader.at("at_ns"));
  change.gpus = read_count(reader.at("gpus"));
  change.added = read_texts(reader.at("added"));
  change.lost = read_texts(reader.at("lost"));
  if (const auto running = reader.get("running")) change.running = read_count(*running);
  if (const auto page = reader.get("page")) change.page = read_count(*page);
  if (const auto of_types = reader.get("of_types")) {
    for (const JsonReader& each : of_types->elements()) change.of_types.push_back(read_count(each));
  }
  reader.finish();
  return change;
}

Json write_tailored(const TailoredPlan& tailored) {
  Json ranks = Json::array(), factors = Json::array();
  for (const PlacedRank& rank : tailored.ranks) ranks.push(write_placed_rank(rank));
  for (const double factor : tailored.factors) factors.push(factor);
  Json json = Json::object();
  json.set("page", write_page(tailored.page)).set("ranks", std::move(ranks));
  return json.set("factors", std::move(factors));
}

TailoredPlan read_tailored(JsonReader reader) {
  TailoredPlan tailored;
  tailored.page = read_page(reader.at("page"));
  for (const JsonReader& rank : reader.at("ranks").elements()) {
    tailored.ranks.push_back(read_placed_rank(rank));
  }
  const JsonReader factors = reader.at("factors");
  for (const JsonReader& factor : factors.elements()) {
    tailored.factors.push_back(factor.number(1.0, kMostFactor));
  }
  if (tailored.factors.size() != tailored.ranks.size()) factors.expected("one for every rank");
  reader.finish();
  return tailored;
}

Json write_durations(const std::vector<Duration>& durations) {
  Json json = Json::array();
  for (const Duration duration : durations) json.push(std::int64_t{duration.count()});
  return json;
}

std::vector<Duration> read_durations(const JsonReader& reader) {
  std::vector<Duration> durations;
  for (const JsonReader& each : reader.elements()) durations.emplace_back(each.integer(1, kMost));
  return durations;
}

// What the next change is expected to take.
void write_expectations(Json& json, const JobState& state) {
  Json ends = Json::object(), starts = Json::array();
  for (std::size_t way = 0; way < kWaysToEnd; ++way) {
    ends.set(std::string(kWays[way]), write_durations(state.change_times.ends[way]));
  }
  for (const ChangeTimes::Start& start : state.change_times.starts) {
    starts.push(
        Json::object().set("ranks", start.ranks).set("times", write_durations(start.times)));
  }
  Json loads = Json::array();
  for (const double load : state.change_times.loads) loads.push(load);
  json.set("ends_ns", ends).set("starts", starts).set("loads", std::move(loads));
  if (!state.expected) return;
  Json expected = Json::object();
  expected.set("since_ns", write_time(state.expected->since));
  expected.set("time_ns", std::int64_t{state.expected->time.count()});
  json.set("expected", expected.set("waited", state.expected->waited));
}

void read_expectations(JsonReader& reader, JobState& state) {
  if (auto ends = reader.get("ends_ns")) {
    for (std::size_t way = 0; way < kWaysToEnd; ++way) {
      // Managers before this one knew fewer ways.
      if (const auto its = ends->get(std::string(kWays[way]))) {
        state.change_times.ends[way] = read_durations(*its);
      }
    }
    ends->finish();
  }
  if (auto starts = reader.get("starts")) {
    for (JsonReader& each : starts->elements()) {
      ChangeTimes::Start start;
      start.ranks = read_count(each.at("ranks"));
      start.times = read_durations(each.at("times"));
      each.finish();
      state.change_times.starts.push_back(start);
    }
  }
  if (auto loads = reader.get("loads")) {
    for (const JsonReader& each : loads->elements()) {
      state.change_times.loads.push_back(each.number(0.0, kMostFactor));
    }
  }
  auto expected = reader.get("expected");
  if (!expected) return;
  state.expected.emplace();
  state.expected->since = read_time(expected->at("since_ns"));
  state.expected->time = Duration{expected->at("time_ns").integer(0, kMost)};
  state.expected->waited = expected->at("waited").boolean();
  expected->finish();
}

void write_progress(Json& json, const JobState& state) {
  json.set("last_step", state.last_step).set("last_loss", finite_or_null(state.last_loss));
  if (state.step_time) json.set("step_time_ns", std::int64_t{state.step_time->count()});
  set_time(json, "last_sign_ns", state.last_sign);
  json.set("checkpoint_step", state.checkpoint_step);
  json.set("write_time_ns", std::int64_t{state.write_time.count()});
  json.set("restart_time_ns", std::int64_t{state.restart_time.count()});
  json.set("kept_intervals_ns", write_durations(state.kept_intervals));
  json.set("failures", state.failures).set("failed_starts", state.failed_starts);
  set_time(json, "look_again_ns", state.look_again);
  set_time(json, "pause_until_ns", state.pause_until);
  json.set("restarts", state.restarts).set("breaks", state.breaks);
  json.set("lost_steps", state.lost_steps);
}

void read_progress(JsonReader& reader, JobState& state) {
  state.last_step = reader.at("last_step").integer(0, kMost);
  state.last_loss = number_or_null(reader.at("last_loss"), kNotFinite);
  if (const auto step = reader.get("step_time_ns"))
    state.step_time = Duration{step->integer(0, kMost)};
  state.last_sign = get_time(reader, "last_sign_ns");
  state.checkpoint_step = reader.at("checkpoint_step").integer(0, kMost);
  state.write_time = Duration{reader.at("write_time_ns").integer(0, kMost)};
  state.restart_time = Duration{reader.at("restart_time_ns").integer(0, kMost)};
  if (const auto one = get_measured(reader, "kept_interval_ns"); one && *one > Duration{}) {
    state.kept_intervals = {*one};  // of managers before this one
  }
  if (const auto all = reader.get("kept_intervals_ns")) {
    state.kept_intervals = read_durations(*all);
  }
  state.failures = read_count(reader.at("failures"));
  // Of managers before this one: not there.
  if (const auto starts = reader.get("failed_starts")) state.failed_starts = read_count(*starts);
  state.look_again = get_time(reader, "look_again_ns");
  state.pause_until = get_time(reader, "pause_until_ns");
  state.restarts = reader.at("restarts").integer(0, kMost);
  state.breaks = reader.at("breaks").integer(0, kMost);
  state.lost_steps = reader.at("lost_steps").integer(0, kMost);
}

}  // namespace

std::string_view name_of(JobPhase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

UtcTime read_time(const JsonReader& reader) {
  return UtcTime{Duration{reader.integer(std::numeric_limits<std::int64_t>::min(), kMost)}};
}

std::optional<UtcTime> get_time(JsonReader& reader, const char* key) {
  const auto value = reader.get(key);
  return value ? std::optional{read_time(*value)} : std::nullopt;
}

Json write_placed_rank(const PlacedRank& rank) {
  Json json = Json::object();
  json.set("rank", rank.rank).set("machine", rank.machine).set("local_rank", rank.local_rank);
  json.set("ended", rank.ended);
  if (rank.code) json.set("code", *rank.code);
  return json.set("signal", rank.signal);
}

PlacedRank read_placed_rank(JsonReader reader) {
  PlacedRank rank;
  rank.rank = read_count(reader.at("rank"));
  rank.machine = reader.at("machine").string();
  rank.local_rank = read_count(reader.at("local_rank"));
  rank.ended = reader.at("ended").boolean();
  if (const auto code = reader.get("code")) rank.code = static_cast<int>(code->integer(-255, 255));
  rank.signal = read_count(reader.at("signal"));
  reader.finish();
  return rank;
}

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

Json write_job_state(const JobState& state) {
  Json machines = Json::array(), history = Json::array();
  for (const JobMachine& machine : state.machines) machines.push(write_machine(machine));
  for (const SeenChange& change : state.history) history.push(write_change(change));
  Json json = Json::object();
  json.set("format", "penstock.job-state/1").set("job", state.job).set("token", state.token);
  json.set("created_ns", write_time(state.created));
  json.set("phase", std::string(name_of(state.phase))).set("why", state.why);
  json.set("machines", std::move(machines));
  json.set("generation", write_generation(state.generation));
  if (state.stopping) json.set("stopping", write_stopping(*state.stopping));
  write_progress(json, state);
  write_expectations(json, state);
  Json found = Json::array();
  for (const PlanPage& page : state.found_pages) found.push(write_page(page));
  json.set("found_pages", std::move(found));
  if (state.tailored) json.set("tailored", write_tailored(*state.tailored));
  json.set("history", std::move(history));
  return json.set("handled_commands", texts(state.handled_commands));
}

JobState read_job_state(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  if (reader.at("format").string() != "penstock.job-state/1") {
    reader.at("format").expected("\"penstock.job-state/1\"");
  }
  JobState state;
  state.job = reader.at("job").string();
  state.token = reader.at("token").string();
  state.created = read_time(reader.at("created_ns"));
  state.phase = static_cast<JobPhase>(index_of(kPhases, reader.at("phase")));
  state.why = reader.at("why").string();
  for (const JsonReader& each : reader.at("machines").elements()) {
    state.machines.push_back(read_machine(each));
  }
  state.generation = read_generation(reader.at("generation"));
  if (const auto stopping = reader.get("stopping")) state.stopping = read_stopping(*stopping);
  read_progress(reader, state);
  read_expectations(reader, state);
  if (const auto found = reader.get("found_pages")) {
    for (const JsonReader& each : found->elements()) state.found_pages.push_back(read_page(each));
  }
  if (const auto tailored = reader.get("tailored")) state.tailored = read_tailored(*tailored);
  for (const JsonReader& each : reader.at("history").elements()) {
    state.history.push_back(read_change(each));
  }
  state.handled_commands = read_texts(reader.at("handled_commands"));
  reader.finish();
  return state;
}

}  // namespace penstock
