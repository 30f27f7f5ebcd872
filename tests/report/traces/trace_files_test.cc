#include "report/traces/trace_files.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "report/traces/memory_csv.h"
#include "simulator/simulate.h"
#include "tests/core/tiny_plan.h"

namespace penstock {
namespace {

StepTrace predicted(const PlanFile& plan) {
  return trace_of(plan, simulate(plan.program, plan.prices, plan.executor));
}

std::int64_t nanoseconds(const Json& event, const char* key) {
  // As Perfetto's tokenizer does.
  return std::llround(std::strtod(event.find(key)->text().c_str(), nullptr) * 1000.0);
}

int number(const Json& event, const char* key) { return std::stoi(event.find(key)->text()); }

struct Slice {
  std::int64_t start = 0, end = 0;
  std::string name;
};
using Track = std::pair<int, int>;  // process, thread

const Slice* open_at(const std::vector<Slice>& slices, std::int64_t time) {
  for (const Slice& slice : slices) {
    if (slice.start <= time && time < slice.end) return &slice;
  }
  return nullptr;
}

// The rules of Perfetto's JSON importer, each by itself, over a whole file. Returns the arrows as
// "from > to".
std::set<std::string> lint_perfetto(const std::string& text) {
  const Json json = parse_json(text, "trace.json");
  std::map<Track, std::vector<Slice>> tracks;
  std::map<std::string, std::string> starts;
  std::set<std::string> arrows, ended;
  for (const Json& event : json.find("traceEvents")->elements()) {
    const std::string& phase = event.find("ph")->text();
    if (phase == "M") continue;
    if (phase == "C") {
      REQUIRE(event.find("args")->find("total") != nullptr);
      continue;
    }
    const Track track{number(event, "pid"), number(event, "tid")};
    REQUIRE(track.second != 0);
    const std::int64_t time = nanoseconds(event, "ts");
    std::vector<Slice>& slices = tracks[track];
    if (phase == "X") {
      REQUIRE(event.find("dur") != nullptr);
      const Slice slice{time, time + nanoseconds(event, "dur"), event.find("name")->text()};
      for (const Slice& other : slices) {
        REQUIRE((other.end <= slice.start || slice.end <= other.start));
      }
      slices.push_back(slice);
      continue;
    }
    // An arrow binds to a slice that stands before it in the file and is open at its time.
    const Slice* slice = open_at(slices, time);
    REQUIRE(slice != nullptr);
    const std::string id = event.find("id")->text();
    if (phase == "s") {
      REQUIRE(starts.emplace(id, slice->name).second);
    } else {
      REQUIRE(phase == "f");
      REQUIRE(event.find("bp")->text() == "e");
      REQUIRE(slice->start < time);
      REQUIRE(starts.count(id) == 1);
      REQUIRE(ended.insert(id).second);
      arrows.insert(starts[id] + " > " + slice->name);
    }
  }
  REQUIRE(ended.size() == starts.size());
  return arrows;
}

TEST_CASE(
    "Perfetto's file keeps its importer's rules, and arrows run from sends to what they feed") {
  const PlanFile plan = tiny_plan();
  const std::string text = perfetto_json(predicted(plan), Json::object().set("plan_hash", "h"));
  CHECK(lint_perfetto(text) == std::set<std::string>{"PP:0SEND_F0 > PP:1F0", "PP:0SEND_F1 > PP:1F1",
                                                     "PP:1SEND_B0 > PP:0B0",
                                                     "PP:1SEND_B1 > PP:0B1"});
  CHECK(parse_json(text, "t").find("metadata")->find("plan_hash")->text() == "h");
  // F0 of rank 1 runs from 1.5 to 2.5 us.
  CHECK(
      text.find(
          R"("name": "PP:1F0", "cat": "compute", "pid": 1, "tid": 1, "ts": 1.500, "dur": 1.000)") !=
      std::string::npos);
}

// A rank whose slices touch, of lengths that are no fraction of a microsecond that floats have.
TraceRank odd_rank(std::uint64_t seed, Duration start) {
  TraceRank rank;
  rank.device = "gpu";
  rank.stages = {0};
  for (int i = 0; i < 2'000; ++i) {
    seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    const Duration length{1 + static_cast<std::int64_t>((seed >> 33) % 20'000'003)};
    TraceSlice slice;
    slice.name = "0F" + std::to_string(i);
    slice.micro_batch = i;
    slice.start = start;
    slice.end = start + length;
    // Every seventh leaves a nanosecond to the next.
    start = slice.end + Duration{i % 7 == 0 ? 1 : 0};
    rank.slices.push_back(std::move(slice));
  }
  return rank;
}

// What viewers do: speedscope takes the track's first time off all others and adds start and
// duration, both as floats; a slice that ends behind the beginning of the next holds it.
TEST_CASE("slices that touch neither overlap nor part where a viewer adds floats") {
  StepTrace trace{.what = "predicted", .step = 0, .length = {}, .ranks = {}, .flows = {}};
  for (int r = 0; r < 4; ++r) {
    trace.ranks.push_back(
        odd_rank(static_cast<std::uint64_t>(r) + 7, Duration{r * 1'234'567'891LL}));
    trace.ranks.back().rank = r;
  }
  const Json json = parse_json(perfetto_json(trace, Json::object()), "t");
  std::map<int, std::vector<const Json*>> tracks;
  for (const Json& event : json.find("traceEvents")->elements()) {
    if (event.find("ph")->text() == "X") tracks[number(event, "pid")].push_back(&event);
  }
  const auto value = [](const Json* event, const char* key) {
    return std::strtod(event->find(key)->text().c_str(), nullptr);
  };
  for (const auto& [rank, events] : tracks) {
    const std::vector<TraceSlice>& slices = trace.ranks[static_cast<std::size_t>(rank)].slices;
    REQUIRE(events.size() == slices.size());
    int wrong = 0;
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      const std::int64_t start = nanoseconds(*events[i], "ts");
      if (start != slices[i].start.count()) ++wrong;
      if (start + nanoseconds(*events[i], "dur") != slices[i].end.count()) ++wrong;
      for (const double base : {0.0, value(events[0], "ts"), 0.001, 1e6 / 3.0}) {
        const bool on_grid = base == 0.0 || base == value(events[0], "ts");
        const double end = (value(events[i], "ts") - base) + value(events[i], "dur");
        const double next = value(events[i + 1], "ts") - base;
        const bool touches = slices[i].end == slices[i + 1].start;
        if (on_grid && (touches ? end != next : end >= next)) ++wrong;
        // Off the grid, too, no more than a float's rounding.
        if (!on_grid && end > next + 1e-8) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("memory rises with forwards, falls with backwards, and peaks where the plan says") {
  const StepTrace trace = predicted(tiny_plan());
  // Rank 0: F0 at 0, F1 at 1 us; B0 ends at 7, B1 at 10 us. Beside 100 B each it keeps 100 B.
  REQUIRE(trace.ranks.size() == 2);
  const std::vector<MemoryPoint>& points = trace.ranks[0].memory;
  const std::vector<std::pair<int, int>> expected{
      {0, 100}, {1'000, 200}, {7'000, 100}, {10'000, 0}};
  REQUIRE(points.size() == expected.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].time == Duration{expected[i].first});
    CHECK(points[i].stash == Bytes{expected[i].second});
    CHECK(points[i].total == Bytes{expected[i].second + 100});
  }
}

// tiny_plan.h: 100 bytes from each F to the end of its B, 100 of rank 0 and 131 of rank 1 all the
// time.
TEST_CASE("memory over time as a table has a row for each change") {
  CHECK(memory_csv(predicted(tiny_plan())) ==
        "rank,pipeline_rank,replicas,time_ns,activation_bytes,total_bytes,capacity_bytes\n"
        "0,0,1,0,100,200,1000\n"
        "0,0,1,1000,200,300,1000\n"
        "0,0,1,7000,100,200,1000\n"
        "0,0,1,10000,0,100,1000\n"
        "1,1,1,0,0,131,1000\n"
        "1,1,1,1500,100,231,1000\n"
        "1,1,1,4500,100,231,1000\n"
        "1,1,1,7500,0,131,1000\n");
}

TEST_CASE("sends that overlap lie on tracks of their own") {
  // A transfer of 3 us: those of rank 0, begun at 1 and 2 us, overlap.
  const PlanFile plan =
      tiny_plan({{"\"send_activation_ns\": 500", "\"send_activation_ns\": 3000"}});
  const StepTrace trace = predicted(plan);
  static_cast<void>(lint_perfetto(perfetto_json(trace, Json::object())));
  std::set<int> tracks;
  for (const TraceSlice& slice : trace.ranks[0].slices) {
    if (slice.lane == TraceLane::kSends) tracks.insert(slice.track);
  }
  CHECK(tracks == std::set<int>{0, 1});
}

TEST_CASE("distinct pipelines are shown with the ranks of the job that run them first") {
  const StepTrace trace = predicted(tiny_plan(two_replicas()));
  std::vector<int> ranks;
  for (const TraceRank& rank : trace.ranks) ranks.push_back(rank.rank);
  CHECK(ranks == std::vector<int>{0, 1, 2, 3});
  // Every pipeline counts its stages from 0.
  CHECK(trace.ranks[2].slices.front().name == "0F0");
  static_cast<void>(lint_perfetto(perfetto_json(trace, Json::object())));
}

TEST_CASE("Kineto's files are what HTA looks for") {
  const PlanFile plan = tiny_plan();
  const std::vector<NamedText> files = kineto_files(predicted(plan), plan);
  REQUIRE(files.size() == 2);
  const std::regex rank_of_hta(R"re("rank":\s+(\d+))re");
  const std::regex forbidden("Sync|dma|Memcpy|Memset");
  for (int rank = 0; rank < 2; ++rank) {
    const NamedText& file = files[static_cast<std::size_t>(rank)];
    CHECK(file.name == "rank" + std::to_string(rank) + "_trace.json");
    std::smatch match;
    REQUIRE(std::regex_search(file.text, match, rank_of_hta));
    CHECK(match[1] == std::to_string(rank));
    std::int64_t compute = 0, last = 0;
    std::map<std::string, Json> ranges;
    const Json json = parse_json(file.text, file.name);
    for (const Json& event : json.find("traceEvents")->elements()) {
      if (event.find("ph")->text() != "X") continue;
      const std::string& category = event.find("cat")->text();
      const std::string place = event.find("tid")->text() + '@' + event.find("ts")->text();
      if (category == "gpu_user_annotation") ranges[place] = event;
      if (category != "kernel") continue;
      REQUIRE(ranges.count(place) == 1);
      CHECK(ranges[place].find("dur")->text() == event.find("dur")->text());
      CHECK(ranges[place].find("name")->text().starts_with("PP:"));
      const Json& args = *event.find("args");
      CHECK(number(event, "pid") == rank);
      CHECK(number(args, "device") == rank);
      CHECK(number(args, "stream") == number(event, "tid"));
      CHECK(number(args, "stream") >= 1);
      CHECK(args.find("correlation") != nullptr);
      const std::string& name = event.find("name")->text();
      if (name.starts_with("nccl")) {
        CHECK(args.find("Collective name") != nullptr);
      } else {
        CHECK_FALSE(std::regex_search(name, forbidden));
        compute += nanoseconds(event, "dur");
      }
      last = std::max(last, nanoseconds(event, "ts") + nanoseconds(event, "dur"));
    }
    CHECK(compute == 6'100);  // 2 * 1 + 2 * 2 us + 100 ns
    CHECK(last == 10'110);    // every rank has a kernel at the step's end
  }
}

TEST_CASE("an archive is a TAR that begins with Perfetto's manifest") {
  const NamedText manifest = perfetto_manifest({"predicted.json", "measured.json"});
  CHECK(manifest.text.starts_with("{\"perfetto_manifest\""));
  const Json json = parse_json(manifest.text, manifest.name);
  const Json& files = *json.find("perfetto_manifest")->find("files");
  REQUIRE(files.elements().size() == 2);
  CHECK(files.elements()[1].find("machine")->find("name")->text() == "measured");
  CHECK(files.elements()[1].find("clocks")->find("sync_to")->find("file")->text() ==
        "predicted.json");

  const std::string tar = tar_of({manifest, {"predicted.json", std::string(513, 'x')}});
  REQUIRE(tar.size() % 512 == 0);
  std::size_t at = 0;
  std::vector<std::string> names;
  while (tar[at] != '\0') {
    const std::string header = tar.substr(at, 512);
    names.emplace_back(header.c_str());
    const std::size_t size = std::stoul(header.substr(124, 11), nullptr, 8);
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) {
      sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
    }
    CHECK(std::stoul(header.substr(148, 6), nullptr, 8) == sum);
    CHECK(header.substr(257, 5) == "ustar");
    at += 512 + (size + 511) / 512 * 512;
  }
  CHECK(names == std::vector<std::string>{"perfetto_manifest.json", "predicted.json"});
  CHECK(tar.size() == at + 1024);
}

}  // namespace
}  // namespace penstock
