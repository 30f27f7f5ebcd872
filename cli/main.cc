// The only main(): wires the arguments to a verb, prints its answer, turns errors into letters.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include <malloc.h>

#include "cli/verbs.h"
#include "core/error.h"

namespace {

using namespace penstock;

int complain(const std::string& message, int exit) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return exit;
}

int exit_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return kBadUsage;
    case ErrorKind::kMissingResource:
      return kEnvironment;
    case ErrorKind::kInternal:
      return kOurBug;
  }
  return kOurBug;
}

// A reader who has seen enough (`penstock ... | head`) is no error; a full disk is.
int print(const Answer& answer) {
  errno = 0;
  const bool written =
      std::fwrite(answer.text.data(), 1, answer.text.size(), stdout) == answer.text.size();
  if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return answer.exit;
  return complain(std::string("cannot write the result to stdout: ") + std::strerror(errno),
                  kEnvironment);
}

// A search makes and drops Programs of many megabytes; giving their pages back to the system each
// time would cost a fifth of its time.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

}  // namespace

int main(int count, char** values) {
  std::signal(SIGPIPE, SIG_IGN);
  keep_freed_memory();
  try {
    return print(run_penstock(Arguments(values + (count > 0 ? 1 : 0), values + count)));
  } catch (const Error& error) {
    return complain(error.what(), exit_of(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory\nhelp: fewer micro-batches or stages need less", kEnvironment);
  } catch (const std::exception& error) {
    return complain(
        std::string(error.what()) + "\nhelp: this is a bug of penstock; please report it", kOurBug);
  }
}
