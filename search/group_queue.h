// Works through the groups of a search in the order of their bounds, on several threads. The tasks
// are the groups that may matter. A task knows what all groups up to a certain task before it
// found, no less and no more, whatever the number of threads: so neither the answer nor its counts
// depend on it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "search/best_plans.h"
#include "search/candidates.h"
#include "search/group_search.h"
#include "search/incumbents.h"
#include "search/rejections.h"

namespace penstock {

// Candidates that are yet to get better cuts. Far more than can be given some are kept; the slower
// half goes now and then.
class Contenders {
 public:
  // In a book slow ones stay, since every number of GPUs has its own: few of a large one, and many
  // of a small one, are among the fastest.
  explicit Contenders(bool in_book) : in_book_(in_book) {}
  // `too_slow`: so many besides, each of them slower than slowest().
  void add(std::vector<Contender> more, std::size_t too_slow = 0);
  // A slower one than this would go.
  [[nodiscard]] Duration slowest() const { return slowest_; }
  // The fastest first; of equals those that were found first.
  [[nodiscard]] const std::vector<Contender>& sorted();

 private:
  void keep_fastest();

  const bool in_book_;
  std::vector<Contender> all_;
  std::size_t too_slow_ = 0;  // added since the slower half went last
  Duration slowest_ = Duration::max();
};

// What a search has found and left out so far.
struct SearchTally {
  SearchTally(Incumbents known, bool in_book)
      : incumbents(std::move(known)), contenders(in_book), contenders_of_more_chunks(in_book) {}

  Incumbents incumbents;
  Rejections rejected;
  std::int64_t candidates = 0;
  std::int64_t done = 0;  // candidates that were looked at
  std::int64_t bounded = 0, evaluated = 0;
  bool complete = true;                     // false: ended by SearchProgress
  std::vector<ArrangedCandidate> arranged;  // yet to be worked out
  Contenders contenders, contenders_of_more_chunks;
  Duration least_possible = Duration::max();
};

class GroupQueue {
 public:
  // `furthest_behind`: what a task knows ends at most so many tasks before it.
  GroupQueue(const PlanInputs& inputs, const SearchRequest& request, const SearchSpace& space,
             SearchShared& shared, SearchTally& tally, SearchProgress& progress,
             std::size_t furthest_behind);

  void run();

 private:
  // What is known after so many groups.
  struct Version {
    std::size_t groups = 0;
    std::shared_ptr<const KnownPlans> known;
  };
  struct Task {
    std::size_t group = 0;
    std::shared_ptr<const KnownPlans> known;
  };

  void work(bool leads);
  std::optional<Task> take();
  // Of one group that was searched, or of several in a row that were left out.
  struct Waiting {
    std::size_t groups = 1;
    GroupResult result;
  };

  void skip_what_loses(const Incumbents& known);
  void hand_in(std::size_t group, GroupResult result);
  std::vector<Waiting> merge_waiting();
  void merge(GroupResult& result);
  void push_version(std::size_t groups);
  std::shared_ptr<const KnownPlans> version_of(std::size_t groups);
  void report();
  void ask();

  const PlanInputs& inputs_;
  const SearchRequest& request_;
  const SearchSpace& space_;
  SearchShared& shared_;
  SearchTally& tally_;
  SearchProgress& progress_;
  const std::size_t furthest_behind_;

  std::mutex turn_;   // held by the thread that takes the next task
  std::mutex mutex_;  // for all below, and the tally
  std::condition_variable handed_in_;
  std::size_t next_ = 0, merged_ = 0;       // groups
  std::vector<std::size_t> task_groups_;    // those that were not skipped
  std::map<std::size_t, Waiting> waiting_;  // for one before them, by the first group
  std::deque<Version> versions_;            // ascending; none that nobody needs any more
  bool ended_ = false;                      // by the progress, or since a thread failed
};

}  // namespace penstock
