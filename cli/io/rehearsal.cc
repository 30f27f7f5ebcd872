#include "cli/io/rehearsal.h"

namespace penstock {
namespace {

thread_local bool is_rehearsing = false;

}  // namespace

Rehearsal::Rehearsal() : was_rehearsing_(is_rehearsing) { is_rehearsing = true; }
Rehearsal::~Rehearsal() { is_rehearsing = was_rehearsing_; }

void work_begins() {
  if (is_rehearsing) throw NothingToRefuse{};
}

}  // namespace penstock
