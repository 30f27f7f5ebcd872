// What `penstock plan --scaling`, `plan` where nothing fits and `explain --why-not` ask, asked by a
// user of the libraries: no header of cli/.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "search/evaluate.h"
#include "studies/fewest_gpus.h"
#include "studies/plan_set.h"
#include "studies/why_not.h"
#include "tests/studies/measured_question.h"

namespace penstock {
namespace {

// One schedule and one micro-batch size, so that the searches are small.
Question small_question(int gpus) {
  Question question = tests::measured_question(gpus, 32);
  question.request.pins.schedules = {"1f1b"};
  question.request.pins.micro_batch_size = 1;
  question.request.top = 1;
  return question;
}

SearchResult searched(const Question& question) {
  SearchProgress progress;
  return best_plans(question.inputs(), question.request, progress);
}

TEST_CASE("the plans for a list of numbers of GPUs are those of one search each") {
  const std::vector<int> sizes{2, 4, 8};
  SearchProgress progress;
  const PlanSet set = plan_set(small_question(8), {}, sizes, progress);
  REQUIRE(set.complete);
  REQUIRE(set.steps.size() == sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const SearchResult alone = searched(small_question(sizes[i]));
    CHECK(set.steps[i].gpus == sizes[i]);
    REQUIRE(set.steps[i].plan.has_value() == !alone.best.empty());
    if (alone.best.empty()) continue;
    CHECK(set.steps[i].evaluation.step_time == alone.best.front().evaluation.step_time);
  }
  // 6.7e9 parameters of 16 bytes are 100 GiB: two devices of 40 GiB do not hold them.
  CHECK(set.steps[0].why_not == "nothing fits on fewer than 4 GPUs");
  CHECK(set.steps[2].evaluation.step_time < set.steps[1].evaluation.step_time);
}

TEST_CASE("where nothing fits, the same question of more GPUs says how many do") {
  SearchProgress progress;
  const std::string text = fewest_gpus_text(small_question(2), small_question, progress);
  CHECK(text.starts_with("4 GPUs would do: "));
}

TEST_CASE("why a plan is not made otherwise is a search with other pins, or needs none") {
  const Question question = small_question(8);
  const SearchResult found = searched(question);
  REQUIRE_FALSE(found.best.empty());
  const PlanFile file =
      to_plan_file(question.inputs(), evaluate(question.inputs(), found.best.front().plan));
  SearchProgress progress;
  Question deep = question;
  deep.request.pins.pipeline = 8;
  const WhyNot slower = why_not(file, deep, progress);
  CHECK(slower.contradictions.empty());
  REQUIRE_FALSE(slower.result.best.empty());
  CHECK(slower.result.best.front().plan.pipeline == 8);
  CHECK(slower.result.best.front().evaluation.step_time >= file.prediction.step_time);

  Question too_wide = question;
  too_wide.request.pins.data = 33;
  const WhyNot none = why_not(file, too_wide, progress);
  REQUIRE(none.contradictions.size() == 2);  // the second: with mbs = 1, which is pinned
  CHECK(none.contradictions.front() ==
        "DP = 33: a global batch of 32 has less than one sample per replica.");
  CHECK(none.result.candidates == 0);
}

}  // namespace
}  // namespace penstock
