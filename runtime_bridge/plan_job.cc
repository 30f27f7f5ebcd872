#include "runtime_bridge/plan_job.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "core/values/error.h"
#include "core/values/json_fields.h"
#include "runtime_bridge/checkpoint_checksum.h"

namespace penstock {
namespace {

constexpr const char* kJobFormat = "penstock.plan-job/1";
constexpr const char* kSignFormat = "penstock.planner/1";
// Numbers that others wrote, to which one may still add.
constexpr std::int64_t kMost = std::int64_t{1} << 62;
constexpr int kMostInt = std::numeric_limits<int>::max();

std::string one_line(const Json& json) { return to_text(json, std::numeric_limits<int>::max()); }

std::string seed_in_file(std::uint64_t seed) { return std::to_string(seed); }

// Seeds have 64 bits, which not all readers of JSON can tell apart as numbers.
std::uint64_t read_seed(const JsonReader& reader) {
  const std::string text = reader.string();
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seed);
  if (read.ec != std::errc{} || read.ptr != end) reader.fail("expected digits of 64 bits");
  return seed;
}

// Of another format it says what to run.
template <class Value>
Value read_if_ours(const std::string& text, const std::string& source, const std::string& format) {
  const Json json = parse_json(text, source);
  JsonReader reader(json, source);
  const std::string found = reader.at("format").string();
  if (found != format) {
    reader.at("format").fail("is '" + found + "', and this penstock reads '" + format +
                             "'\nhelp: run the same penstock as planner and as ranks");
  }
  return read_json<Value>(reader);
}

// What every batch is planned from.
template <class Fields>
void facts_of(Fields& fields, FieldsOf<Fields, PlanJob>& job) {
  fields("tool_version", job.tool_version);
  fields("layout", job.layout);
  fields("profile", job.profile);
  fields("cluster", job.cluster);
  fields("documents", job.documents);
  fields("tokens_per_batch", job.tokens_per_batch, 1, kMost);
  fields.as("seed", job.seed, seed_in_file, read_seed);
  fields("longest", job.longest, 1, kMostInt);
  fields("pad_to", job.pad_to, 1, kMostInt);
  fields("replays", job.replays, 0, kMost);
  fields("schedules", job.schedules);
}

}  // namespace

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlanJob>& job) {
  fields.format(kJobFormat);
  fields("run", job.run);
  fields.part("facts", [&job](auto& facts) { facts_of(facts, job); });
  fields("first_step", job.first_step, 0, kMost);
  fields("first_taken", job.first_taken, 0, kMost);
  fields("end_step", job.end_step, 0, kMost);
  fields("ahead", job.ahead);
  fields("wanted", job.wanted, 0, kMost);
  fields("ended", job.ended);
}

template <class Fields>
void fields_of(Fields& fields, FieldsOf<Fields, PlannerSign>& sign) {
  fields.format(kSignFormat);
  fields("process", sign.process);
  fields("run", sign.run);
  fields("next_step", sign.next_step, 0, kMost);
  fields("failure", sign.failure);
}

std::uint64_t fingerprint_of(const PlanJob& job) {
  Json facts = Json::object();
  WriteFields fields(facts);
  facts_of(fields, job);
  return xxh64(one_line(facts));
}

std::string write_plan_job(const PlanJob& job) { return one_line(json_of(job)); }

PlanJob read_plan_job(const std::string& text, const std::string& source) {
  return read_if_ours<PlanJob>(text, source, kJobFormat);
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

std::string write_planner_sign(const PlannerSign& sign) { return one_line(json_of(sign)); }

PlannerSign read_planner_sign(const std::string& text, const std::string& source) {
  return read_if_ours<PlannerSign>(text, source, kSignFormat);
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
