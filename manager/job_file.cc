// Reads job files (penstock.job/1).
//
// What the manager sets itself, such as --steps, is refused among the arguments of train, since two
// answers to one question would depend on their order. What is left out has the default of JobFile.
// A time says its unit in its key ("exit_s": 60).
#include "manager/job_file.h"

#include <array>

#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kFormat = "penstock.job/1";
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

struct NamedProvider {
  NoticeSource::Provider provider;
  std::string_view name;
};
constexpr std::array kProviders{NamedProvider{NoticeSource::Provider::kAws, "aws"},
                                NamedProvider{NoticeSource::Provider::kGcp, "gcp"},
                                NamedProvider{NoticeSource::Provider::kAzure, "azure"}};

std::string read_some(const JsonReader& reader, const std::string& what) {
  std::string text = reader.string();
  if (text.empty()) reader.fail("expected " + what + ", got an empty text");
  return text;
}

std::vector<std::string> read_arguments(const JsonReader& reader) {
  // What the manager says itself, for every generation anew.
  constexpr std::array kOurs{"--steps",
                             "--checkpoints",
                             "--checkpoint-every",
                             "--between-failures",
                             "--resume",
                             "--resume-if-any",
                             "--log",
                             "--then",
                             "--book",
                             "--virtual",
                             "--slow-ranks",
                             "--slow-machines"};
  if (reader.value().kind() != Json::Kind::kArray) {
    reader.expected(R"(a list of arguments, as ["--data", "corpus.txt"])");
  }
  std::vector<std::string> arguments;
  for (const JsonReader& each : reader.elements()) {
    const std::string argument = each.string();
    const std::string name = argument.substr(0, argument.find('='));
    for (const char* ours : kOurs) {
      if (name == ours) {
        each.fail("the manager gives " + name +
                  " itself; leave it out (help: steps, book, checkpoints, checkpoint_every and "
                  "watch_slow_ranks are keys of the job)");
      }
    }
    arguments.push_back(argument);
  }
  return arguments;
}

RankStarter read_starter(JsonReader reader) {
  RankStarter starter;
  const JsonReader kind = reader.at("kind");
  if (kind.string() == "command") {
    starter.kind = RankStarter::Kind::kCommand;
    starter.start = read_some(reader.at("start"), "a command, as \"ssh {host} {command}\"");
    if (starter.start.find("{command") == std::string::npos) {
      reader.at("start").fail("there is no {command} in it, which becomes the rank's command line");
    }
  } else if (kind.string() != "local") {
    kind.expected("\"local\" or \"command\"");
  }
  if (auto environment = reader.get("environment")) {
    for (auto& [name, value] : environment->members()) {
      starter.environment[name] = value.string();
    }
  }
  reader.finish();
  return starter;
}

NoticeSource read_source(JsonReader reader) {
  NoticeSource source;
  const JsonReader provider = reader.at("provider");
  bool known = false;
  for (const NamedProvider& each : kProviders) {
    if (each.name != provider.string()) continue;
    source.provider = each.provider;
    known = true;
  }
  if (!known) provider.expected("\"aws\", \"gcp\" or \"azure\"");
  if (const auto base = reader.get("base")) source.base = base->string();
  if (const auto machine = reader.get("machine")) source.machine = machine->string();
  if (source.machine.empty() && source.provider != NoticeSource::Provider::kAzure) {
    reader.fail("the key \"machine\" is missing here; add the machine whose notices these are");
  }
  reader.finish();
  return source;
}

void read_assumptions(JsonReader reader, JobFile& job) {
  job.write = reader.get_duration("write");
  if (const auto rate = reader.get("storage_bytes_per_s")) {
    job.storage_bytes_per_s = rate->number(1.0, 1e15);
  }
  job.restart = reader.get_duration("restart").value_or(job.restart);
  job.notice = reader.get_duration("notice").value_or(job.notice);
  reader.finish();
}

void read_limits(JsonReader reader, JobLimits& limits) {
  limits.start = reader.get_duration("start").value_or(limits.start);
  limits.exit = reader.get_duration("exit").value_or(limits.exit);
  limits.silence = reader.get_duration("silence").value_or(limits.silence);
  if (const auto attempts = reader.get("attempts")) {
    limits.attempts = static_cast<int>(attempts->integer(1, 1'000'000));
  }
  limits.pause = reader.get_duration("pause").value_or(limits.pause);
  limits.longest_pause = reader.get_duration("longest_pause").value_or(limits.longest_pause);
  reader.finish();
}

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find_last_of('.'));
}

}  // namespace

JobFile read_job_file(const Json& json, const std::string& file) {
  JsonReader reader(json, file);
  if (!reader.has("format")) {
    reader.fail("the key \"format\" is missing here; add \"format\": \"" + std::string(kFormat) +
                "\"");
  }
  const JsonReader format = reader.at("format");
  if (format.string() != kFormat) format.expected("\"" + std::string(kFormat) + "\"");
  JobFile job;
  const auto name = reader.get("name");
  job.name = name ? read_some(*name, "a name") : stem_of(file);
  job.book = read_some(reader.at("book"), "the path of a book (plan --gpus 1..8 -o book.json)");
  job.steps = reader.at("steps").integer(1, kMostSteps);
  job.train = read_arguments(reader.at("train"));
  job.checkpoints = read_some(reader.at("checkpoints"), "a folder");
  job.run_folder = read_some(reader.at("run_folder"), "a folder");
  if (const auto machines = reader.get("machine_file")) job.machine_file = machines->string();
  if (const auto ranks = reader.get("ranks")) job.ranks = read_starter(*ranks);
  if (const auto address = reader.get("address")) job.address = address->string();
  if (const auto token = reader.get("token_file")) job.token_file = token->string();
  if (const auto notices = reader.get("notices")) {
    for (const JsonReader& each : notices->elements()) job.notices.push_back(read_source(each));
  }
  if (const auto assumptions = reader.get("assumptions")) read_assumptions(*assumptions, job);
  job.checkpoint_every = reader.get_duration("checkpoint_every");
  if (const auto watch = reader.get("watch_slow_ranks")) job.watch_slow_ranks = watch->boolean();
  if (const auto search = reader.get("search")) job.search = search->boolean();
  if (const auto limits = reader.get("limits")) read_limits(*limits, job.limits);
  reader.finish();
  return job;
}

}  // namespace penstock
