// What launcher_test starts: a process that does as its arguments say. None lasts longer than 20 s.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "runtime_bridge/launcher.h"

namespace penstock {
namespace {

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    environment[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  return environment;
}

int sleep_long() {
  std::this_thread::sleep_for(std::chrono::seconds(20));
  return 9;
}

// Writes its process id into FOLDER/RANK, complete at once.
int write_and_sleep(const std::string& folder) {
  const std::string path = folder + "/" + std::getenv("RANK");
  std::ofstream(path + ".tmp") << getpid();
  std::rename((path + ".tmp").c_str(), path.c_str());
  return sleep_long();
}

volatile std::sig_atomic_t asked = 0;

void wait_for_signal(int signal) {
  std::signal(signal, [](int) { asked = 1; });
  sigset_t waiting;  // it was blocked until now
  sigemptyset(&waiting);
  sigaddset(&waiting, signal);
  pthread_sigmask(SIG_UNBLOCK, &waiting, nullptr);
  for (int i = 0; i < 4000 && asked == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int launch_two(const std::string& program, const std::string& folder) {
  LaunchOptions options;
  options.ranks = 2;
  options.environment = own_environment();
  options.start = start_program(program, {"write_and_sleep", folder});
  launch(options);
  return 0;
}

int run(const std::vector<std::string>& words) {
  const std::string& verb = words[1];
  if (verb == "launch_two") return launch_two(words[0], words[2]);
  end_with_launcher(own_environment());
  const std::string rank = std::getenv("RANK");
  if (verb == "write_and_sleep") return write_and_sleep(words[2]);
  if (verb == "rank_as_code") return std::stoi(rank);
  if (verb == "asked_early") std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (verb == "asked" || verb == "asked_early") {
    wait_for_signal(SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(rank == "0" ? 500 : 0));
    return 4;
  }
  if (rank != "1") {  // the others wait for rank 1
    if (verb == "deaf") std::signal(SIGTERM, SIG_IGN);
    if (verb == "stopped") std::raise(SIGSTOP);
    return sleep_long();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return verb == "killed" ? std::raise(SIGKILL) : 3;
}

}  // namespace
}  // namespace penstock

int main(int count, char** words) { return penstock::run({words, words + count}); }
