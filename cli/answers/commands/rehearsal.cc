#include "cli/answers/commands/rehearsal.h"

namespace penstock {
namespace {

thread_local bool is_rehearsing = false;

}  // namespace

Rehearsal::Rehearsal() { is_rehearsing = true; }
Rehearsal::~Rehearsal() { is_rehearsing = false; }

bool is_rehearsal() { return is_rehearsing; }

void work_begins() {
  if (is_rehearsing) throw NothingToRefuse{};
}

}  // namespace penstock
