
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/verbs/verbs.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

// The makespans of the rows, "why" for those without one.
std::vector<std::string> makespans(Arguments arguments) {
  arguments.insert(arguments.begin(), "schedule");
  arguments.emplace_back("--json");
  const Json json = parse_json(run_penstock(arguments).text, "answer");
  std::vector<std::string> times;
  for (const Json& row : json.find("rows")->elements()) {
    times.push_back(row.find("why_not") != nullptr ? "why" : row.find("makespan_ns")->text());
  }
  return times;
}

std::string refusal(const Arguments& arguments) {
  return tests::message_of([&] { static_cast<void>(run_penstock(arguments)); });
}

// A file that goes with the test.
struct Drawn {
  std::string path;
  explicit Drawn(const std::string& ending = ".svg")
      : path((std::filesystem::temp_directory_path() / ("penstock_schedule_sweep_test" + ending))
                 .string()) {}
  ~Drawn() { std::filesystem::remove(path); }
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;
};

}  // namespace

// GPipe and 1F1B take (M + P - 1)(F + B).
TEST_CASE("one row per combination, the last one changing fastest") {
  CHECK(makespans({"1F1B,gpipe", "-P", "2,4", "-M", "2,4", "--cost", "F=1ms,B=2ms"}) ==
        std::vector<std::string>{"9000000", "15000000", "15000000", "21000000", "9000000",
                                 "15000000", "15000000", "21000000"});
}

// Interleaved: M V (f + b) + (P - 1)(f + b) = 4 * 2 * 3 + 3 ms with f + b a V-th of a rank's 6 ms.
TEST_CASE("costs per rank are divided over its chunks") {
  CHECK(makespans({"1f1b,interleaved", "-P", "2", "-V", "2", "-M", "4", "--cost", "F=2ms,B=4ms",
                   "--per-rank"}) == std::vector<std::string>{"30000000", "27000000"});
}

TEST_CASE("a row that a schedule's rules exclude says why, the others stand") {
  CHECK(makespans({"dualpipe,1f1b", "-P", "2", "-M", "5", "--cost", "F=1ms,B=2ms"}) ==
        std::vector<std::string>{"why", "18000000"});
  const Answer answer =
      run_penstock({"schedule", "dualpipe", "-P", "2,4", "-M", "5", "--cost", "F=1ms,B=2ms"});
  CHECK(answer.exit == 1);
  CHECK(answer.text.find("M = 5 is odd") != std::string::npos);
}

TEST_CASE("the rows are drawn below each other, with what they hold") {
  const Drawn drawn;
  CHECK(run_penstock({"schedule", "1f1b,zb-h1", "-P", "2", "-M", "4", "--cost", "F=1ms,I=1ms,W=1ms",
                      "-o", drawn.path, "--title", "Two & one"})
            .exit == 0);
  const std::string svg = read_file(drawn.path);
  for (const char* part : {"Two &amp; one", "zb-h1, P 2, V 1, M 4", "activations held", ">1F3<"}) {
    CHECK(svg.find(part) != std::string::npos);
  }
}

TEST_CASE("a window shows a part of the step") {
  const Drawn drawn;
  const Arguments all{"schedule", "1f1b",   "-P",          "2",  "-M",
                      "32",       "--cost", "F=1ms,B=2ms", "-o", drawn.path};
  const auto with = [&](const char* window) {
    Arguments arguments = all;
    arguments.insert(arguments.end(), {"--window", window});
    static_cast<void>(run_penstock(arguments));
    return read_file(drawn.path);
  };
  const std::string start = with("start");
  CHECK(start.find(">0F0<") != std::string::npos);
  CHECK(start.find(">0F31<") == std::string::npos);
  const std::string end = with("end");
  CHECK(end.find(">0B31<") != std::string::npos);
  CHECK(end.find(">0F0<") == std::string::npos);
  CHECK(with("0ms..3ms").find(">1F0<") != std::string::npos);
  CHECK(tests::message_of([&] { with("middle"); }).starts_with("--window: unknown 'middle'"));
}

TEST_CASE("a page has the same bytes on every screen") {
  const Drawn drawn(".html");
  for (const char* names : {"1f1b", "1f1b,gpipe"}) {
    const Arguments arguments{"schedule", names,    "-P",          "2",  "-M",
                              "4",        "--cost", "F=1ms,B=2ms", "-o", drawn.path};
    static_cast<void>(run_penstock(arguments, Screen{60}));
    const std::string narrow = read_file(drawn.path);
    static_cast<void>(run_penstock(arguments, Screen{200}));
    CHECK(read_file(drawn.path) == narrow);
  }
}

TEST_CASE("what belongs to one schedule is refused for several") {
  CHECK(
      refusal({"schedule", "1f1b,gpipe", "-P", "2", "-M", "4", "--cost", "F=1ms,B=1ms", "--print"})
          .starts_with("--print"));
  CHECK(refusal({"schedule", "1f1b", "-P", "2", "-M", "4", "--cost", "F=1ms,B=1ms", "-o", "a.pdf"})
            .find(".svg, .png, .html or .json") != std::string::npos);
}

TEST_CASE("PyTorch's CSV with costs is a trace") {
  const Answer answer =
      run_penstock({"trace", "data/schedules/1f1b-2x3.csv", "--cost", "F=1ms,B=2ms"});
  CHECK(answer.text.find("1F2") != std::string::npos);
  CHECK(refusal({"trace", "data/schedules/1f1b-2x3.csv"}).starts_with("--cost: missing"));
}
