#include "training/pin_to_processor.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock {
namespace {

// A folder of its own, so that runs on this machine do not take part.
class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "penstock-pin-XXXXXX").string()) {
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST_CASE("a job claims processors, another one gets those that are left, and none twice") {
  const Folder folder;
  const int count = usable();
  REQUIRE(count > 0);
  const std::vector<int> first = claim_processors(1, 0, folder.path());
  REQUIRE(first.size() == 1);
  const std::vector<int> rest = claim_processors(count + 3, 0, folder.path());
  CHECK(rest.size() == static_cast<std::size_t>(count - 1));
  for (const int processor : rest) CHECK(processor != first[0]);
  CHECK(claim_processors(1, 0, folder.path()).empty());
  CHECK_FALSE(pin_to_one_of({}, 3));
}

TEST_CASE("what a process has claimed is free when it ends, however it ends") {
  const Folder folder;
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool all =
        claim_processors(1 << 20, 0, folder.path()).size() == static_cast<std::size_t>(usable());
    const char answer = all ? 'y' : 'n';
    if (write(pipe_ends[1], &answer, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char answer = '?';
  REQUIRE(::read(pipe_ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK(claim_processors(1, 0, folder.path()).empty());
  kill(child, SIGKILL);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(claim_processors(1, 0, folder.path()).size() == 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_CASE("without a folder for the claims processors count as free") {
  CHECK(claim_processors(1, 0, "/nowhere/at/all").size() == 1);
  CHECK(claim_processors(1, 0, "/nowhere/at/all").size() == 1);
}

}  // namespace
}  // namespace penstock
