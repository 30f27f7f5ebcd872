#include "runtime_bridge/plan_job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "core/values/error.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "runtime_bridge/checkpoint_checksum.h"

namespace penstock {
namespace {

constexpr const char* kJobFormat = "penstock.plan-job/1";
constexpr const char* kSignFormat = "penstock.planner/1";
// Numbers that others wrote, to which one may still add.
constexpr std::int64_t kMost = std::int64_t{1} << 62;

std::string one_line(const Json& json) { return to_text(json, std::numeric_limits<int>::max()); }

// Seeds have 64 bits, which not all readers of JSON can tell apart as numbers.
Json facts_of(const PlanJob& job) {
  Json schedules = Json::array();
  for (const std::string& schedule : job.schedules) schedules.push(schedule);
  Json json = Json::object();
  json.set("tool_version", job.tool_version)
      .set("layout", job.layout)
      .set("profile", job.profile)
      .set("cluster", job.cluster)
      .set("documents", job.documents)
      .set("tokens_per_batch", job.tokens_per_batch)
      .set("seed", std::to_string(job.seed))
      .set("longest", job.longest)
      .set("pad_to", job.pad_to)
      .set("replays", job.replays)
      .set("schedules", std::move(schedules));
  return json;
}

void require_format(JsonReader& reader, const std::string& format) {
  const std::string found = reader.at("format").string();
  if (found == format) return;
  reader.at("format").fail("is '" + found + "', and this penstock reads '" + format +
                           "'\nhelp: run the same penstock as planner and as ranks");
}

std::uint64_t read_seed(const JsonReader& reader) {
  const std::string text = reader.string();
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seed);
  if (read.ec != std::errc{} || read.ptr != end) reader.fail("expected digits of 64 bits");
  return seed;
}

}  // namespace

std::uint64_t fingerprint_of(const PlanJob& job) { return xxh64(one_line(facts_of(job))); }

std::string write_plan_job(const PlanJob& job) {
  Json json = Json::object();
  json.set("format", kJobFormat)
      .set("run", job.run)
      .set("facts", facts_of(job))
      .set("first_step", job.first_step)
      .set("first_taken", job.first_taken)
      .set("end_step", job.end_step)
      .set("ahead", job.ahead)
      .set("wanted", job.wanted)
      .set("ended", job.ended);
  return one_line(json);
}

PlanJob read_plan_job(const std::string& text, const std::string& source) {
  constexpr int kMostInt = std::numeric_limits<int>::max();
  const Json json = parse_json(text, source);
  JsonReader reader(json, source);
  require_format(reader, kJobFormat);
  PlanJob job;
  job.run = reader.at("run").string();
  JsonReader facts = reader.at("facts");
  job.tool_version = facts.at("tool_version").string();
  job.layout = facts.at("layout").string();
  job.profile = facts.at("profile").string();
  job.cluster = facts.at("cluster").string();
  job.documents = facts.at("documents").string();
  job.tokens_per_batch = facts.at("tokens_per_batch").integer(1, kMost);
  job.seed = read_seed(facts.at("seed"));
  job.longest = static_cast<int>(facts.at("longest").integer(1, kMostInt));
  job.pad_to = static_cast<int>(facts.at("pad_to").integer(1, kMostInt));
  job.replays = facts.at("replays").integer(0, kMost);
  for (const JsonReader& each : facts.at("schedules").elements()) {
    job.schedules.push_back(each.string());
  }
  facts.finish();
  job.first_step = reader.at("first_step").integer(0, kMost);
  job.first_taken = reader.at("first_taken").integer(0, kMost);
  job.end_step = reader.at("end_step").integer(0, kMost);
  job.ahead = static_cast<int>(reader.at("ahead").integer(0, kMostInt));
  job.wanted = reader.at("wanted").integer(0, kMost);
  job.ended = reader.at("ended").boolean();
  reader.finish();
  return job;
}

void require_same_files(const PlanJob& job, const PlanJob& planner) {
  struct Fact {
    const char* what;
    std::string PlanJob::*hash;
    const char* help;
  };
  static constexpr std::array kFacts{
      Fact{"version of penstock", &PlanJob::tool_version, "install the same one on both"},
      Fact{"plan, which gives model and layout,", &PlanJob::layout,
           "give the planner the file that the ranks train by"},
      Fact{"profile", &PlanJob::profile, "name the one that the ranks use with --profile"},
      Fact{"cluster", &PlanJob::cluster, "name the one that the ranks use with --cluster"},
      Fact{"set of documents", &PlanJob::documents,
           "give the planner the same files, in the same order, as --documents"}};
  for (const Fact& fact : kFacts) {
    if (job.*fact.hash == planner.*fact.hash) continue;
    throw_bad_input("the planner has another " + std::string(fact.what) +
                    " than the job: " + planner.*fact.hash + ", and the job " + job.*fact.hash +
                    "\nhelp: " + fact.help + "; or is --job the name of another job?");
  }
}

std::string write_planner_sign(const PlannerSign& sign) {
  Json json = Json::object();
  json.set("format", kSignFormat)
      .set("process", sign.process)
      .set("run", sign.run)
      .set("next_step", sign.next_step)
      .set("failure", sign.failure);
  return one_line(json);
}

PlannerSign read_planner_sign(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  JsonReader reader(json, source);
  require_format(reader, kSignFormat);
  PlannerSign sign;
  sign.process = reader.at("process").string();
  sign.run = reader.at("run").string();
  sign.next_step = reader.at("next_step").integer(0, kMost);
  sign.failure = reader.at("failure").string();
  reader.finish();
  return sign;
}

void require_job_name(std::string_view option, const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (!name.empty() && name.size() <= kLongest && is_plain) return;
  throw_bad_input(std::string(option) + ": '" + name +
                  "' is no name of a job\nhelp: up to 64 letters, digits, dots, dashes and "
                  "underscores, the same for ranks and planner");
}

}  // namespace penstock
