// One mutex guards all state, with a condition variable per rank, so that a change wakes only those
// whom it concerns. A message is copied by whichever side comes second, outside the lock. Before a
// rank sleeps it is noted for whom it waits, so that at a time-out the chain can be followed to the
// rank that the others wait for in the end, which the error names.
#include "training/loopback_hub.h"

#include <algorithm>
#include <numeric>

#include "training/loopback_collectives.h"

namespace penstock {
namespace {

std::string text_of(std::size_t number) { return std::to_string(number); }

std::string words_of(const LoopbackPost& post) {
  return std::string(post.sends ? "to send a message to rank " : "for a message from rank ") +
         std::to_string(post.peer) + " (tag " + std::to_string(post.tag) + ", " +
         text_of(post.buffer.bytes()) + " bytes)";
}

std::string words_of(const LoopbackCollective& collective) {
  std::string words = "for " + std::string(name_of(collective.kind));
  if (!collective.group.empty()) words += " of " + collective.group;
  return words;
}

std::string words_of(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    words += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  return words;
}

}  // namespace

LoopbackHub::State::State(int ranks, const LoopbackOptions& options)
    : ranks_(ranks),
      options_(options),
      engine_(options.engine != nullptr ? *options.engine : host_copies_),
      clock_(options.clock != nullptr ? *options.clock : steady_clock_),
      changed_(static_cast<std::size_t>(ranks)),
      in_order_(changed_.size()),
      collectives_end_(changed_.size()),
      waits_for_(changed_.size()) {
  Group all;
  all.members.resize(changed_.size());
  std::iota(all.members.begin(), all.members.end(), 0);
  all.calls.resize(changed_.size());
  groups_.push_back(std::move(all));
}

// ---- messages --------------------------------------------------------------------------------

LoopbackHub::State::Post LoopbackHub::State::post(int rank, int peer, MessageTag tag, bool sends,
                                                  const Buffer& buffer) {
  if (peer < 0 || peer >= ranks_ || peer == rank) {
    throw Error(ErrorKind::kInternal, "rank " + std::to_string(rank) + " of " +
                                          std::to_string(ranks_) + " exchanges with rank " +
                                          std::to_string(peer));
  }
  auto mine = std::make_shared<LoopbackPost>();
  mine->rank = rank;
  mine->peer = peer;
  mine->tag = tag;
  mine->sends = sends;
  mine->buffer = buffer;
  mine->mark = engine_.mark(buffer);
  mine->posted = clock_.now();
  const Key key = sends ? Key{rank, peer, tag} : Key{peer, rank, tag};

  Lock lock(mutex_);
  throw_if_aborted(rank);
  const Post partner = take_partner(key, sends);
  if (partner == nullptr) {
    Queue& queue = queues_[key];
    (sends ? queue.sends : queue.receives).push_back(mine);
    return mine;
  }
  if (partner->buffer.bytes() != buffer.bytes()) {
    throw Error(ErrorKind::kInternal, "rank " + std::to_string(rank) + ", " + words_of(*mine) +
                                          ": the other side has " +
                                          text_of(partner->buffer.bytes()) + " bytes");
  }
  mine->state = partner->state = LoopbackPost::State::kCopying;
  lock.unlock();
  copy(sends ? mine : partner, sends ? partner : mine);
  return mine;
}

// The oldest post of the other side.
LoopbackHub::State::Post LoopbackHub::State::take_partner(const Key& key, bool sends) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return nullptr;
  std::deque<Post>& others = sends ? found->second.receives : found->second.sends;
  if (others.empty()) return nullptr;
  Post partner = others.front();
  others.pop_front();
  if (found->second.sends.empty() && found->second.receives.empty()) queues_.erase(found);
  return partner;
}

void LoopbackHub::State::copy(const Post& send, const Post& receive) {
  // Should the engine throw, nobody waits for the rest of the copy.
  struct Ending {
    State& hub;
    const Post &send, &receive;
    LoopbackPost::State state;
    std::shared_ptr<CopyEngine::Copy> copy;
    SteadyTime there;
    ~Ending() {
      const Lock lock(hub.mutex_);
      for (const Post& post : {send, receive}) {
        post->state = state;
        post->copy = copy;
        post->there = there;
        hub.wake(post->rank);
      }
    }
  } ending{*this, send, receive, LoopbackPost::State::kCancelled, nullptr, {}};

  ending.copy = engine_.copy(send->buffer, send->mark.get(), receive->buffer, receive->mark.get());
  ending.there = clock_.now();
  if (options_.delays != nullptr) {
    const Duration delay =
        options_.delays->of_message(send->rank, receive->rank, send->tag, send->buffer.bytes());
    ending.there = std::max(ending.there, send->posted + delay);
  }
  ending.state = LoopbackPost::State::kEnded;
}

bool LoopbackHub::State::done(int rank, const Post& post) {
  Lock lock(mutex_);
  if (post->state != LoopbackPost::State::kEnded || clock_.now() < post->there) {
    throw_if_aborted(rank);
    return false;
  }
  lock.unlock();
  return post->copy == nullptr || post->copy->done();
}

void LoopbackHub::State::wait(int rank, const Post& post) {
  wait_for(rank, post, words_of(*post));
  if (post->copy != nullptr) post->copy->wait();
}

std::optional<SteadyTime> LoopbackHub::State::ended(const Post& post) {
  const Lock lock(mutex_);
  if (post->state != LoopbackPost::State::kEnded) return std::nullopt;
  return post->copy == nullptr ? post->there : post->copy->ended();
}

void LoopbackHub::State::drop(const Post& post) {
  Lock lock(mutex_);
  auto& changed = changed_[static_cast<std::size_t>(post->rank)];
  changed.wait(lock, [&] { return post->state != LoopbackPost::State::kCopying; });
  if (post->state != LoopbackPost::State::kPosted) return;
  post->state = LoopbackPost::State::kCancelled;
  const auto found = queues_.find(post->sends ? Key{post->rank, post->peer, post->tag}
                                              : Key{post->peer, post->rank, post->tag});
  if (found == queues_.end()) return;
  std::deque<Post>& own = post->sends ? found->second.sends : found->second.receives;
  own.erase(std::remove(own.begin(), own.end(), post), own.end());
}

// ---- collectives -----------------------------------------------------------------------------

CommunicatorId LoopbackHub::State::form_group(int rank, const std::string& name,
                                              const std::vector<int>& members) {
  if (name.empty() || !std::is_sorted(members.begin(), members.end()) ||
      !std::binary_search(members.begin(), members.end(), rank)) {
    throw Error(ErrorKind::kInternal, "rank " + std::to_string(rank) + " forms group '" + name +
                                          "' of " + words_of(members) +
                                          ": a name and ascending ranks with its own are needed");
  }
  const Lock lock(mutex_);
  const auto known = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return group.name == name; });
  if (known == groups_.end()) {
    groups_.push_back({name, members, std::vector<std::uint64_t>(members.size()), {}, 0});
    return {static_cast<int>(groups_.size()) - 1};
  }
  if (known->members != members) {
    throw Error(ErrorKind::kInternal, "group '" + name + "': rank " + std::to_string(rank) +
                                          " says " + words_of(members) + ", another rank " +
                                          words_of(known->members));
  }
  return {static_cast<int>(known - groups_.begin())};
}

std::size_t LoopbackHub::State::position_of(const std::vector<int>& members, int rank) {
  const auto found = std::lower_bound(members.begin(), members.end(), rank);
  if (found == members.end() || *found != rank) {
    throw Error(ErrorKind::kInternal,
                "rank " + std::to_string(rank) + " is not among " + words_of(members));
  }
  return static_cast<std::size_t>(found - members.begin());
}

LoopbackHub::State::Collective LoopbackHub::State::join(int rank, CommunicatorId id, GroupCall kind,
                                                        const Buffer& buffer) {
  std::shared_ptr<CopyEngine::Mark> mark = engine_.mark(buffer);
  Lock lock(mutex_);
  throw_if_aborted(rank);
  Group& group = groups_.at(static_cast<std::size_t>(id.value));
  const std::size_t member = position_of(group.members, rank);
  const std::uint64_t call = group.calls[member]++;
  if (call == group.first_open + group.open.size()) {
    auto created = std::make_shared<LoopbackCollective>();
    created->kind = kind;
    created->group = group.name;
    created->members = group.members;
    created->parts.resize(group.members.size());
    group.open.push_back(std::move(created));
  }
  Collective collective = group.open[static_cast<std::size_t>(call - group.first_open)];
  require_same_call(*collective, rank, kind, buffer);
  collective->parts[member] = {true, false, buffer, std::move(mark)};
  if (options_.delays != nullptr) {
    in_order_[static_cast<std::size_t>(rank)].push_back(collective);
  }
  if (++collective->came < group.members.size()) return collective;
  // Who comes last to one call comes to no earlier one after it: calls fill up in order.
  group.open.pop_front();
  ++group.first_open;
  collective->last_came = clock_.now();
  collective->state = LoopbackCollective::State::kWorking;
  lock.unlock();
  work(collective);
  return collective;
}

void LoopbackHub::State::work(const Collective& collective) {
  struct Ending {
    State& hub;
    const Collective& collective;
    ~Ending() {
      const Lock lock(hub.mutex_);
      collective->state = LoopbackCollective::State::kWorked;
      for (const int rank : collective->members) hub.wake(rank);  // drop() may wait for it
      hub.settle(collective);
    }
  } ending{*this, collective};
  carry_out(*collective, engine_);
}

// Without delays a collective ends when its work is done. With them it waits for the earlier ones
// of its members, and may be what later ones wait for.
void LoopbackHub::State::settle(const Collective& first) {
  std::vector<Collective> candidates{first};
  while (!candidates.empty()) {
    const Collective collective = candidates.back();
    candidates.pop_back();
    if (collective->state != LoopbackCollective::State::kWorked) continue;
    collective->there = clock_.now();
    if (options_.delays != nullptr) {
      if (!heads_all(collective)) continue;
      SteadyTime start = collective->last_came;
      for (const int rank : collective->members) {
        start = std::max(start, collectives_end_[static_cast<std::size_t>(rank)]);
      }
      collective->there =
          std::max(collective->there,
                   start + options_.delays->of_collective(collective->group, collective->kind,
                                                          collective->parts[0].buffer.bytes()));
    }
    collective->state = LoopbackCollective::State::kEnded;
    for (const int rank : collective->members) {
      wake(rank);
      if (options_.delays == nullptr) continue;
      const auto r = static_cast<std::size_t>(rank);
      collectives_end_[r] = collective->there;
      in_order_[r].pop_front();
      if (!in_order_[r].empty()) candidates.push_back(in_order_[r].front());
    }
  }
}

bool LoopbackHub::State::heads_all(const Collective& collective) const {
  return std::all_of(collective->members.begin(), collective->members.end(), [&](int rank) {
    return in_order_[static_cast<std::size_t>(rank)].front() == collective;
  });
}

bool LoopbackHub::State::done(int rank, const Collective& collective) {
  const Lock lock(mutex_);
  if (collective->state == LoopbackCollective::State::kEnded && clock_.now() >= collective->there) {
    return true;
  }
  throw_if_aborted(rank);
  return false;
}

void LoopbackHub::State::wait(int rank, const Collective& collective) {
  wait_for(rank, collective, words_of(*collective));
}

std::optional<SteadyTime> LoopbackHub::State::ended(const Collective& collective) {
  const Lock lock(mutex_);
  if (collective->state != LoopbackCollective::State::kEnded) return std::nullopt;
  return collective->there;
}

void LoopbackHub::State::drop(int rank, const Collective& collective) {
  Lock lock(mutex_);
  auto& changed = changed_[static_cast<std::size_t>(rank)];
  changed.wait(lock, [&] { return collective->state != LoopbackCollective::State::kWorking; });
  if (collective->state != LoopbackCollective::State::kGathering || failure_) return;
  // Its buffer is about to go, and the others count on it.
  failure_ = Failure{rank, "gave up " + words_of(*collective).substr(4)};
  wake_all();
}

// ---- waiting ---------------------------------------------------------------------------------

std::vector<int> LoopbackHub::State::awaited(const LoopbackPost& post) { return {post.peer}; }

std::vector<int> LoopbackHub::State::awaited(const LoopbackCollective& collective) {
  std::vector<int> missing;
  for (std::size_t member = 0; member < collective.members.size(); ++member) {
    if (!collective.parts[member].came) missing.push_back(collective.members[member]);
  }
  return missing;
}

template <class Pending>
void LoopbackHub::State::wait_for(int rank, const std::shared_ptr<Pending>& pending,
                                  const std::string& what) {
  const auto r = static_cast<std::size_t>(rank);
  Lock lock(mutex_);
  const SteadyTime deadline = clock_.now() + options_.time_out;
  // Who waited in vain leaves this behind: others follow it on.
  waits_for_[r] = [pending] { return awaited(*pending); };
  while (pending->state != Pending::State::kEnded) {
    throw_if_aborted(rank);
    if (clock_.now() >= deadline) time_out(rank, what);
    clock_.wait(lock, changed_[r], deadline);
  }
  waits_for_[r] = nullptr;
  while (clock_.now() < pending->there) {
    throw_if_aborted(rank);
    clock_.wait(lock, changed_[r], pending->there);
  }
}

// Follows who waits for whom to a rank that does not wait, or waits for a rank on the way.
int LoopbackHub::State::culprit(int rank) const {
  std::vector<bool> seen(waits_for_.size());
  int at = rank;
  for (;;) {
    const auto a = static_cast<std::size_t>(at);
    if (seen[a] || !waits_for_[a]) return at;
    seen[a] = true;
    const std::vector<int> awaited = waits_for_[a]();
    if (awaited.empty()) return at;
    at = awaited.front();
  }
}

void LoopbackHub::State::time_out(int rank, const std::string& what) const {
  const std::vector<int> awaited = waits_for_[static_cast<std::size_t>(rank)]();
  std::string message =
      "rank " + std::to_string(rank) + " waited " + to_text(options_.time_out) + " " + what;
  if (awaited.empty()) throw TransportFailure(std::nullopt, message);
  const int last = culprit(rank);
  message += "; " + words_of(awaited) + " did not come";
  if (last != awaited.front()) {
    message += ", and all wait for rank " + std::to_string(last) + " in the end";
  }
  throw TransportFailure(last, message);
}

void LoopbackHub::State::throw_if_aborted(int rank) const {
  if (!failure_) return;
  if (failure_->rank == rank) throw TransportFailure(std::nullopt, failure_->reason);
  throw TransportFailure(failure_->rank, "rank " + std::to_string(failure_->rank) +
                                             " ended the run: " + failure_->reason);
}

void LoopbackHub::State::abort(int rank, const std::string& reason) {
  const Lock lock(mutex_);
  if (!failure_) failure_ = Failure{rank, reason};
  wake_all();
}

void LoopbackHub::State::wake_all() {
  for (std::condition_variable& changed : changed_) clock_.wake(changed);
}

}  // namespace penstock
