// A log is one JSON object per line: a header, then steps. Lines are read one after the other, each
// with its own line number in errors; an incomplete last line of a run that was killed is left out.
// Bounds keep sums over ranks and steps within 64 bits.
#include <limits>
#include <optional>

#include "core/values/error.h"
#include "core/values/json_fields.h"
#include "core/values/run_log.h"

namespace penstock {
namespace {

constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;
constexpr double kMostRate = 1e9;

std::string one_line(const Json& json) { return to_text(json, std::numeric_limits<int>::max()); }

Json write_times(const std::vector<Duration>& times) {
  Json json = Json::array();
  for (const Duration time : times) {
    json.push(time == kNotMeasured ? Json() : Json(std::int64_t{time.count()}));
  }
  return json;
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

std::string kind_in_file(ActionKind kind) { return std::string(name_of(kind)); }

ActionKind read_kind(const JsonReader& kind) {
  const std::optional<ActionKind> named = action_kind_named(kind.string());
  if (named != ActionKind::kUnshard && named != ActionKind::kReduceGradient) {
    kind.fail("expected \"UNSHARD\" or \"REDUCE_GRAD\"");
  }
  return *named;
}

void require_pairs(JsonReader& reader, const MeasuredRank& rank) {
  const JsonReader ends = reader.at("end_ns");
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

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, RunHeader>& header) {
  fields.format("penstock.run/1");
  fields("model", header.model);
  fields("plan", header.plan);
  fields("plan_hash", header.plan_hash);
  fields("tool_version", header.tool_version);
  fields("transport", header.transport);
  fields("device", header.device);
  fields("host", header.host);
  fields("started", header.started);
  fields("library", header.library);
  fields("precision", header.precision);
  fields("ranks", header.ranks, 1, kMostRanks);
  fields("threads_per_rank", header.threads_per_rank, 1, kMostRanks);
  fields("first_step", header.first_step, 0, kMostSteps);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MeasuredSection>& section) {
  fields.as("kind", section.kind, kind_in_file, read_kind);
  fields("section", section.section, 0, kMostRanks);
  fields.time("start", section.start);
  fields.time("end", section.end);
  if constexpr (Fields::kReads) {
    if (section.end < section.start) fields.reader().fail("ends before it starts");
  }
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MeasuredRank>& rank) {
  fields("rank", rank.rank, 0, kMostRanks);
  fields("pipeline", rank.pipeline, 0, kMostRanks);
  fields("pipeline_rank", rank.pipeline_rank, 0, kMostRanks);
  fields.as("start_ns", rank.start, write_times, read_times);
  fields.as("end_ns", rank.end, write_times, read_times);
  if constexpr (Fields::kReads) require_pairs(fields.reader(), rank);
  fields.if_any("sections", rank.sections);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, MeasuredStep>& step) {
  fields("step", step.step, 0, kMostSteps);
  fields.or_null("loss", step.loss);
  fields.or_null("gradient_norm", step.gradient_norm);
  fields("skipped", step.skipped);
  fields("tokens", step.tokens, 0, kMostSteps);
  fields.time("step_time", step.step_time);
  fields.time("compute", step.phases.compute);
  fields.time("waiting", step.phases.waiting);
  fields.time("reducing", step.phases.reducing);
  fields.time("optimizer", step.phases.optimizer);
  fields.as_if_any("rank_compute_ns", step.rank_compute, write_times, read_rank_compute);
  fields.if_any("learning_rate", step.learning_rate, 0.0, kMostRate);
  if (fields.holds("evaluation_loss", step.evaluation.has_value())) {
    if constexpr (Fields::kReads) step.evaluation.emplace();
    fields.or_null("evaluation_loss", step.evaluation->loss);
    fields.time("evaluation_time", step.evaluation->time);
  }
  if (fields.holds("plan_hash", !step.plan_hash.empty())) {
    fields("plan", step.plan);
    fields("plan_hash", step.plan_hash);
  }
  fields.if_any("ranks", step.ranks);
}

namespace {

MeasuredStep read_step(JsonReader reader, const RunHeader& header) {
  auto step = read_json<MeasuredStep>(reader);
  if (step.ranks.empty()) return step;
  for (JsonReader& rank : reader.at("ranks").elements()) {
    static_cast<void>(rank.at("rank").integer(0, header.ranks - 1));
  }
  return step;
}

}  // namespace

std::string write_run_header(const RunHeader& header) { return one_line(json_of(header)); }
std::string write_measured_step(const MeasuredStep& step) { return one_line(json_of(step)); }

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
      log.header = read_json<RunHeader>(JsonReader(json, place));
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
