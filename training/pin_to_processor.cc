#include "training/pin_to_processor.h"

#include <sched.h>

namespace penstock {

bool pin_to_processor(int rank) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0 || CPU_COUNT(&usable) == 0) return false;
  int left = rank % CPU_COUNT(&usable);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(static_cast<unsigned>(processor), &usable)) continue;
    if (left-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(processor), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

}  // namespace penstock
