// A log is one JSON object per line: a header, then steps. Lines are read one after the other, each
// with its own line number in errors; an incomplete last line of a run that was killed is left out.
// Bounds keep sums over ranks and steps within 64 bits.
#include <limits>
#include <optional>

#include "core/files/finite_or_null.h"
#include "core/files/read_sources.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "core/values/run_log.h"

namespace penstock {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;
constexpr double kMostRate = 1e9;

RunHeader read_header(JsonReader reader) {
  read_format(reader, "penstock.run/1");
  RunHeader header;
  header.model = reader.at("model").string();
  header.plan = reader.at("plan").string();
  header.plan_hash = reader.at("plan_hash").string();
  header.tool_version = reader.at("tool_version").string();
  header.transport = reader.at("transport").string();
  header.device = reader.at("device").string();
  header.host = reader.at("host").string();
  header.started = reader.at("started").string();
  header.library = reader.at("library").string();
  header.precision = reader.at("precision").string();
  header.ranks = read_int(reader.at("ranks"), 1, kMostRanks);
  header.threads_per_rank = read_int(reader.at("threads_per_rank"), 1, kMostRanks);
  header.first_step = reader.at("first_step").integer(0, kMostSteps);
  reader.finish();
  return header;
}

std::vector<Duration> read_times(const JsonReader& array) {
  std::vector<Duration> times;
  const std::vector<JsonReader> elements = array.elements();
  times.reserve(elements.size());
  for (const JsonReader& element : elements) {
    const bool measured = element.value().kind() != Json::Kind::kNull;
    times.push_back(measured ? Duration{element.integer(0, kLongestDuration.count())}
                             : kNotMeasured);
  }
  return times;
}

MeasuredSection read_section(JsonReader reader) {
  MeasuredSection section;
  const JsonReader kind = reader.at("kind");
  const std::optional<ActionKind> named = action_kind_named(kind.string());
  if (named != ActionKind::kUnshard && named != ActionKind::kReduceGradient) {
    kind.fail("expected \"UNSHARD\" or \"REDUCE_GRAD\"");
  }
  section.kind = *named;
  section.section = read_int(reader.at("section"), 0, kMostRanks);
  section.start = reader.duration("start");
  section.end = reader.duration("end");
  if (section.end < section.start) reader.fail("ends before it starts");
  reader.finish();
  return section;
}

MeasuredRank read_rank(JsonReader reader, const RunHeader& header) {
  MeasuredRank rank;
  rank.rank = read_int(reader.at("rank"), 0, header.ranks - 1);
  rank.pipeline = read_int(reader.at("pipeline"), 0, kMostRanks);
  rank.pipeline_rank = read_int(reader.at("pipeline_rank"), 0, kMostRanks);
  rank.start = read_times(reader.at("start_ns"));
  const JsonReader ends = reader.at("end_ns");
  rank.end = read_times(ends);
  if (rank.end.size() != rank.start.size()) {
    ends.fail("expected as many times as start_ns has, " + std::to_string(rank.start.size()) +
              ", got " + std::to_string(rank.end.size()));
  }
  for (std::size_t i = 0; i < rank.start.size(); ++i) {
    if ((rank.end[i] == kNotMeasured) != (rank.start[i] == kNotMeasured)) {
      ends.fail("action " + std::to_string(i) +
                " has only one of start and end; null belongs in both");
    }
    if (rank.end[i] < rank.start[i]) {
      ends.fail("action " + std::to_string(i) + " ends before it starts");
    }
  }
  if (const std::optional<JsonReader> sections = reader.get("sections")) {
    for (const JsonReader& section : sections->elements()) {
      rank.sections.push_back(read_section(section));
    }
  }
  reader.finish();
  return rank;
}

// As many as the step's plan has ranks: a run that resumes may have others than the header says.
std::vector<Duration> read_rank_compute(const JsonReader& array) {
  std::vector<Duration> compute;
  for (const JsonReader& element : array.elements()) {
    compute.emplace_back(element.integer(0, kLongestDuration.count()));
  }
  if (compute.empty()) array.fail("expected one time for each rank, got none");
  return compute;
}

MeasuredStep read_step(JsonReader reader, const RunHeader& header) {
  MeasuredStep step;
  step.step = reader.at("step").integer(0, kMostSteps);
  step.loss = number_or_null(reader.at("loss"));
  step.gradient_norm = number_or_null(reader.at("gradient_norm"));
  step.skipped = reader.at("skipped").boolean();
  step.tokens = reader.at("tokens").integer(0, kMostSteps);
  step.step_time = reader.duration("step_time");
  step.phases.compute = reader.duration("compute");
  step.phases.waiting = reader.duration("waiting");
  step.phases.reducing = reader.duration("reducing");
  step.phases.optimizer = reader.duration("optimizer");
  if (const std::optional<JsonReader> compute = reader.get("rank_compute_ns")) {
    step.rank_compute = read_rank_compute(*compute);
  }
  if (const std::optional<JsonReader> rate = reader.get("learning_rate")) {
    step.learning_rate = rate->number(0.0, kMostRate);
  }
  if (const std::optional<JsonReader> loss = reader.get("evaluation_loss")) {
    step.evaluation = {number_or_null(*loss), reader.duration("evaluation_time")};
  }
  if (const std::optional<JsonReader> hash = reader.get("plan_hash")) {
    step.plan_hash = hash->string();
    step.plan = reader.at("plan").string();
  }
  if (const std::optional<JsonReader> ranks = reader.get("ranks")) {
    for (const JsonReader& rank : ranks->elements()) {
      step.ranks.push_back(read_rank(rank, header));
    }
  }
  reader.finish();
  return step;
}

}  // namespace

RunLog read_run_log(std::string_view text, const std::string& file) {
  RunLog log;
  bool has_header = false;
  for (int line = 1;; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string place = file + ":" + std::to_string(line);
    const Json json = parse_json(text.substr(0, end), place);
    text.remove_prefix(end + 1);
    if (!has_header) {
      log.header = read_header(JsonReader(json, place));
      has_header = true;
    } else {
      log.steps.push_back(read_step(JsonReader(json, place), log.header));
    }
  }
  if (!has_header) {
    throw_bad_input(file + ":1: expected a line with \"format\": \"penstock.run/1\", got " +
                    (text.empty() ? "an empty file" : "an unfinished line") +
                    "\nhelp: penstock train writes such files with --log");
  }
  return log;
}

}  // namespace penstock
