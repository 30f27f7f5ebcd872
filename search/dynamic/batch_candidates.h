// Ways to run a batch, each judged in short by one-pass replays of its replicas.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "search/dynamic/batch_formings.h"
#include "search/dynamic/order_search.h"
#include "search/dynamic/replica_replays.h"

namespace penstock {

// What a forming is replayed with; shared by its candidates.
struct FormingReplays {
  FormingReplays(const BatchQuestion& question, const Forming& forming, const ReplayCosts& costs);

  const Forming& forming;
  ReplicaReplays replays;
  std::vector<std::vector<int>> replicas;  // micro-batches of each, ascending; once shared out

  void share_out(int over);
  [[nodiscard]] OrderQuestion order_question(const std::vector<int>& micro_batches,
                                             std::int64_t limit) const;
  // Of a replica that runs these, or of several that share them, in whatever order.
  [[nodiscard]] std::int64_t least_end_ns(const BatchSchedule& schedule,
                                          const std::vector<int>& micro_batches,
                                          int replicas_of_them = 1) const;
};

struct Candidate {
  const FormingReplays* of = nullptr;
  BatchSchedule schedule;
  bool leanest = false;   // ordered for least memory, not for time
  std::int64_t rung = 0;  // more memory than this is not needed to think of it
  std::size_t schedule_index = 0;
  std::vector<std::vector<int>> replicas;  // micro-batches in the order in which they run
  std::vector<OrderScore> scores;          // of every replica
  std::int64_t end_ns = 0, need = 0;       // of the longest and of the fullest

  void add_up();  // end_ns and need from the scores
};

// By their length; of equal ones by a key that does not depend on how much memory there is.
bool is_ranked_before(const Candidate& a, const Candidate& b);

// A cyclic schedule within so much memory, not made yet: `like` is the same without a limit.
struct UnmadeCandidate {
  const Candidate* like = nullptr;
  std::int64_t within = 0, rung = 0;
  std::int64_t least_ns = 0;         // however its lists come out
  std::int64_t least_shared_ns = 0;  // and however its micro-batches are shared out anew
};

// Of the formings of one origin. Candidates stay where they are once they are made. `formings` must
// outlive them.
class Candidates {
 public:
  // `beat`: formings that cannot beat it, whatever their schedule, are left out.
  Candidates(const BatchQuestion& question, const Formings& formings, std::size_t origin,
             std::int64_t beat);

  // By their length.
  [[nodiscard]] const std::vector<const Candidate*>& ranked() const { return ranked_; }
  // The least end of those that are made, may be thought of within `limit` and fit.
  [[nodiscard]] std::int64_t least_end_within(std::int64_t limit, bool only_first_schedule) const;
  // Makes those that matter at one limit of memory.
  struct Wanted {
    std::int64_t limit = 0;
    std::int64_t fastest = 0;  // they must end before
    // Where ends decide: neither what cannot beat this, nor what something that fits passes over.
    std::int64_t beat = 0;
    bool ends_decide = false;
    bool only_first_schedule = false;
  };
  void make_within(const Wanted& wanted);
  void make_all();
  [[nodiscard]] std::int64_t replays() const { return replays_; }

 private:
  void take_formings(const Formings& formings, std::size_t origin, std::int64_t beat);
  void add_unbound(const std::vector<const ScheduleKind*>& kinds);
  void add_unmade(const Candidate& like);
  void make(UnmadeCandidate& unmade);
  void rank_anew();

  const BatchQuestion& question_;
  std::vector<std::unique_ptr<ReplayCosts>> costs_;  // by recompute mode
  std::vector<std::unique_ptr<FormingReplays>> formings_;
  std::deque<Candidate> made_;
  std::vector<const Candidate*> ranked_;
  std::vector<UnmadeCandidate> unmade_;  // by least_ns; made ones have no `like`
  std::int64_t replays_ = 0;
};

// Whatever the order and the replicas.
std::int64_t least_end_ns(const Candidate& candidate);

// The same micro-batches, moved and swapped between replicas while the longest gets shorter, each
// replica then ordered anew within `limit`. Where it cannot come to end before `beat`, it is left
// half done; `ends_decide`: as soon as a replica has been ordered in vain.
struct Improving {
  std::int64_t limit = 0;
  std::int64_t beat = 0;
  bool ends_decide = false;
};
Candidate improved(const BatchQuestion& question, const Candidate& candidate,
                   const Improving& improving, std::int64_t& replays);

}  // namespace penstock
