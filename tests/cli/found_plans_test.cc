#include "cli/io/found_plans.h"

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/io/files.h"
#include "cli/words/trainer_called.h"
#include "core/values/json_reader.h"
#include "manager/run_folder.h"
#include "runtime_bridge/rank_devices.h"
#include "studies/find_book.h"
#include "studies/plan_of_page.h"
#include "studies/slow_advice.h"
#include "tests/search/models.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

constexpr UtcTime kNow{hours(500'000)};

// Eight equal sections on up to four GPUs, and a book for 1, 2 and 4 of them.
PlanBook book_of_test() {
  Question question;
  question.profile.value =
      testing::model_of_sections(std::vector<testing::Costs>(8, testing::Costs{}), 1);
  question.cluster.value = testing::cluster_of({1, 4});
  question.request.global_batch = 12;
  question.request.trainer = &parse_trainer("penstock");
  SearchProgress progress;
  const std::optional<PlanBook> book = find_book(question, {1, 2, 4}, progress);
  REQUIRE(book);
  return *book;
}

// Sixteen sections on two "gpu" and two "half", which take twice as long, for 2 + 0 and 2 + 2 of
// them.
PlanBook book_of_two_types() {
  Question question;
  question.profile.value = testing::also_on(
      testing::model_of_sections(std::vector<testing::Costs>(16, testing::Costs{}), 1), "half", 2);
  question.cluster.value = testing::cluster_of({1, 2});
  testing::add_nodes(question.cluster.value, "half", 1, 2, 1'000'000);
  question.request.global_batch = 24;
  question.request.trainer = &parse_trainer("penstock");
  SearchProgress progress;
  const std::optional<PlanBook> book =
      find_book_of_types(question, {"gpu", "half"}, {{2, 0}, {2, 2}}, progress);
  REQUIRE(book);
  return *book;
}

class Job {
 public:
  Job() : folder_(fs::temp_directory_path() / ("penstock_found_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "plans");
    file.run_folder = folder_;
    state.phase = JobPhase::kRunning;
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { fs::remove_all(folder_); }

  void add_machine(const std::string& name, int gpus, double slow_factor = 1.0,
                   const std::string& device = "") {
    JobMachine machine;
    machine.name = name;
    machine.gpus = gpus;
    machine.device = device;
    machine.slow_factor = slow_factor;
    state.machines.push_back(machine);
  }
  // Four ranks, one to a machine.
  void run_on_four(const PlanBook& book) {
    const BookPage& page = book.pages.back();
    REQUIRE(page.plan->devices() == 4);
    write_file(plan_path(file.run_folder, 4),
               text_of(plan_file_of(book, cluster_of(book, page), *page.plan, {"book.json", ""})));
    state.generation.number = 1;
    state.generation.page = 4;
    state.generation.predicted_step = page.step_time;
    for (int rank = 0; rank < 4; ++rank) {
      PlacedRank placed;
      placed.rank = rank;
      placed.machine = "m" + std::to_string(rank);
      state.generation.ranks.push_back(placed);
    }
  }
  // Until there is one, or nothing is looked for any more.
  std::vector<Event> found(const PlanBook& book, int looks = 3000) {
    FoundPlans plans(
        file, book, {"book.json", ""}, [] { return kNow; },
        [this](const std::string& what) { complaints.push_back(what); });
    plans.begin(state);
    for (int look = 0; look < looks; ++look) {
      std::vector<Event> events = plans.poll();
      if (!events.empty()) return events;
      std::this_thread::sleep_for(std::chrono::milliseconds(look < 100 ? 1 : 10));
      if (look > 50 && !complaints.empty()) break;
    }
    return {};
  }

  JobFile file;
  JobState state;
  std::vector<std::string> complaints;

 private:
  fs::path folder_;
};

TEST_CASE("for a number of GPUs that the book has no page for, a plan is searched") {
  const PlanBook book = book_of_test();
  Job job;
  job.add_machine("a", 3);
  const std::vector<Event> events = job.found(book);
  REQUIRE(events.size() == 1);
  const PlanPage page = std::get<PlanFound>(events[0]).page;
  CHECK(page.page == kFirstFoundPage + 1);
  CHECK(page.gpus == 3);
  // Three stages of 3|3|2 sections, or better: faster than two of four.
  CHECK(page.step < book.pages[1].step_time);
  CHECK(page.step > book.pages[2].step_time);
  const PlanFile written = load_plan(plan_path(job.file.run_folder, page.page)).value;
  CHECK(written.plan.devices() == 3);
  CHECK(written.prediction.step_time == page.step);
}

// Two replicas on the "gpu" take 12 times 48 us. Cut as 7|6|3 with the "half", of which a section
// counts twice, it is 24 times 21 us and what fills the pipeline.
TEST_CASE("for numbers of types that the book has no page for, a plan is searched") {
  const PlanBook book = book_of_two_types();
  Job job;
  job.add_machine("a", 2, 1.0, "gpu");
  job.add_machine("b", 1, 1.0, "half");
  const std::vector<Event> events = job.found(book);
  REQUIRE(events.size() == 1);
  const PlanPage page = std::get<PlanFound>(events[0]).page;
  CHECK(page.gpus == 3);
  int of_gpu = 0, of_half = 0;
  for (const RanksOfType& each : page.devices) {
    (each.device == "gpu" ? of_gpu : of_half) += each.ranks;
  }
  CHECK(of_gpu == 2);
  CHECK(of_half == 1);
  CHECK(page.step < book.pages[0].step_time);
  CHECK(page.step > book.pages[1].step_time);
  const PlanFile written = load_plan(plan_path(job.file.run_folder, page.page)).value;
  CHECK(written.prediction.step_time == page.step);
}

TEST_CASE("nothing is searched for types that the book has a page for, or its cluster has not") {
  const PlanBook book = book_of_two_types();
  Job job;
  job.add_machine("a", 2, 1.0, "gpu");
  CHECK(job.found(book, 60).empty());
  job.add_machine("b", 3, 1.0, "half");
  CHECK(job.found(book, 60).empty());
}

TEST_CASE("a slow rank of a plan on two types is simulated, and the plan for it names the types") {
  const PlanBook book = book_of_two_types();
  Job job;
  job.run_on_four(book);
  const std::vector<std::string> devices = devices_of_ranks(*book.pages.back().plan);
  for (int rank = 0; rank < 4; ++rank) {
    job.add_machine("m" + std::to_string(rank), 1, rank == 3 ? 3.0 : 1.0,
                    devices[static_cast<std::size_t>(rank)]);
  }
  const std::vector<Event> events = job.found(book);
  CHECK(job.complaints.empty());
  REQUIRE(events.size() == 1);
  const auto& advised = std::get<SlowAdvised>(events[0]);
  CHECK(advised.kept > book.pages.back().step_time);
  REQUIRE(advised.other);
  CHECK(advised.other->step < advised.kept);
  const PlanFile written = load_plan(plan_path(job.file.run_folder, advised.other->page)).value;
  CHECK(advised.other->devices == page_of_plan(book, 1, written.plan, advised.other->step).devices);
  CHECK(advised.other->devices.size() >= 2);
}

TEST_CASE("slow ranks are simulated, and a plan for them is written where one is faster") {
  const PlanBook book = book_of_test();
  Job job;
  job.run_on_four(book);
  for (int rank = 0; rank < 4; ++rank) {
    job.add_machine("m" + std::to_string(rank), 1, rank == 3 ? 2.0 : 1.0);
  }
  const std::vector<Event> events = job.found(book);
  REQUIRE(events.size() == 1);
  const auto& advised = std::get<SlowAdvised>(events[0]);
  CHECK(advised.generation == 1);
  CHECK(advised.kept > book.pages.back().step_time);
  CHECK(advised.kept <= 2 * book.pages.back().step_time);
  REQUIRE(advised.other);
  CHECK(advised.other->step < advised.kept);
  CHECK(advised.other->gpus == 4);
  const PlanFile written = load_plan(plan_path(job.file.run_folder, advised.other->page)).value;
  CHECK(written.plan.devices() == 4);
  CHECK(!advised.what.empty());
}

TEST_CASE("where slow ranks cannot be simulated the whole step counts as longer") {
  const PlanBook book = book_of_test();
  Job job;
  job.run_on_four(book);
  fs::remove(plan_path(job.file.run_folder, 4));
  job.add_machine("m1", 1, 1.5);
  const std::vector<Event> events = job.found(book);
  REQUIRE(events.size() == 1);
  const auto& advised = std::get<SlowAdvised>(events[0]);
  CHECK(advised.kept == scaled(book.pages.back().step_time, 1.5));
  CHECK(!advised.other);
  CHECK(job.complaints.size() == 1);
}

}  // namespace
}  // namespace penstock
