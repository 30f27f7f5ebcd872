// Worked out on paper: stages of equal sections, F 1 us and B 2 us each, transfers take no time.
// 1F1B of P equal stages of n sections takes 3 n (M + P - 1) us; with only the last rank slow by x
// it never waits for work: 3 n (P - 1) + 3 n x M. The norm takes 1 ns.
#include "studies/slow_advice.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "search/choose_cuts.h"
#include "search/evaluate.h"
#include "studies/plan_of_page.h"
#include "tests/core/messages.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

using std::chrono::microseconds;

// A step with its norm.
constexpr Duration step_of(int us) { return microseconds(us) + Duration{1}; }

using testing::Costs;
using testing::model_of_sections;

struct Job {
  PlanBook book;
  Plan plan;
};

// `pipeline` x `data` ranks, and a book whose only page has one GPU less.
Job job_of(int sections, int pipeline, int data, int micro_batches, const Plan& smaller) {
  Job job;
  job.book.profile =
      model_of_sections(std::vector<Costs>(static_cast<std::size_t>(sections), Costs{}), 1);
  job.book.cluster = testing::cluster_of({1, pipeline * data});
  job.book.global_batch = data * micro_batches;
  job.plan.device = "gpu";
  job.plan.pipeline = pipeline;
  job.plan.data = data;
  job.plan.global_batch = job.book.global_batch;
  job.plan.cuts = equal_cuts(sections, pipeline);
  BookPage page;
  page.gpus = smaller.devices();
  page.plan = smaller;
  page.plan->device = "gpu";
  page.plan->global_batch = job.book.global_batch;
  page.plan->cuts = equal_cuts(sections, smaller.pipeline);
  const PlanInputs inputs{&job.book.profile, &job.book.cluster, {}, {}};
  page.step_time = evaluate(inputs, *page.plan).evaluation.step_time;
  job.book.pages = {page};
  return job;
}

Plan layout(int pipeline, int data) {
  Plan plan;
  plan.pipeline = pipeline;
  plan.data = data;
  return plan;
}

RankSlowness slow_by(double factor, int replica, int pipeline_rank) {
  RankSlowness slow;
  slow.factor = factor;
  slow.replica = replica;
  slow.pipeline_rank = pipeline_rank;
  return slow;
}

const SlowChoice& choice(const SlowAdvice& advice, SlowAnswer answer) {
  for (const SlowChoice& one : advice.choices) {
    if (one.answer == answer) return one;
  }
  FAIL("there is no such answer: " << word_of(answer));
  return advice.choices.front();
}

TEST_CASE(
    "24 equal sections on four ranks of which the last is slow: 7 at most, 5 on the slow one") {
  const Job job = job_of(24, 4, 1, 64, layout(3, 1));
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.25, 0, 3)});
  CHECK(advice.even_step == step_of(18 * 67));
  CHECK(choice(advice, SlowAnswer::kKeep).step_time == step_of(18 * 3 + 1440));
  CHECK(choice(advice, SlowAnswer::kExclude).step_time == step_of(24 * 66));
  const SlowChoice& recut = choice(advice, SlowAnswer::kRecut);
  CHECK(&recut == &advice.best());
  int most = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    most = std::max(most, recut.plan.cuts[k + 1] - recut.plan.cuts[k]);
  }
  CHECK(most == 7);
  CHECK(recut.plan.cuts[4] - recut.plan.cuts[3] <= 5);
  // 64 micro-batches of 21 us, and what comes before and after them: less than three stages' worth.
  CHECK(recut.step_time > step_of(64 * 21));
  CHECK(recut.step_time < step_of(67 * 21));
  CHECK(advice.choices.back().answer == SlowAnswer::kExclude);
  CHECK(advice.reason.find("recut takes 1.") != std::string::npos);
}

TEST_CASE("with fine sections a slow rank of four costs 1.053 when the model is cut around it") {
  // 76 sections: 20|20|20|16, and 16 x 1.25 = 20. Keeping takes 19 x 1.25, leaving out 76 / 3.
  const Job job = job_of(76, 4, 1, 64, layout(3, 1));
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.25, 0, 3)});
  CHECK(advice.best().answer == SlowAnswer::kRecut);
  CHECK(advice.best().plan.cuts == std::vector<int>{0, 20, 40, 60, 76});
  CHECK(advice.best().step_time == step_of(60 * 67));
  CHECK(advice.best().what == "sections 20|20|20|16 instead of 19|19|19|19");
  const auto keep = choice(advice, SlowAnswer::kKeep).step_time;
  CHECK(keep == step_of(57 * 3 + 4560));  // 71.25 x 64
  // A change of 10 s pays after 10 keep / (keep - best) s.
  const Duration pays = *advice.pays_after(std::chrono::seconds(10));
  CHECK(pays == scaled(std::chrono::seconds(10), 4'731'001.0 / 711'000.0));
}

TEST_CASE("leaving a GPU out is better than keeping it beyond P / (P - 1)") {
  // One section a rank cannot be cut anew. Three times 4/3 = 4: with M = 400 the ends count little.
  for (const double factor : {1.2, 1.5}) {
    const Job job = job_of(12, 4, 1, 400, layout(3, 1));
    const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(factor, 0, 3)});
    const auto keep = choice(advice, SlowAnswer::kKeep).step_time;
    const auto exclude = choice(advice, SlowAnswer::kExclude).step_time;
    CHECK((exclude < keep) == (factor > 4.0 / 3.0));
  }
}

TEST_CASE("a slow replica of four takes 7 micro-batches of 32, the others 9, 8 and 8") {
  const Job job = job_of(1, 1, 4, 8, layout(1, 3));
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.25, 3, 0)});
  CHECK(advice.even_step == step_of(24));
  CHECK(choice(advice, SlowAnswer::kKeep).step_time == step_of(30));
  CHECK(choice(advice, SlowAnswer::kExclude).step_time == step_of(33));  // 11 each
  const SlowChoice& share = advice.best();
  CHECK(share.answer == SlowAnswer::kShare);
  CHECK(share.step_time == step_of(27));
  CHECK(share.what == "9|8|8|7 micro-batches instead of 8|8|8|8");
  CHECK(share.plan.replica_kinds == std::vector<ReplicaKind>{{1, 9}, {2, 8}, {1, 7}});
  // Replicas keep their numbers: the first is slow now.
  const SlowAdvice other = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.25, 0, 0)});
  CHECK(other.best().plan.replica_kinds == std::vector<ReplicaKind>{{1, 7}, {1, 9}, {2, 8}});
  CHECK(other.best().step_time == step_of(27));
}

// A rank on "gpu" and one on "half", which takes twice as long for a section: 12 sections are
// balanced as 8|4, and with `data` replicas of them the GPUs are 2 `data` in all.
Job job_on_two_types(int data, int micro_batches) {
  Job job;
  PlanBook& book = job.book;
  book.types = {"gpu", "half"};
  book.profile = testing::also_on(model_of_sections(std::vector<Costs>(12, Costs{}), 1), "half", 2);
  book.cluster = testing::cluster_of({1, data});
  testing::add_nodes(book.cluster, "half", 1, data, 1'000'000);
  book.global_batch = data * micro_batches;
  const auto add = [&](const Plan& plan, const std::vector<int>& of_types) {
    BookPage page;
    page.gpus = of_types[0] + of_types[1];
    page.of_types = of_types;
    page.plan = plan;
    page.plan->global_batch = book.global_batch;
    const ClusterSpec cluster = penstock::cluster_of(book, page);
    const EvaluatedPlan evaluated =
        evaluate({&book.profile, &cluster, book.executor, book.reserve}, *page.plan);
    REQUIRE_FALSE(evaluated.why_not);
    page.step_time = evaluated.evaluation.step_time;
    book.pages.push_back(page);
  };
  Plan half = layout(1, 1), gpu = layout(1, data), both = layout(2, data);
  half.device = "half";
  half.cuts = gpu.cuts = {0, 12};
  gpu.device = both.device = "gpu";
  both.rank_devices = {"gpu", "half"};
  both.cuts = {0, 8, 12};
  add(half, {0, 1});
  add(gpu, {data, 0});
  add(both, {data, data});
  job.plan = *book.pages.back().plan;
  return job;
}

// 24 us a rank and micro-batch; the slow "half" takes 6 us instead of 4 for F, and 36 in all. Cut
// as 9|3 both take 27 us. What is left without it is one "gpu", whose micro-batches take 36 us.
TEST_CASE("a plan on two device types is cut anew around a slow rank of one of them") {
  const Job job = job_on_two_types(1, 64);
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.5, 0, 1)});
  CHECK(advice.even_step == step_of(24 * 65));
  CHECK(choice(advice, SlowAnswer::kKeep).step_time == step_of(24 + 36 * 64));
  CHECK(choice(advice, SlowAnswer::kExclude).step_time == microseconds(36 * 64));  // no norm
  CHECK(choice(advice, SlowAnswer::kExclude).plan.device == "gpu");
  CHECK(advice.best().answer == SlowAnswer::kRecut);
  CHECK(advice.best().plan.cuts == std::vector<int>{0, 9, 12});
  CHECK(advice.best().plan.rank_devices == job.plan.rank_devices);
  CHECK(advice.best().step_time == step_of(27 * 65));
}

// The "gpu" is slow by 2, so that both types take as long; without it the "half" is left alone.
TEST_CASE("of a slow rank's type one GPU less is left") {
  const Job job = job_on_two_types(1, 64);
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 0, 0)});
  const SlowChoice& exclude = choice(advice, SlowAnswer::kExclude);
  CHECK(exclude.plan.device == "half");
  CHECK(exclude.step_time == microseconds(72 * 64));
  CHECK(advice.best().answer == SlowAnswer::kRecut);
  CHECK(advice.best().plan.cuts == std::vector<int>{0, 6, 12});  // 36 us each
  CHECK(advice.best().step_time == step_of(36 * 65));
}

// Two replicas of 64 micro-batches each; the "half" of the second takes 36 us instead of 24: it
// gets 51 of the 128 micro-batches and needs 24 + 36 51 = 1860 us, the first 24 (77 + 1) = 1872.
TEST_CASE("a replica on two device types that has a slow rank takes fewer micro-batches") {
  const Job job = job_on_two_types(2, 64);
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.5, 1, 1)});
  const SlowChoice& share = choice(advice, SlowAnswer::kShare);
  CHECK(share.what == "77|51 micro-batches instead of 64|64");
  CHECK(share.step_time == step_of(1872));
  CHECK(share.plan.rank_devices == std::vector<std::string>{"gpu", "half", "gpu", "half"});
}

TEST_CASE("what is barely slow is kept") {
  const Job job = job_of(1, 1, 4, 2, layout(1, 3));
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(1.2, 2, 0)});
  CHECK(advice.best().answer == SlowAnswer::kKeep);
  CHECK(advice.reason.ends_with("nothing else is faster."));
  CHECK_FALSE(advice.pays_after(Duration{1}));
  CHECK(advice.why_not.size() == 2);  // share, recut
}

// Of a page that is faster by 1 ns, and by 52 of 51,001 ns: one section of 3 us on each of 2 ranks.
TEST_CASE("what is faster by less than a thousandth is no answer, and a minute never pays") {
  Job job = job_of(2, 2, 1, 8, layout(1, 1));
  const auto advice = [&](Duration faster) {
    // The last rank is slow by 2: 3 us before it has work, then 8 times 6 us.
    job.book.pages.front().step_time = step_of(3 + 48) - faster;
    return advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 0, 1)});
  };
  const SlowAdvice barely = advice(Duration{1});
  CHECK(barely.choices.size() == 2);
  CHECK(barely.best().answer == SlowAnswer::kKeep);
  CHECK(barely.best().step_time == step_of(51));
  CHECK(barely.reason.ends_with("nothing else gains 0.1 %."));
  CHECK_FALSE(barely.pays_after(std::chrono::seconds(60)));
  const SlowAdvice enough = advice(Duration{52});
  CHECK(enough.best().answer == SlowAnswer::kExclude);
  // 60 s times 51,001 / 52.
  CHECK(*enough.pays_after(std::chrono::seconds(60)) ==
        scaled(std::chrono::seconds(60), 51'001.0 / 52.0));
  CHECK_FALSE(enough.pays_after(std::chrono::seconds(2000)));  // beyond 1,000,000 s
}

TEST_CASE("a slow rank is all the GPUs that divide its sequences") {
  // 2 ranks of 2 GPUs each: without one there are 2 of 4, and the book's plan needs 3.
  Job job = job_of(2, 2, 2, 8, layout(1, 3));
  job.plan.data = 1;
  job.plan.context = 2;
  job.plan.sequence_length = job.book.pages.front().plan->sequence_length = 16;
  for (SectionType& type : job.book.profile.section_types) {
    Measurement& row = type.measurements.front();
    row.context_degree = 2;
    row.sequence_length = 16;
    row.ring = RingTraffic{};
  }
  const SlowAdvice advice = advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 0, 1)});
  CHECK(advice.why_not.back() == "exclude: the book has no plan for 2 GPUs");
}

TEST_CASE("a book of another global batch or sequence length is refused with both") {
  Job job = job_of(2, 2, 1, 8, layout(1, 1));
  const auto message = [&] {
    return tests::message_of(
        [&] { static_cast<void>(advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 0, 1)})); });
  };
  job.book.global_batch = 32;
  CHECK(message().find("a global batch of 8, the book one of 32") != std::string::npos);
  CHECK(message().find("help: plan a book for a global batch of 8") != std::string::npos);
  job.book.global_batch = 8;
  job.book.pages.front().plan->sequence_length = 4096;
  CHECK(message().find("a sequence length of 0, the book one of 4096") != std::string::npos);
}

TEST_CASE("a slow rank that the plan has not is refused") {
  const Job job = job_of(4, 2, 1, 2, layout(1, 1));
  CHECK_THROWS_AS(static_cast<void>(advise_on_slow_ranks(job.book, job.plan, {})), Error);
  CHECK_THROWS_AS(static_cast<void>(advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 1, 0)})),
                  Error);
  CHECK_THROWS_AS(static_cast<void>(advise_on_slow_ranks(job.book, job.plan, {slow_by(2.0, 0, 2)})),
                  Error);
}

}  // namespace
}  // namespace penstock
