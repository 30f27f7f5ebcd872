#include "studies/compare_policies.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/json_reader.h"
#include "core/values/seconds.h"
#include "studies/find_book.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using std::chrono::seconds;

// Pages for 2 and 4 GPUs: as many replicas of the whole model.
PlanBook book_to_four_gpus() {
  Question question;
  question.profile.value =
      read_profile(parse_json(read_file("data/profiles/opt-350m.json"), "profile"), "profile");
  question.cluster.value = read_cluster(
      parse_json(read_file("data/clusters/gh200-96gb-16x4.json"), "cluster"), "cluster");
  question.request.global_batch = 64;
  question.request.gpus = 4;
  question.request.pins.schedules = {"1f1b"};
  question.request.pins.pipeline = 1;
  question.request.pins.tensor = 1;
  SearchProgress progress;
  const std::optional<PlanBook> book = find_book(question, {2, 4}, progress);
  REQUIRE(book);
  REQUIRE(book->pages.back().plan);
  REQUIRE(book->pages.back().plan->data == 4);
  return *book;
}

// 4 GPUs for 1,000 s, then 16 for 1,000 s.
Availability growing() {
  Availability recording;
  recording.changes = {{Duration{}, 4, {}, {}, {}, {}}, {seconds(1000), 16, {}, {}, {}, {}}};
  recording.end = seconds(2000);
  return recording;
}

double steps_of(const std::vector<PolicyResult>& results, const std::string& name) {
  const auto found = std::ranges::find(results, name, &PolicyResult::name);
  REQUIRE(found != results.end());
  return found->steps;
}

TEST_CASE("With a book for fewer GPUs than a recording has, no policy uses the others") {
  const PlanBook book = book_to_four_gpus();
  CHECK(most_gpus(book) == 4);
  // Nothing changes, so that every policy makes a step every so many seconds, for 2,000 s.
  const double steps = 2000.0 / to_seconds(book.pages.back().step_time);
  const ChangeCosts costs{seconds(10), seconds(50), seconds(300), seconds(30)};
  const std::vector<PolicyResult> results = compare_policies(book, growing(), costs);
  for (const char* name : {"penstock", "always the fastest", "never change", "DP only (Varuna)",
                           "hindsight", "free changes"}) {
    CAPTURE(name);
    CHECK(steps_of(results, name) == doctest::Approx(steps).epsilon(1e-9));
  }
}

TEST_CASE("Where a page is slower than its plan with other replicas, hindsight takes the latter") {
  PlanBook book = book_to_four_gpus();
  const Duration step = book.pages.back().step_time;
  for (BookPage& page : book.pages) page.step_time = 2 * step;
  const ChangeCosts costs{seconds(10), seconds(50), seconds(300), seconds(30)};
  const std::vector<PolicyResult> results = compare_policies(book, growing(), costs);
  const double steps = 2000.0 / to_seconds(step);
  CHECK(steps_of(results, "penstock") == doctest::Approx(steps / 2).epsilon(1e-9));
  CHECK(steps_of(results, "DP only (Varuna)") == doctest::Approx(steps).epsilon(1e-9));
  CHECK(steps_of(results, "hindsight") == doctest::Approx(steps).epsilon(1e-9));
}

// The book is for GH200s, so that a recording of these alone says no more than how many there are.
TEST_CASE("A book that does not count types takes a recording of its only type without it") {
  const PlanBook book = book_to_four_gpus();
  Availability recording = growing();
  recording.types = {"gh200-96gb"};
  recording.changes[0].of_types = {4};
  recording.changes[1].of_types = {16};
  CHECK(in_types_of(book, recording, "t.csv") == growing());
  const auto refusal = [&] {
    return tests::refusal_of([&] { static_cast<void>(in_types_of(book, recording, "t.csv")); });
  };
  recording.types = {"a100-40gb"};
  CHECK(refusal() ==
        "t.csv: all of its GPUs are of type a100-40gb, and the book is for gh200-96gb\nhelp: leave "
        "the type out (gpus in place of gpus:a100-40gb): then whichever GPUs are there count");
  recording.machines = {{"n", 4, 0}};
  CHECK(refusal().find("leave the type out (no column device): ") != std::string::npos);
  recording.types = {"gh200-96gb", "a100-40gb"};
  CHECK(refusal().find("--gpus gh200-96gb=0..8,a100-40gb=0..8 -o book.json") != std::string::npos);
}

}  // namespace
}  // namespace penstock
