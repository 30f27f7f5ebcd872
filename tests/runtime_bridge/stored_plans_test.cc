// Both sides of a store of plans, on one in memory.
#include "runtime_bridge/stored_plans.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/values/error.h"
#include "runtime_bridge/plan_message.h"
#include "runtime_bridge/serve_plans.h"
#include "tests/core/messages.h"
#include "tests/core/tiny_plan.h"
#include "tests/runtime_bridge/memory_plan_store.h"

namespace penstock {
namespace {

using namespace std::chrono_literals;
using tests::MemoryPlanStore;
using tests::MemoryValues;

constexpr std::uint64_t kDocuments = 1000;  // the fingerprint of step 0's

PlanJob job(std::int64_t first_step = 0, const std::string& run = "run 1") {
  PlanJob job;
  job.run = run;
  job.tool_version = "0.1.0";
  job.tokens_per_batch = 10;
  job.longest = 5;
  job.first_step = job.wanted = first_step;
  job.end_step = 20;
  return job;
}

// Named after its step.
PlannedStep made(std::int64_t step) {
  PlanFile plan = tiny_plan();
  plan.not_searched = {"step " + std::to_string(step)};
  auto samples = std::make_shared<StepSamples>();
  samples->order = {0, 1};
  samples->fingerprint = fingerprint_of(plan, samples->order);
  return {std::make_shared<const PlanFile>(std::move(plan)), std::move(samples)};
}
std::string name_of(const PlannedStep& planned) { return planned.plan->not_searched.front(); }

std::string message(const PlanJob& of, std::int64_t step) {
  return write_plan_message(
      {fingerprint_of(of), step, kDocuments + static_cast<std::uint64_t>(step)}, made(step),
      layout_text(tiny_plan()));
}

std::unique_ptr<StoredPlans> rank(MemoryValues& values, const PlanJob& of, bool announces,
                                  Duration wait = 50ms) {
  StoredPlansOptions options;
  options.name = "j";
  options.job = of;
  options.announces = announces;
  options.wait = wait;
  options.slice = 5ms;
  return std::make_unique<StoredPlans>(
      std::make_unique<MemoryPlanStore>(values), options, layout_text(tiny_plan()),
      [](std::int64_t step) { return kDocuments + static_cast<std::uint64_t>(step); });
}

void put(MemoryValues& values, const std::string& key, const std::string& bytes,
         Duration lasts = 1h) {
  CHECK(MemoryPlanStore(values).put(key, bytes, lasts) == "");
}

// What the Error of a rank says that is kept waiting for step 3.
std::string words_on_late_plan(MemoryValues& values, bool announces = false) {
  return tests::message_of([&] { (void)rank(values, job(), announces)->plan(3); });
}

TEST_CASE("every rank reads the same plan, which stays there for the others") {
  MemoryValues values;
  put(values, PlanKeys("j").plan(3), message(job(), 3));
  for (int i = 0; i < 3; ++i) CHECK(name_of(rank(values, job(), false)->plan(3)) == "step 3");
}

TEST_CASE("a rank waits for a plan, and is woken by it") {
  MemoryValues values;
  std::thread planner([&] {
    std::this_thread::sleep_for(20ms);
    put(values, PlanKeys("j").plan(3), message(job(), 3));
  });
  CHECK(name_of(rank(values, job(), false, 10s)->plan(3)) == "step 3");
  planner.join();
}

TEST_CASE("a plan that does not come is an error that says what is known of the planner") {
  MemoryValues values;
  CHECK(words_on_late_plan(values).starts_with("the plan of step 3 was not in memory within 0."));
  CHECK(words_on_late_plan(values).find("the planner of job 'j' has never been heard of there") !=
        std::string::npos);
  const PlannerSign sign{"pid 2 on host b", "run 1", 3, ""};
  // 12 seconds of the 24 hours have run down.
  put(values, PlanKeys("j").planner(), write_planner_sign(sign), kSignLasts - 12s);
  CHECK(words_on_late_plan(values).find(
            "the planner of job 'j' (pid 2 on host b) was last heard of 12.") != std::string::npos);
  CHECK(words_on_late_plan(values).find(" s ago, when it went on to step 3\nhelp: start it again "
                                        "(penstock planner") != std::string::npos);
  values.say(values.away, "cannot connect");
  CHECK(words_on_late_plan(values).find(": cannot connect\nhelp:") != std::string::npos);
}

TEST_CASE("what the planner could not be told is said, too") {
  MemoryValues values;
  values.say(values.full, "its memory is full");
  CHECK(
      words_on_late_plan(values, true).find("the planner could not be told: its memory is full") !=
      std::string::npos);
}

TEST_CASE("plans of another job, or for other documents, are passed over and named") {
  MemoryValues values;
  PlanJob other = job();
  other.seed = 2;
  put(values, PlanKeys("j").plan(3), message(other, 3));
  CHECK(words_on_late_plan(values).find(
            "; what is there was planned for another job of this name") != std::string::npos);
  put(values, PlanKeys("j").plan(3), message(job(), 4));
  CHECK(words_on_late_plan(values).find("; what is there was planned for other documents") !=
        std::string::npos);
  std::thread planner([&] {
    std::this_thread::sleep_for(20ms);
    put(values, PlanKeys("j").plan(3), message(job(), 3));
  });
  CHECK(name_of(rank(values, job(), false, 10s)->plan(3)) == "step 3");
  planner.join();
}

TEST_CASE("a damaged plan is refused at once") {
  MemoryValues values;
  std::string bytes = message(job(), 3);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(values, PlanKeys("j").plan(3), bytes);
  const std::string words =
      tests::message_of([&] { (void)rank(values, job(), false, 1h)->plan(3); });
  CHECK(words == "the plan of step 3 (penstock:j:plan:3): is damaged: its checksum is another one");
}

TEST_CASE("the job hears of the planner's failure, and not of one that was before") {
  MemoryValues values;
  PlannerSign sign{"pid 2 on host b", "run 0", 3, "nothing fits"};
  put(values, PlanKeys("j").planner(), write_planner_sign(sign), kSignLasts);
  CHECK(words_on_late_plan(values, true).find("was last heard of 0.") != std::string::npos);
  sign.run = "run 1";
  put(values, PlanKeys("j").planner(), write_planner_sign(sign));
  const std::string words =
      tests::message_of([&] { (void)rank(values, job(), true, 1h)->plan(3); });
  CHECK(words == "the planner of job 'j' (pid 2 on host b) has failed: nothing fits");
}

TEST_CASE("behind a plan that was late, none is waited for until one is there again") {
  MemoryValues values;
  const auto late = rank(values, job(), false, 30ms);
  std::string why;
  CHECK_FALSE(late->plan_if_there(3, why));
  CHECK(why.find("the plan of step 3") == 0);
  const SteadyTime began = steady_now();
  CHECK_FALSE(late->plan_if_there(4, why));
  CHECK(steady_now() - began < 25ms);
  put(values, PlanKeys("j").plan(5), message(job(), 5));
  CHECK(late->plan_if_there(5, why));
}

TEST_CASE("who waits for a plan when the run ends waits no longer") {
  MemoryValues values;
  const auto waiting = rank(values, job(), true, 1h);
  std::thread waits([&] {
    CHECK(tests::message_of([&] { (void)waiting->plan(3); }) ==
          "the run ends: no plan is waited for");
  });
  std::this_thread::sleep_for(10ms);
  waiting->stop();
  waits.join();
}

// Ranks two ahead, ranks one step apart: with 5 wanted, a rank may still ask for 5 - 2 - 1; one
// more is kept.
TEST_CASE("a planner keeps what ranks may still ask for, and is as far ahead as it should") {
  PlannerBook book(2);
  CHECK_FALSE(book.next());
  CHECK(book.hear(job()));
  for (std::int64_t step = 0; step <= 2; ++step) {
    CHECK(book.next() == step);
    book.planned(step, "x");
  }
  CHECK_FALSE(book.next());  // 2 ahead of 0
  PlanJob later = job();
  later.wanted = 5;
  CHECK_FALSE(book.hear(later));
  for (std::int64_t step = 3; step <= 7; ++step) book.planned(step, "x");
  CHECK_FALSE(book.next());
  CHECK(book.take_used() == std::vector<std::int64_t>{0});
  CHECK(book.kept().size() == 7);
  later.wanted = 19;        // the last step
  CHECK(book.hear(later));  // ranks went on without it: it jumps
  CHECK(book.next() == 15);
  // What it kept, and what another one may have left: 2 + 2 + 2 steps.
  CHECK(book.take_used() == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14});
  for (std::int64_t step = 15; step <= 19; ++step) book.planned(step, "x");
  CHECK_FALSE(book.next());
  CHECK(book.hear(job(10, "run 2")));  // resumed
  CHECK(book.next() == 10);
  book.planned(15, "of the first run");
  CHECK(book.next() == 10);
  later = job(10, "run 2");
  later.ended = true;
  CHECK_FALSE(book.hear(later));
  CHECK_FALSE(book.next());
}

class MadePlans : public JobPlans {
 public:
  explicit MadePlans(std::int64_t fails_at) : fails_at_(fails_at) {}
  [[nodiscard]] ServedStep plan(std::int64_t step) const override {
    if (step == fails_at_) throw_bad_input("nothing fits");
    return {made(step), kDocuments + static_cast<std::uint64_t>(step)};
  }

 private:
  std::int64_t fails_at_;
};

// A planner in a thread.
class Planner {
 public:
  explicit Planner(MemoryValues& values, std::int64_t fails_at = -1, Duration time_out = 1h,
                   Duration idle = 1h, std::string refused = "")
      : refused_(std::move(refused)) {
    options_.name = "j";
    options_.process = "pid 2 on host b";
    options_.layout = layout_text(tiny_plan());
    options_.ahead = 3;
    options_.threads = 2;
    options_.beat = 5ms;
    options_.time_out = time_out;
    options_.idle = idle;
    hooks_.open = [&values] { return std::make_unique<MemoryPlanStore>(values); };
    hooks_.begin = [this, fails_at](const PlanJob& job) {
      if (job.run == refused_) throw_bad_input("other documents");
      return std::make_unique<MadePlans>(fails_at);
    };
    hooks_.note = [this](const std::string& words) {
      if (words.find("may be left of one that has ended") != std::string::npos) ++set_aside_;
    };
    hooks_.is_stopped = [this] { return stops_.load(); };
    thread_ = std::thread([this] {
      words_ = tests::message_of([this] { served_ = serve_plans(options_, hooks_); });
    });
  }
  ~Planner() { join(); }
  void stop() { stops_ = true; }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  // Until it has said so often that what it heard may be left of a job that has ended.
  void wait_until_set_aside(int times) const {
    while (set_aside_.load() < times) std::this_thread::sleep_for(1ms);
  }
  [[nodiscard]] const ServedPlans& served() const { return served_; }
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  const std::string refused_;  // the run that it has other files than
  ServePlansOptions options_;
  ServePlansHooks hooks_;
  std::atomic<bool> stops_{false};
  std::atomic<int> set_aside_{0};
  ServedPlans served_;
  std::string words_;
  std::thread thread_;
};

TEST_CASE("a planner serves a job to its end, through losses of the store, and tidies up") {
  MemoryValues values;
  Planner planner(values);
  const auto first = rank(values, job(), true, 10s), second = rank(values, job(), false, 10s);
  for (std::int64_t step = 0; step < 20; ++step) {
    CAPTURE(step);
    if (step % 7 == 6) values.lose_all();
    CHECK(name_of(first->plan(step)) == "step " + std::to_string(step));
    if (step == 10) values.lose_all();
    CHECK(name_of(second->plan(step)) == "step " + std::to_string(step));
  }
  first->end();
  planner.join();
  CHECK(planner.words() == "");
  CHECK(planner.served().plans == 20);
  CHECK(planner.served().next_step == 20);
  CHECK(planner.served().starts == 1);
  CHECK_FALSE(planner.served().stopped);
  CHECK(planner.served().written_again > 0);
  CHECK(values.values.empty());
}

TEST_CASE("a planner that begins late, and a job that begins again, find each other") {
  MemoryValues values;
  std::string why;
  CHECK_FALSE(rank(values, job(6), true)->plan_if_there(6, why));
  Planner planner(values);
  CHECK(name_of(rank(values, job(6), true, 10s)->plan(6)) == "step 6");
  const auto again = rank(values, job(2, "run 2"), true, 10s);
  for (std::int64_t step = 2; step < 20; ++step) {
    CHECK(name_of(again->plan(step)) == "step " + std::to_string(step));
  }
  again->end();
  planner.join();
  CHECK(planner.served().starts == 2);
}

// A job died, or was given up, and the word of it lasts for a day. Its files have changed; the
// planner is started before the job.
TEST_CASE("a planner with other files than a job that was before waits for the next one") {
  MemoryValues values;
  put(values, PlanKeys("j").job(), write_plan_job(job(6, "run 0")));
  Planner planner(values, -1, 1h, 1h, "run 0");
  planner.wait_until_set_aside(1);
  const auto next = rank(values, job(), true, 10s);
  for (std::int64_t step = 0; step < 20; ++step) {
    CHECK(name_of(next->plan(step)) == "step " + std::to_string(step));
  }
  next->end();
  planner.join();
  CHECK(planner.words() == "");
  CHECK(planner.served().plans == 20);
}

TEST_CASE("so does one that cannot plan for a job that was before") {
  MemoryValues values;
  put(values, PlanKeys("j").job(), write_plan_job(job(4, "run 0")));
  Planner planner(values, 4);
  planner.wait_until_set_aside(1);
  const auto next = rank(values, job(5), true, 10s);
  CHECK(name_of(next->plan(5)) == "step 5");
  next->end();
  planner.join();
  CHECK(planner.words() == "");
}

TEST_CASE("so does one that cannot read what a job before, of another version, has left") {
  MemoryValues values;
  put(values, PlanKeys("j").job(), R"({"format": "penstock.plan-job/0"})");
  Planner planner(values);
  planner.wait_until_set_aside(1);
  const auto next = rank(values, job(), true, 10s);
  CHECK(name_of(next->plan(0)) == "step 0");
  next->end();
  planner.join();
  CHECK(planner.words() == "");
}

TEST_CASE("a job that asks again lives, and a planner with other files ends") {
  MemoryValues values;
  put(values, PlanKeys("j").job(), write_plan_job(job()));
  Planner planner(values, -1, 1h, 1h, "run 1");
  planner.wait_until_set_aside(1);
  put(values, PlanKeys("j").job(), write_plan_job(job()));
  planner.join();
  CHECK(planner.words() == "other documents");
  CHECK(words_on_late_plan(values, true) ==
        "the planner of job 'j' (pid 2 on host b) has failed: other documents");
}

TEST_CASE("what cannot be planned ends planner and job with the same words") {
  MemoryValues values;
  Planner planner(values, 4);
  const auto first = rank(values, job(), true, 10s);
  for (std::int64_t step = 0; step < 4; ++step) (void)first->plan(step);
  CHECK(tests::message_of([&] { (void)first->plan(4); }) ==
        "the planner of job 'j' (pid 2 on host b) has failed: nothing fits");
  planner.join();
  CHECK(planner.words() == "nothing fits");
}

TEST_CASE("a store that stays full or away ends the planner at its time-out, by name") {
  MemoryValues values;
  values.say(values.full, "its memory is full");
  Planner planner(values, -1, 50ms);
  planner.join();
  CHECK(planner.words().starts_with("memory: its memory is full\nhelp: "));
}

TEST_CASE("a planner that nobody asks for plans ends after its idle time, by name") {
  MemoryValues values;
  Planner planner(values, -1, 1h, 50ms);
  planner.join();
  CHECK(planner.words().starts_with("job 'j' has asked for no plan for 0 s\nhelp: "));
}

TEST_CASE("a run that ends waits for no plan that somebody wanted ahead") {
  MemoryValues values;
  const auto first = rank(values, job(), true, 1h);
  std::string words;
  std::thread plans_ahead([&] { words = tests::message_of([&] { (void)first->plan(3); }); });
  // Until it waits: it has told the planner of the job.
  while (!MemoryPlanStore(values).wait_for(PlanKeys("j").job(), "", 5ms).value) {
  }
  first->end();
  plans_ahead.join();
  CHECK(words == "the run ends: no plan is waited for");
}

TEST_CASE("a planner that is asked to stop does") {
  MemoryValues values;
  Planner planner(values);
  planner.stop();
  planner.join();
  CHECK(planner.served().stopped);
}

}  // namespace
}  // namespace penstock
