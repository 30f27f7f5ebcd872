// Slow ranks in words, as a list of machines, and as a file (penstock.slow/1) that is read again.
//
// The file holds what the words say and nothing else; the reader takes exactly what the writer
// writes, and what follows from other fields (the host, the threshold) is read and not used.
#include "report/slow_ranks_report.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/files/read_sources.h"
#include "core/values/json_reader.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr const char* kSlowFormat = "penstock.slow/1";
constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;
constexpr double kLargest = 1000.0;

const std::string* host_of(const RankSlowness& rank, const std::vector<std::string>& hosts) {
  const auto at = static_cast<std::size_t>(rank.rank);
  return at < hosts.size() && !hosts[at].empty() ? &hosts[at] : nullptr;
}

std::string compared_with(const RankSlowness& rank) {
  if (rank.replicas == 0) return "the other ranks, by what the plan predicts";
  return fmt::format("the median of the {} replicas of its stage", rank.replicas);
}

RankSlowness read_slow_rank(JsonReader rank) {
  RankSlowness read;
  read.rank = read_int(rank.at("rank"), 0, kMostRanks);
  read.pipeline_rank = read_int(rank.at("pipeline_rank"), 0, kMostRanks);
  read.replica = read_int(rank.at("replica"), 0, kMostRanks);
  static_cast<void>(rank.at("host"));
  read.factor = rank.at("factor").number(1.0, kLargest);
  read.replicas = read_int(rank.at("replicas_compared"), 0, kMostRanks);
  read.whole_stage = rank.at("whole_stage").boolean();
  read.from_start = rank.at("from_start").boolean();
  read.since_step = rank.at("since_step").integer(0, kMostSteps);
  read.seen_step = rank.at("seen_step").integer(0, kMostSteps);
  rank.finish();
  return read;
}

}  // namespace

std::string words_of(const RankSlowness& rank, const std::vector<std::string>& hosts) {
  const std::string* host = host_of(rank, hosts);
  return fmt::format("rank {} (stage {} of replica {}{}) computes {} times as long as {}, since {}",
                     rank.rank, rank.pipeline_rank, rank.replica,
                     host == nullptr ? "" : ", on " + *host, fixed(rank.factor, 2),
                     compared_with(rank),
                     rank.from_start ? "the beginning" : fmt::format("step {}", rank.since_step));
}

std::string slow_ranks_text(const SlowRanks& ranks, int windows, Screen screen) {
  const std::string looked =
      fmt::format("{} of {}", count_of(windows, "window"), count_of(ranks.window, "step"));
  if (ranks.slow.empty()) {
    return wrapped(
        windows == 0
            ? fmt::format("slow ranks: too few steps to say, a window has {}", ranks.window)
            : fmt::format("slow ranks: none is more than {} slower than its like, "
                          "twice in a row, in {}",
                          percent(ranks.threshold), looked),
        screen.width(), "", "  ");
  }
  std::string text = fmt::format("slow ranks, in {}:\n", looked);
  for (const RankSlowness& rank : ranks.slow) {
    text += wrapped(words_of(rank, ranks.hosts), screen.width(), "  ", "    ");
  }
  const bool any_stage = std::ranges::any_of(ranks.slow, &RankSlowness::whole_stage);
  if (any_stage) {
    text += wrapped(
        "Every replica of such a stage is slow: a slow GPU, or the plan predicts too little for "
        "the stage. Penstock validate compares stage by stage.",
        screen.width(), "note: ", "      ");
  }
  return text;
}

std::string slow_machines_text(const SlowRanks& ranks) {
  std::vector<std::string> machines;
  for (const RankSlowness& rank : ranks.slow) {
    const std::string* host = host_of(rank, ranks.hosts);
    std::string machine = host == nullptr ? fmt::format("rank {}", rank.rank) : *host;
    if (std::ranges::find(machines, machine) == machines.end()) {
      machines.push_back(std::move(machine));
    }
  }
  std::string text;
  for (const std::string& machine : machines) text += machine + '\n';
  return text;
}

Json to_json(const SlowRanks& ranks) {
  Json slow = Json::array();
  for (const RankSlowness& rank : ranks.slow) {
    Json json = Json::object();
    json.set("rank", rank.rank).set("pipeline_rank", rank.pipeline_rank);
    json.set("replica", rank.replica);
    const std::string* host = host_of(rank, ranks.hosts);
    json.set("host", host == nullptr ? Json() : Json(*host));
    json.set("factor", rank.factor);
    json.set("replicas_compared", rank.replicas);
    json.set("whole_stage", rank.whole_stage).set("from_start", rank.from_start);
    json.set("since_step", rank.since_step).set("seen_step", rank.seen_step);
    slow.push(std::move(json));
  }
  Json json = Json::object();
  json.set("threshold", ranks.threshold).set("window_steps", ranks.window);
  return json.set("slow", std::move(slow));
}

std::string slow_ranks_file(const SlowRanks& ranks) {
  Json json = Json::object().set("format", kSlowFormat);
  const Json all = to_json(ranks);
  for (const char* key : {"threshold", "window_steps", "slow"}) json.set(key, *all.find(key));
  return to_text(json) + '\n';
}

std::vector<RankSlowness> read_slow_ranks(const Json& json, const std::string& file) {
  std::vector<RankSlowness> slow;
  JsonReader reader(json, file);
  read_format(reader, kSlowFormat);
  static_cast<void>(reader.at("threshold").number(0.0, kLargest));
  static_cast<void>(reader.at("window_steps").integer(1, kMostSteps));
  for (const JsonReader& rank : reader.at("slow").elements()) slow.push_back(read_slow_rank(rank));
  reader.finish();
  return slow;
}

}  // namespace penstock
