#include "cli/io/add_run.h"

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/io/files.h"
#include "core/values/runs.h"
#include "tests/core/messages.h"
#include "tests/core/temporary_folder.h"
#include "tests/core/tiny_plan.h"

namespace penstock {

using tests::TemporaryFolder;

namespace {

TEST_CASE("runs of one profile and cluster gather in a file, each once") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "runs");
  PlanFile plan = read_plan(parse_json(kTinyPlan, "tiny.json"), "tiny.json");
  plan.profile.path = folder / "tiny.json";
  plan.cluster_file.path = folder / "two.json";
  write_file(plan.cluster_file.path, "{}");
  RunHeader run;
  run.plan = "plan.json";
  run.started = "2026-11-22T01:02:03Z";
  Validation validation;
  validation.measured = Duration{10'500};
  validation.measured_spread = Duration{100};
  validation.steps = 17;

  const std::string path = folder / "runs/all.json";
  add_run(path, plan, run, validation, "by hand");
  run.started = "2026-11-22T02:00:00Z";
  add_run(path, plan, run, validation, "by hand");
  const MeasuredRuns runs = read_runs(load_json(path).value, path);
  CHECK(runs.profile == "../tiny.json");
  CHECK(runs.cluster == "../two.json");
  REQUIRE(runs.runs.size() == 2);
  CHECK(runs.runs[1].name == "plan.json, 2026-11-22T02:00:00Z");
  CHECK(runs.runs[1].step_time == Duration{10'500});
  CHECK(runs.runs[1].step_spread == Duration{149});  // 148.26, rounded up
  CHECK(runs.runs[1].count == 17);
  CHECK(runs.runs[1].source == 1);
  CHECK(runs.sources[1].text == "by hand");

  CHECK(tests::message_of([&] {
          add_run(path, plan, run, validation, "by hand");
        }).find("already") != std::string::npos);
  plan.profile.path = folder / "other.json";
  CHECK(tests::message_of([&] {
          add_run(path, plan, run, validation, "by hand");
        }).find("name another file") != std::string::npos);
}

TEST_CASE("no run is kept of a cluster that is assumed, since calibrate could not read it") {
  const TemporaryFolder folder;
  PlanFile plan = read_plan(parse_json(kTinyPlan, "tiny.json"), "tiny.json");
  plan.cluster_file.path = "assumed cluster";
  const std::string path = folder / "runs.json";
  const std::string said = tests::message_of([&] { add_run(path, plan, {}, {}, "by hand"); });
  CHECK(said.find("penstock devices " + plan.cluster.device) != std::string::npos);
  CHECK(said.find("--cluster-out cluster.json") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace penstock
