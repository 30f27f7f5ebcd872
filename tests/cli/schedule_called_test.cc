#include "cli/words/schedule_called.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/words/schedule_spelled.h"
#include "simulator/schedules/schedules.h"
#include "tests/core/messages.h"

using namespace penstock;

namespace {

std::string refusal(const std::string& typed) {
  return tests::message_of([&] { static_cast<void>(schedule_called("--schedule", typed)); });
}

}  // namespace

TEST_CASE("every schedule has its own name, in any case and without hyphens") {
  for (const std::string& name : schedule_names()) {
    CHECK(schedule_called("--schedule", name) == name);
    std::string other;
    for (const char c : name) {
      if (c != '-') other.push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
    }
    CHECK(schedule_called("--schedule", other) == name);
  }
}

TEST_CASE("PyTorch's names, with and without Schedule before them") {
  const std::vector<std::pair<std::string, std::string>> all{
      {"1F1B", "1f1b"},
      {"GPipe", "gpipe"},
      {"Interleaved1F1B", "interleaved"},
      {"LoopedBFS", "looped-bfs"},
      {"InterleavedZeroBubble", "interleaved-zb"},
      {"ZBVZeroBubble", "zb-v"},
      {"DualPipeV", "dualpipe-v"}};
  for (const auto& [typed, name] : all) {
    CHECK(schedule_called("--schedule", typed) == name);
    CHECK(schedule_called("--schedule", "Schedule" + typed) == name);
  }
  CHECK(schedule_called("--schedule", "ZB-H1") == "zb-h1");
  CHECK(schedule_called("--schedule", "zb1p") == "zb-1p");
  CHECK(schedule_called("--schedule", "1F1B-interleaving") == "interleaved");
  CHECK(schedule_called("--schedule", "pipedream_flush") == "1f1b");
}

TEST_CASE("any spelling is found, and no other word") {
  CHECK(schedule_spelled("ScheduleZBVZeroBubble") == "zb-v");
  CHECK(schedule_spelled("DualPipe") == "dualpipe");
  CHECK(schedule_spelled("zero-bubble").empty());
  CHECK(schedule_spelled("").empty());
}

TEST_CASE("a family of schedules is not one of them") {
  CHECK(refusal("zero-bubble") ==
        "--schedule: unknown schedule 'zero-bubble'\nhelp: there are several: zb-h1, zb-h2, zb-v, "
        "interleaved-zb, zb-auto");
  CHECK(refusal("PipeDream").find("1f1b") != std::string::npos);
  CHECK(refusal("gpip") == "--schedule: unknown schedule 'gpip'\nhelp: did you mean 'gpipe'?");
}
