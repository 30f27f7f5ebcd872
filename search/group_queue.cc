// Groups of candidates on several threads, with one answer for any number of them.
//
// A task may know only what the tasks up to a fixed distance behind it found (behind()), whether
// later results are there already or not; it waits for them otherwise. Results are merged in the
// order of the groups. So which groups are skipped, what each replays and every count in the tally
// follow from the question alone. The price is a wait at the start, where tasks are close together
// because their finds prune most; the distance grows as far as the round allows, so that many
// threads work.
#include "search/group_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "search/in_parallel.h"

namespace penstock {
namespace {

// How many tasks a task's knowledge lies behind it. The first wait for each other, since their
// finds matter most to what follows; later ones leave room for many threads.
std::size_t behind(std::size_t task, std::size_t furthest) {
  return std::clamp<std::size_t>(task / 2, 2, furthest);
}

// Of 190 random questions on 8 to 128 GPUs (tests/cli/pinned_plans.py) 1,024 of them gave the same
// plans, and took a quarter more of the processor.
constexpr std::size_t kMostContenders = 256;

void sort(std::vector<Contender>& contenders) {
  std::stable_sort(
      contenders.begin(), contenders.end(),
      [](const Contender& a, const Contender& b) { return a.step_time < b.step_time; });
}

}  // namespace

// They go when they would if the slow ones were there: slowest() is the same at any time.
void Contenders::add(std::vector<Contender> more, std::size_t too_slow) {
  all_.insert(all_.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
  too_slow_ += too_slow;
  if (all_.size() + too_slow_ >= 2 * kMostContenders) keep_fastest();
}

void Contenders::keep_fastest() {
  sort(all_);
  all_.resize(kMostContenders);
  too_slow_ = 0;
  if (!in_book_) slowest_ = all_.back().step_time;
}

// Once some went, which others are here beyond the number that is kept depends on when they did.
const std::vector<Contender>& Contenders::sorted() {
  sort(all_);
  if (slowest_ < Duration::max()) all_.resize(std::min(all_.size(), kMostContenders));
  too_slow_ = 0;
  return all_;
}

GroupQueue::GroupQueue(const PlanInputs& inputs, const SearchRequest& request,
                       const SearchSpace& space, SearchShared& shared, SearchTally& tally,
                       SearchProgress& progress, std::size_t furthest_behind)
    : inputs_(inputs),
      request_(request),
      space_(space),
      shared_(shared),
      tally_(tally),
      progress_(progress),
      furthest_behind_(furthest_behind) {
  push_version(0);
}

void GroupQueue::push_version(std::size_t groups) {
  versions_.push_back({groups, std::make_shared<const KnownPlans>(
                                   KnownPlans{tally_.incumbents, tally_.contenders.slowest(),
                                              tally_.contenders_of_more_chunks.slowest()})});
}

void GroupQueue::run() {
  const auto threads = static_cast<std::size_t>(std::max(1, request_.threads));
  in_parallel(request_.threads, threads, [&](std::size_t thread) { work(thread == 0); });
  if (merged_ == space_.groups.size()) return;
  tally_.complete = false;
  for (auto& [group, waiting] : waiting_) merge(waiting.result);
}

void GroupQueue::work(bool leads) {
  // Nobody waits for a thread that failed.
  struct EndOnFailure {
    GroupQueue& queue;
    bool succeeded = false;
    ~EndOnFailure() {
      if (succeeded) return;
      const std::scoped_lock lock(queue.mutex_);
      queue.ended_ = true;
      queue.handed_in_.notify_all();
    }
  } guard{*this};
  if (leads) ask();
  while (const auto task = take()) {
    const CandidateGroup& group = space_.groups[task->group];
    hand_in(task->group, search_group(inputs_, request_, space_, group, *task->known, shared_));
    if (!leads) continue;
    report();
    ask();
  }
  guard.succeeded = true;
}

// The next group that may matter; those before it that do not are handed in at once.
std::optional<GroupQueue::Task> GroupQueue::take() {
  const std::scoped_lock turn(turn_);  // which group is the next task follows from the one before
  std::unique_lock lock(mutex_);
  const std::size_t task = task_groups_.size();
  const std::size_t distance = behind(task, furthest_behind_);
  const std::size_t known_to = task < distance ? 0 : task_groups_[task - distance] + 1;
  handed_in_.wait(lock, [&] { return ended_ || merged_ >= known_to; });
  const auto known = version_of(known_to);
  skip_what_loses(known->incumbents);
  if (ended_ || next_ == space_.groups.size()) return std::nullopt;
  task_groups_.push_back(next_);
  return Task{next_++, known};
}

// Most groups of a large space lose: they are counted as one result.
void GroupQueue::skip_what_loses(const Incumbents& known) {
  if (!request_.bounds || ended_) return;
  const std::size_t first = next_;
  GroupResult skipped;
  for (; next_ < space_.groups.size(); ++next_) {
    const CandidateGroup& group = space_.groups[next_];
    if (!known.is_beyond_limit(group.bound) &&
        known.may_matter(group.bound, group.devices, group.least_memory)) {
      break;
    }
    skipped.bounded += group.candidates;
  }
  if (next_ == first) return;
  waiting_.emplace(first, Waiting{next_ - first, std::move(skipped)});
  merge_waiting();
}

// The newest after at most so many groups. What tasks know only grows from one to the next.
std::shared_ptr<const KnownPlans> GroupQueue::version_of(std::size_t groups) {
  while (versions_.size() > 1 && versions_[1].groups <= groups) versions_.pop_front();
  return versions_.front().known;
}

void GroupQueue::hand_in(std::size_t group, GroupResult result) {
  std::vector<Waiting> merged;  // freed when others may go on
  const std::scoped_lock lock(mutex_);
  waiting_.emplace(group, Waiting{1, std::move(result)});
  merged = merge_waiting();
}

std::vector<GroupQueue::Waiting> GroupQueue::merge_waiting() {
  std::vector<Waiting> merged;
  while (!waiting_.empty() && waiting_.begin()->first == merged_) {
    Waiting& first = merged.emplace_back(std::move(waiting_.begin()->second));
    waiting_.erase(waiting_.begin());
    merge(first.result);
    for (std::size_t i = 0; i < first.groups; ++i) {
      tally_.done += space_.groups[merged_++].candidates;
    }
  }
  if (!merged.empty()) handed_in_.notify_all();
  return merged;
}

void GroupQueue::merge(GroupResult& result) {
  tally_.bounded += result.bounded;
  tally_.evaluated += static_cast<std::int64_t>(result.found.size());
  tally_.rejected.merge(result.rejected);
  tally_.least_possible = std::min(tally_.least_possible, result.least_possible);
  Contenders& contenders =
      result.only_leaders_count ? tally_.contenders_of_more_chunks : tally_.contenders;
  const Duration slowest = contenders.slowest();
  contenders.add(std::move(result.contenders), result.too_slow_contenders);
  tally_.arranged.insert(tally_.arranged.end(), std::make_move_iterator(result.arranged.begin()),
                         std::make_move_iterator(result.arranged.end()));
  if (result.found.empty() && contenders.slowest() == slowest) return;
  for (const Found& found : result.found) {
    if (result.only_leaders_count) {
      tally_.incumbents.add_if_it_leads(found, request_.sizes.size());
    } else {
      tally_.incumbents.add(found);
    }
  }
  push_version(merged_ + 1);
}

void GroupQueue::report() {
  std::int64_t done = 0;
  Duration best{};
  {
    const std::scoped_lock lock(mutex_);
    done = tally_.done;
    if (!tally_.incumbents.best().empty()) best = tally_.incumbents.best()[0].step_time;
  }
  progress_.update(done, tally_.candidates, best);
}

// Whether to go on.
void GroupQueue::ask() {
  if (!progress_.stop()) return;
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  handed_in_.notify_all();
}

}  // namespace penstock
