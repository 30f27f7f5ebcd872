// Jobs as shells that write when they ran into files of a folder.
#include "runtime_bridge/run_jobs.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/values/error.h"

namespace penstock {
namespace {

using std::chrono::seconds;

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("penstock_jobs_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Job i runs scripts[i].
struct Shells {
  Folder folder;
  std::vector<std::string> scripts;

  [[nodiscard]] int start(std::size_t job) const {
    ChildProgram child;
    child.program = "/bin/sh";
    child.arguments = {"-c", scripts[job]};
    child.environment = {{"JOB", std::to_string(job)}};
    child.output = folder.path / (std::to_string(job) + ".txt");
    child.errors = folder.path / (std::to_string(job) + ".err");
    return start_child(child);
  }
  [[nodiscard]] RunJobsOptions options() const {
    RunJobsOptions options;
    options.start = [this](std::size_t job) { return start(job); };
    return options;
  }
};

ScheduledJob on(std::string name, std::vector<int> ranks, int start) {
  return {std::move(name), std::move(ranks), seconds(start), seconds(start + 1)};
}

TEST_CASE("a job starts behind those before it on its ranks, however the first one ends") {
  Shells shells;
  shells.scripts = {"exit 3", "sleep 0.3; echo $JOB", "kill -9 $$", "echo last"};
  // 0 and 2 on rank 0, 1 on rank 1, 3 on both, behind them.
  const std::vector<ScheduledJob> jobs{on("a", {0}, 0), on("b", {1}, 0), on("c", {0}, 1),
                                       on("d", {0, 1}, 2)};
  const std::vector<JobEnd> ends = run_jobs(jobs, shells.options());
  CHECK(ends[0].exit_code == 3);
  CHECK(ends[0].failed());
  CHECK_FALSE(ends[1].failed());
  CHECK(ends[2].signal == SIGKILL);
  CHECK_FALSE(ends[3].failed());
  CHECK(ends[2].start >= ends[0].end);
  CHECK(ends[3].start >= ends[1].end);
  CHECK(ends[3].start >= ends[2].end);
  CHECK(text_of(shells.folder.path / "1.txt") == "1\n");
  CHECK(text_of(shells.folder.path / "3.txt") == "last\n");
}

TEST_CASE("what cannot be started has failed, and the others run") {
  Shells shells;
  shells.scripts = {"exit 0", "exit 0"};
  RunJobsOptions options = shells.options();
  options.start = [&](std::size_t job) {
    if (job == 0) throw Error(ErrorKind::kMissingResource, "no program");
    return shells.start(job);
  };
  const auto ends = run_jobs({on("a", {0}, 0), on("b", {0}, 1)}, options);
  CHECK(ends[0].exit_code == 127);
  CHECK_FALSE(ends[1].failed());
}

TEST_CASE("who asks for an end gets SIGUSR1 to the jobs that run, and no other starts") {
  Shells shells;
  shells.scripts = {"trap 'exit 4' USR1; touch " + (shells.folder.path / "ready").string() +
                        "; while :; do sleep 0.05; done",
                    "exit 0"};
  RunJobsOptions options = shells.options();
  options.is_stopped = [&] { return std::filesystem::exists(shells.folder.path / "ready"); };
  const auto ends = run_jobs({on("a", {0}, 0), on("b", {0}, 1)}, options);
  CHECK(ends[0].exit_code == 4);
  CHECK_FALSE(ends[1].was_started);
}

}  // namespace
}  // namespace penstock
