// A command that is tried, not carried out: whether it would be refused for what was typed.
#pragma once

namespace penstock {

// Thrown where the work of a rehearsed command would begin: all that was typed is in order.
struct NothingToRefuse {};

// While it lives, this thread carries out no command: work_begins() ends it. A refusal may rehearse
// what it proposes while it is rehearsed itself.
class Rehearsal {
 public:
  Rehearsal();
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

 private:
  bool was_rehearsing_;
};

// Called before a search, and before a file is written. Throws NothingToRefuse in a rehearsal.
void work_begins();

}  // namespace penstock
