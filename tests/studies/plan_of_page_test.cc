#include "studies/plan_of_page.h"

#include <doctest/doctest.h>

#include "core/check/check.h"
#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "studies/find_book.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

PlanBook small_book() {
  Question question;
  question.profile.value = read_profile(
      parse_json(read_file("data/profiles/gpt-6.7b.a100-40gb.json"), "profile"), "profile");
  question.cluster.value = read_cluster(
      parse_json(read_file("data/clusters/a100-40gb-p4d-8x8.json"), "cluster"), "cluster");
  question.request.global_batch = 16;
  question.request.pins.schedules = {"1f1b"};
  question.request.pins.tensor = 1;
  question.request.gpus = 16;
  SearchProgress progress;
  const std::optional<PlanBook> book = find_book(question, {2, 8, 16}, progress);
  REQUIRE(book);
  return *book;
}

TEST_CASE("a job takes the page with the most GPUs that it has, and its plan is the book's") {
  const PlanBook book = small_book();
  REQUIRE(!book.pages[0].plan);
  REQUIRE(book.pages[1].plan);
  REQUIRE(book.pages[2].plan);
  CHECK(&page_for(book, 16, "b") == &book.pages[2]);
  CHECK(&page_for(book, 4000, "b") == &book.pages[2]);
  CHECK(&page_for(book, 15, "b") == &book.pages[1]);
  CHECK(&page_for(book, 8, "b") == &book.pages[1]);
  CHECK(tests::message_of([&] { (void)page_for(book, 7, "b.json"); }) ==
        "b.json: no page has a plan for 7 ranks; the fewest are 8\nhelp: start more ranks, or make "
        "the book with --gpus from 7 on");
  const PlanFile file = plan_of_page(book, book.pages[1], "b");
  CHECK(file.plan == *book.pages[1].plan);
  CHECK(file.prediction.step_time == book.pages[1].step_time);
  CHECK(file.program.ranks() == file.plan.pipeline);  // replicas that are alike stand there once
}

}  // namespace
}  // namespace penstock
