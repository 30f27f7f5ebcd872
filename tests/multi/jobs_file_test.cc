#include "multi/jobs_file.h"

#include <string>

#include <doctest/doctest.h>

#include "core/values/json.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

using std::chrono::seconds;

JobsFile read(const std::string& jobs) {
  return read_jobs_file(
      parse_json(R"({"format": "penstock.jobs/1", "jobs": [)" + jobs + "]}", "j.json"), "j.json");
}

std::string refused(const std::string& jobs) {
  return tests::message_of([&] { (void)read(jobs); });
}

}  // namespace

TEST_CASE("a job is a model, a plan, a book, times of steps, or units") {
  const JobsFile file = read(R"(
    {"name": "a", "model": "p.json", "global_batch": 512, "epochs": 3, "samples_per_epoch": 1025},
    {"name": "b", "book": "b.json", "steps": 10, "done_steps": 4, "running_on": [0, 1]},
    {"name": "c", "step_times": [{"gpus": 1, "step_s": 10}, {"gpus": 4, "step_ms": 400}],
     "steps": 1, "deadline_s": 60, "weight": 2},
    {"name": "d", "units": [{"compute_s": 1}, {"shard": 0, "compute_s": 3, "load_s": 0.5,
     "store_ms": 20}], "steps": 2},
    {"name": "e", "plan": "e.json", "train": ["--data", "e.txt"], "steps": 3})");
  CHECK(file.jobs[0].steps == 9);  // 1025 samples are three steps of 512
  CHECK(file.jobs[1].done_steps == 4);
  CHECK(file.jobs[1].running_on == std::vector<int>{0, 1});
  CHECK(file.jobs[2].step_times[1] == JobStepTime{4, std::chrono::milliseconds(400)});
  CHECK(file.jobs[2].wishes == Wishes{seconds(60), 2.0});
  CHECK(file.jobs[3].units[0] == TaskUnit{0, seconds(1), {}, {}});
  CHECK(file.jobs[3].units[1] ==
        TaskUnit{0, seconds(3), std::chrono::milliseconds(500), std::chrono::milliseconds(20)});
  CHECK(file.jobs[4].plan == "e.json");
  CHECK(file.jobs[4].train == std::vector<std::string>{"--data", "e.txt"});
}

TEST_CASE("what is wrong with a job is said with its place") {
  CHECK(refused(R"({"name": "a", "steps": 1})").find("add \"model\"") != std::string::npos);
  CHECK(refused(R"({"name": "a", "model": "p.json", "steps": 1})") ==
        "j.json:1: /jobs/0: the key \"global_batch\" is missing here; add the samples of a step");
  CHECK(refused(R"({"name": "a", "book": "b.json", "steps": 1, "epochs": 2})").find("not both") !=
        std::string::npos);
  CHECK(refused(R"({"name": "a", "book": "b.json", "steps": 2, "done_steps": 2})")
            .find("/jobs/0/done_steps") != std::string::npos);
  CHECK(refused(R"({"name": "a", "book": "b", "steps": 1}, {"name": "a", "book": "b", "steps": 1})")
            .find("two jobs are called \"a\"") != std::string::npos);
  CHECK(refused(R"({"name": "a", "book": "b", "steps": 1, "step": 3})").find("step") !=
        std::string::npos);
  CHECK(refused(R"({"name": "a", "book": "b", "plan": "p", "steps": 1})").find("not two of them") !=
        std::string::npos);
  CHECK(refused(R"({"name": "a", "book": "b", "train": [], "steps": 1})")
            .find("it belongs to a \"plan\"") != std::string::npos);
  CHECK(refused(R"({"name": "a", "units": [{"compute_s": 1}], "steps": 5000001})")
            .find("5,000,000 units") != std::string::npos);
  CHECK(refused(R"({"name": "a", "units": [{"compute_s": 100000}], "steps": 4000000})")
            .find("thirty years") != std::string::npos);
  CHECK(refused(R"({"name": "a", "step_times": [{"gpus": 2, "step_s": 1}, {"gpus": 2,
                    "step_s": 1}], "steps": 1})")
            .find("more GPUs than in the entry before") != std::string::npos);
}

}  // namespace penstock
