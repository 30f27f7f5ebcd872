// Ways to run a batch, each judged in short by one-pass replays of its replicas.
#pragma once

#include <array>
#include <cstdint>
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
  std::vector<std::vector<int>> replicas;  // micro-batches of each, ascending

  [[nodiscard]] OrderQuestion order_question(const std::vector<int>& micro_batches,
                                             std::int64_t limit) const;
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

struct Candidates {
  std::vector<std::unique_ptr<ReplayCosts>> costs;  // by recompute mode
  std::vector<std::unique_ptr<FormingReplays>> formings;
  std::vector<Candidate> list;  // sorted
  std::int64_t replays = 0;
};

// `formings` must outlive them.
Candidates batch_candidates(const BatchQuestion& question, const Formings& formings);

// Whatever the order and the replicas.
std::int64_t least_end_ns(const Candidate& candidate);

// The same micro-batches, moved and swapped between replicas while the longest gets shorter, each
// replica then ordered anew within `limit`.
Candidate improved(const BatchQuestion& question, const Candidate& candidate, std::int64_t limit,
                   std::int64_t& replays);

}  // namespace penstock
