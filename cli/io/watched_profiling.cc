#include "cli/io/watched_profiling.h"

#include <csignal>
#include <cstdio>

#include <unistd.h>

namespace penstock {
namespace {

volatile std::sig_atomic_t asked_to_stop = 0;

// The second Ctrl-C finds the default again, and kills.
void on_interrupt(int) { asked_to_stop = 1; }

}  // namespace

WatchedProfiling::WatchedProfiling() : terminal_(isatty(STDERR_FILENO) == 1) {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

WatchedProfiling::~WatchedProfiling() {
  std::signal(SIGINT, SIG_DFL);
  if (line_is_open_) std::fputs("\r\033[K", stderr);
}

void WatchedProfiling::update(const std::string& what, int part, int parts) {
  if (terminal_) {
    std::fprintf(stderr, "\rmeasuring %s, %d of %d (Ctrl-C keeps what there is)\033[K",
                 what.c_str(), part + 1, parts);
    line_is_open_ = true;
  } else if (part == 0 || part % 10 == 9) {
    std::fprintf(stderr, "measuring %s, %d of %d\n", what.c_str(), part + 1, parts);
  }
  std::fflush(stderr);
}

bool WatchedProfiling::stop() { return asked_to_stop != 0; }
bool WatchedProfiling::was_stopped() const { return asked_to_stop != 0; }

}  // namespace penstock
