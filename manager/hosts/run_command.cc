// Runs a program to its end, within a limit of time and of output.
//
// It gets a process group of its own and no file but the pipe of its stdout. When the limit is over
// the whole group is killed, so that a child that keeps the pipe open cannot hold the manager.
// Output beyond the limit is read and dropped, because a program whose pipe is full never ends.
#include "manager/hosts/run_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;

// Both ends of a pipe, closed with the object.
struct Pipe {
  Pipe() { open = pipe2(ends.data(), O_CLOEXEC) == 0; }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  std::array<int, 2> ends{-1, -1};
  bool open = false;
};

std::int64_t now_in_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// In a group of its own, so that all of it can be ended.
pid_t spawn(std::vector<std::string>& words, const Pipe& output) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t files;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.ends[1], 1);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, pointers.front(), &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? process : -1;
}

// Until the other side closes or the limit is over; whether it closed.
bool read_all(int file, std::int64_t deadline, std::string& text) {
  std::array<char, 4096> piece{};
  for (;;) {
    const std::int64_t left = deadline - now_in_milliseconds();
    pollfd wait{file, POLLIN, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) < 0) {
      if (left > 0 && errno == EINTR) continue;
      return false;
    }
    if (wait.revents == 0) continue;
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0 && text.size() < kMostText)
      text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

// Its end, within the deadline.
bool take_end(pid_t process, std::int64_t deadline, int& status) {
  for (;;) {
    const pid_t got = waitpid(process, &status, WNOHANG);
    if (got == process) return true;
    if ((got < 0 && errno != EINTR) || now_in_milliseconds() > deadline) return false;
    const timespec pause{0, 2000000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

CommandOutput run_command(std::vector<std::string> words, Duration limit) {
  CommandOutput output;
  Pipe pipe;
  if (!pipe.open || words.empty()) return output;
  const std::int64_t deadline =
      now_in_milliseconds() + std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  const pid_t process = spawn(words, pipe);
  if (process < 0) return output;
  close(std::exchange(pipe.ends[1], -1));
  int status = 0;
  if (read_all(pipe.ends[0], deadline, output.text) && take_end(process, deadline, status)) {
    if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
    return output;
  }
  kill(-process, SIGKILL);
  waitpid(process, nullptr, 0);
  return output;
}

}  // namespace penstock
