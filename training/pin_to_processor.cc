#include "training/pin_to_processor.h"

#include <cerrno>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

namespace penstock {
namespace {

std::vector<int> usable_processors() {
  std::vector<int> processors;
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<unsigned>(processor), &usable)) processors.push_back(processor);
  }
  return processors;
}

// The file stays open, and with it the lock, until the process ends.
bool claim(int processor, const std::string& folder) {
  const std::string path = folder + "/penstock-processor-" + std::to_string(processor);
  // Somebody else's file in a folder that all may write to must not be opened for creating it.
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) file = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return true;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
  const bool is_taken = errno == EWOULDBLOCK;
  close(file);
  return !is_taken;
}

}  // namespace

std::vector<int> claim_processors(int wanted, int first, const std::string& folder) {
  const std::vector<int> usable = usable_processors();
  std::vector<int> claimed;
  for (std::size_t i = 0; i < usable.size() && static_cast<int>(claimed.size()) < wanted; ++i) {
    const int processor = usable[(static_cast<std::size_t>(first) + i) % usable.size()];
    if (claim(processor, folder)) claimed.push_back(processor);
  }
  return claimed;
}

bool pin_to_one_of(const std::vector<int>& processors, int rank) {
  if (processors.empty()) return false;
  const int processor = processors[static_cast<std::size_t>(rank) % processors.size()];
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(processor), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

bool pin_to_processor(int rank) { return pin_to_one_of(usable_processors(), rank); }

}  // namespace penstock
