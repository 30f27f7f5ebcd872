#include "studies/find_book.h"

#include <doctest/doctest.h>

#include "core/files/format.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "search/evaluate.h"
#include "studies/book_rungs.h"

namespace penstock {
namespace {

Question small_question() {
  Question question;
  question.profile.value = read_profile(
      parse_json(read_file("data/profiles/gpt-6.7b.a100-40gb.json"), "profile"), "profile");
  question.cluster.value = read_cluster(
      parse_json(read_file("data/clusters/a100-40gb-p4d-8x8.json"), "cluster"), "cluster");
  question.request.global_batch = 16;
  question.request.pins.schedules = {"1f1b", "interleaved"};
  question.request.pins.tensor = 1;
  return question;
}

PlanBook book_of(const Question& question, const std::vector<int>& sizes) {
  SearchProgress progress;
  const std::optional<PlanBook> book = find_book(question, sizes, progress);
  REQUIRE(book);
  return *book;
}

TEST_CASE("A book has for every number of GPUs what a search for that number finds") {
  Question question = small_question();
  const std::vector<int> sizes = {4, 8, 11};
  question.request.gpus = sizes.back();
  const PlanBook book = book_of(question, sizes);
  REQUIRE(book.pages.size() == sizes.size());
  for (const BookPage& page : book.pages) {
    CAPTURE(page.gpus);
    Question alone = question;
    alone.request.gpus = page.gpus;
    SearchProgress progress;
    const SearchResult found = best_plans(alone.inputs(), alone.request, progress);
    REQUIRE(page.plan.has_value() == !found.best.empty());
    if (!page.plan) continue;
    CHECK(page.plan->devices() <= page.gpus);
    const auto step = found.best.front().evaluation.step_time;
    // Of near ties other cuts are improved: docs/morphing.md.
    CHECK(page.step_time <= step + step / 50);
    CHECK(page.step_time >= step - step / 50);
  }
}

TEST_CASE("A book is written and read again as the same book") {
  Question question = small_question();
  question.request.gpus = 8;
  question.reserve = Bytes{1'000'000'000};
  PlanBook book = book_of(question, {2, 8});
  book.tool_version = "0.1.0";
  CHECK(book.pages.front().why_not == "nothing fits on fewer than 8 GPUs");
  CHECK(read_plan_book(parse_json(to_text(write_plan_book(book)), "b"), "b") == book);
}

TEST_CASE("A book whose pages contradict each other is refused at its place") {
  Question question = small_question();
  question.request.gpus = 16;
  PlanBook book = book_of(question, {8, 16});
  const auto refused = [](const PlanBook& wrong) {
    try {
      read_plan_book(parse_json(to_text(write_plan_book(wrong)), "b"), "b");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  PlanBook slower = book;
  slower.pages[1].step_time = slower.pages[0].step_time + Duration{1};
  CHECK(refused(slower).find("longer than on fewer GPUs") != std::string::npos);
  PlanBook fewer = book;
  fewer.pages[1].gpus = 9;
  CHECK(refused(fewer).find("/pages/1/plan: uses 16 GPUs, and the page has 9") !=
        std::string::npos);
  PlanBook twice = book;
  twice.pages[1].gpus = 8;
  CHECK(refused(twice).find("/pages/1/gpus: expected") != std::string::npos);
  PlanBook none = book;
  none.pages[1] = {20, std::nullopt, {}, 0.0, {}, "nothing fits"};
  CHECK(refused(none).find("fits here too") != std::string::npos);
}

TEST_CASE("DP alone gives rungs of one plan, and a checkpoint twelve bytes a parameter") {
  Question question = small_question();
  question.request.gpus = 16;
  const PlanBook book = book_of(question, {8, 16});
  REQUIRE(book.pages[0].plan);
  const Plan& plan = *book.pages[0].plan;
  const std::vector<Rung> rungs = data_only_rungs(book, plan, 16);
  // Every D that fits on 16 GPUs has a rung: its own, or a smaller one that is as fast.
  const int of_replica = plan.devices() / plan.data;
  const PlanInputs inputs{&book.profile, &book.cluster, book.executor, book.reserve};
  std::size_t own = 0;
  for (int data = 1; data * of_replica <= 16; ++data) {
    CAPTURE(data);
    Plan other = plan;
    other.data = data;
    other.zero1 = plan.zero1 && data > 1;
    const EvaluatedPlan evaluated = evaluate(inputs, other);
    if (evaluated.why_not) continue;
    const auto rung = fastest_rung(rungs, other.devices());
    REQUIRE(rung);
    CHECK(rungs[*rung].step <= evaluated.evaluation.step_time);
    if (rungs[*rung].gpus != other.devices()) continue;
    ++own;
    CHECK(rungs[*rung].step == evaluated.evaluation.step_time);
  }
  CHECK(own == rungs.size());
  CHECK(own >= 2);
  // The plan's own D is as fast as its page says.
  CHECK(rungs[*fastest_rung(rungs, plan.devices())].step == book.pages[0].step_time);
  CHECK(rungs_of(book).back().gpus <= 16);
  // 6.66e9 parameters.
  const double bytes = static_cast<double>(checkpoint_bytes(book.profile).count);
  CHECK(bytes > 12 * 6.4e9);
  CHECK(bytes < 12 * 7.0e9);
}

}  // namespace
}  // namespace penstock
