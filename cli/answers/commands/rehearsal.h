// A command that is tried, not carried out: whether it would be refused for what was typed.
#pragma once

namespace penstock {

// Thrown where the work of a rehearsed command would begin: all that was typed is in order.
struct NothingToRefuse {};

// While it lives, this thread carries out no command: work_begins() ends it. There is one at a
// time.
class Rehearsal {
 public:
  Rehearsal();
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
};

[[nodiscard]] bool is_rehearsal();

// Called before a search, and before a file is written. Throws NothingToRefuse in a rehearsal.
void work_begins();

}  // namespace penstock
