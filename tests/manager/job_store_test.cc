#include "manager/job_store.h"

#include <csignal>
#include <filesystem>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "tests/manager/jobs.h"

namespace penstock::test {
namespace {

struct Folder {
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return (path / "state.db").string(); }
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("penstock_store_" + std::to_string(getpid()));
};

TEST_CASE("what was kept is there again, acts until they are done") {
  const Folder folder;
  Told job;
  job.run_on({{"a", 2}});
  {
    JobStore store(folder.file());
    CHECK(!store.state());
    CHECK(!store.keep(job.last));
  }
  JobStore store(folder.file());
  CHECK(store.state() == job.state);
  CHECK(store.acts_to_do() == job.last.acts);
  CHECK(store.log(10) == job.last.log);
  store.acts_done();
  CHECK(store.acts_to_do().empty());
  CHECK(store.log(1).size() == 1);
}

TEST_CASE("two managers cannot have one job") {
  const Folder folder;
  const JobStore first(folder.file());
  // SQLite's locks are per process.
  const pid_t child = fork();
  if (child == 0) {
    try {
      const JobStore second(folder.file());
    } catch (const Error& error) {
      const std::string what = error.what();
      _exit(what.find("another manager has this job") != std::string::npos ? 7 : 8);
    }
    _exit(9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a manager that is killed leaves a whole state, and its lock is free") {
  const Folder folder;
  Told job;
  job.run_on({{"a", 2}});
  for (const int microseconds : {3000, 7000, 20'000}) {
    const pid_t child = fork();
    if (child == 0) {
      JobStore store(folder.file());
      while (true) static_cast<void>(store.keep(job.last));
    }
    usleep(static_cast<useconds_t>(microseconds));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const JobStore store(folder.file());
    const auto state = store.state();
    CHECK((!state || *state == job.state));
    // With every state came its lines.
    CHECK(store.log(1'000'000).size() % job.last.log.size() == 0);
    CHECK(store.acts_to_do().size() * job.last.log.size() ==
          store.log(1'000'000).size() * job.last.acts.size());
  }
}

TEST_CASE("a file that is no store is refused") {
  const Folder folder;
  write_file(folder.file(), std::string(4096, 'x'));
  CHECK_THROWS_AS(JobStore{folder.file()}, Error);
}

}  // namespace
}  // namespace penstock::test
