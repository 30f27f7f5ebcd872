// After a failure everyone looks twice: a rank whose message changed between the looks lives, one
// that said that it failed is blamed first, one that is silent next, and where all live the one
// that is least far. Messages carry step and action, so the words say where each rank was. Clocks
// of hosts are never compared: only changes are.
#include "runtime_bridge/heartbeat.h"

#include <array>
#include <cstdio>
#include <exception>
#include <limits>
#include <tuple>
#include <utility>

#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string key_of(int rank) { return "sign_of_life/" + std::to_string(rank); }

// Whether it was alive between the first and the last look, or said itself that it has stopped.
bool is_accounted_for(const HeartbeatsSeen& seen, std::size_t rank) {
  const auto& last = seen.last[rank];
  if (!last) return false;
  return last->state != RankCondition::kRunning || !seen.first[rank] ||
         last->sequence != seen.first[rank]->sequence;
}

bool is_settled(const HeartbeatsSeen& seen, int own_rank) {
  bool all = true;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& last = seen.last[rank];
    if (last && last->state == RankCondition::kFailed) return true;
    all = all && (static_cast<int>(rank) == own_rank || is_accounted_for(seen, rank));
  }
  return all;
}

std::string name(const HeartbeatsSeen& seen, std::size_t rank) {
  const auto& message = seen.last[rank];
  return "rank " + std::to_string(rank) + (message ? " (" + message->process + ")" : "");
}

std::string in_step_of(std::int64_t step) { return " in step " + std::to_string(step); }
std::string in_step(const HeartbeatMessage& message) { return in_step_of(message.step); }

// Its last message may be a second old; this rank knows better in which step it missed the other.
std::string in_last_step(const HeartbeatsSeen& seen, const HeartbeatMessage& message,
                         int own_rank) {
  const auto& own = seen.last[static_cast<std::size_t>(own_rank)];
  return in_step(own && own->step > message.step ? *own : message);
}

std::string in_seconds(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s",
                std::chrono::duration<double>(duration).count());
  return text.data();
}

std::string without_heartbeat(const HeartbeatsSeen& seen, int own_rank) {
  if (!seen.store_is_lost) return ": it never sent a heartbeat";
  const auto& own = seen.last[static_cast<std::size_t>(own_rank)];
  return (own ? in_step(*own) : "") + ": no heartbeat since the job's store was lost";
}

std::optional<Blame> blame_those_that_failed(const HeartbeatsSeen& seen) {
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& message = seen.last[rank];
    if (!message || message->state != RankCondition::kFailed) continue;
    return Blame{static_cast<int>(rank),
                 name(seen, rank) + " stopped" + in_step(*message) + ": " + message->reason};
  }
  return std::nullopt;
}

std::optional<Blame> blame_the_silent(const HeartbeatsSeen& seen, int own_rank) {
  Blame blame;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    if (static_cast<int>(rank) == own_rank || is_accounted_for(seen, rank)) continue;
    if (!blame.rank) blame.rank = static_cast<int>(rank);
    const auto& message = seen.last[rank];
    blame.words += (blame.words.empty() ? "" : "; ") + name(seen, rank) + " was lost" +
                   (message ? in_last_step(seen, *message, own_rank) + ": no heartbeat for " +
                                  in_seconds(seen.watched)
                            : without_heartbeat(seen, own_rank));
  }
  if (!blame.rank) return std::nullopt;
  blame.words += "; the others stopped";
  return blame;
}

// All of them live. Those that stopped saw a failure, so it is rather one that did not.
Blame blame_the_last(const HeartbeatsSeen& seen) {
  const auto order = [](const HeartbeatMessage& message) {
    return std::tuple(message.state != RankCondition::kRunning, message.step, message.position);
  };
  std::optional<std::size_t> first, last;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& message = seen.last[rank];
    if (!message || message->state == RankCondition::kFinished) continue;
    if (!last || order(*message) < order(*seen.last[*last])) last = rank;
    if (!first || order(*seen.last[*first]) < order(*message)) first = rank;
  }
  // Where all are equally far there is nobody to blame.
  if (!last || order(*seen.last[*last]) == order(*seen.last[*first])) return {};
  const HeartbeatMessage& message = *seen.last[*last];
  return {static_cast<int>(*last), "all ranks send heartbeats; " + name(seen, *last) +
                                       " is furthest behind: step " + std::to_string(message.step) +
                                       ", action " + std::to_string(message.position)};
}

}  // namespace

std::string write_heartbeat(const HeartbeatMessage& message) {
  Json json = Json::object();
  json.set("sequence", message.sequence)
      .set("state", static_cast<int>(message.state))
      .set("step", message.step)
      .set("position", message.position)
      .set("process", message.process)
      .set("reason", message.reason);
  return to_text(json);
}

std::optional<HeartbeatMessage> latest_heartbeat(KeyValueStore& store, int rank) {
  const std::optional<std::string> text = store.get(key_of(rank));
  return text ? read_heartbeat(*text) : std::nullopt;
}

std::optional<HeartbeatMessage> read_heartbeat(const std::string& text) {
  try {
    const Json json = parse_json(text, "heartbeat");
    JsonReader reader(json, "heartbeat");
    HeartbeatMessage message;
    message.sequence = reader.at("sequence").integer(0, kMost);
    message.state = static_cast<RankCondition>(
        reader.at("state").integer(0, static_cast<int>(RankCondition::kFinished)));
    message.step = reader.at("step").integer(0, kMost);
    message.position = reader.at("position").integer(0, kMost);
    message.process = reader.at("process").string();
    message.reason = reader.at("reason").string();
    return message;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Heartbeat::Heartbeat(const HeartbeatOptions& options, std::unique_ptr<KeyValueStore> store)
    : options_(options), store_(std::move(store)) {
  write_one();  // a store that is out of reach shows here, not in the thread
  thread_ = std::thread([this] { write_signs(); });
}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Heartbeat::write_signs() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, options_.interval, [this] { return ending_; })) {
    lock.unlock();
    try {
      write_one();
    } catch (const TransportFailure&) {
      return;  // explain() will say so, should it matter
    }
    lock.lock();
  }
}

void Heartbeat::write_one() {
  const std::lock_guard store_lock(store_mutex_);
  HeartbeatMessage message;
  {
    const std::lock_guard lock(mutex_);
    message.sequence = ++sequence_;
    message.state = state_;
    message.reason = reason_;
  }
  message.step = step_.load(std::memory_order_relaxed);
  message.position = position_.load(std::memory_order_relaxed);
  message.process = options_.process;
  store_->set(key_of(options_.rank), write_heartbeat(message));
}

void Heartbeat::stopped(RankCondition state, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    state_ = state;
    reason_ = reason;
  }
  try {
    write_one();
  } catch (const TransportFailure&) {
    // Whoever serves the store has ended before us, and nobody is left to be told.
  }
}

std::vector<std::optional<HeartbeatMessage>> Heartbeat::read_all() {
  const std::lock_guard lock(store_mutex_);
  std::vector<std::optional<HeartbeatMessage>> signs;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::optional<std::string> text = store_->get(key_of(rank));
    signs.push_back(text ? read_heartbeat(*text) : std::nullopt);
  }
  return signs;
}

HeartbeatsSeen Heartbeat::watch_the_others() {
  const SteadyTime begin = steady_now();
  HeartbeatsSeen seen;
  seen.first = seen.last = read_all();
  while (!is_settled(seen, options_.rank) && seen.watched < options_.silence) {
    std::this_thread::sleep_for(options_.interval / 5);
    seen.last = read_all();
    seen.watched = steady_now() - begin;
  }
  seen.store_is_lost = options_.store_is_lost && options_.store_is_lost();
  return seen;
}

// With the store went its rank, or only the way to both. Whether another rank was lost before them
// nobody can tell any more.
TransportFailure Heartbeat::without_store(const TransportFailure& failure,
                                          const std::string& unreachable) const {
  const std::string rank = std::to_string(*options_.store_rank);
  return {
      options_.store_rank,
      "rank " + rank + ", which serves the job's store, cannot be reached" +
          in_step_of(step_.load(std::memory_order_relaxed)) +
          ": it was lost, or the network between it and this rank; whether another rank was lost "
          "before cannot be told (" +
          failure.what() + "; " + unreachable + ")"};
}

std::set<int> Heartbeat::look(const TransportFailure& failure) {
  stopped(RankCondition::kSawFailure, failure.what());
  seen_ = watch_the_others();
  std::set<int> lost;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const bool is_silent =
        rank != options_.rank && !is_accounted_for(*seen_, r) && seen_->watched >= options_.silence;
    const bool has_stopped = seen_->last[r] && (seen_->last[r]->state == RankCondition::kFailed ||
                                                seen_->last[r]->state == RankCondition::kFinished);
    if (is_silent || has_stopped) lost.insert(rank);
  }
  return lost;
}

TransportFailure Heartbeat::explain(const TransportFailure& failure) {
  const std::string what = failure.what();
  try {
    if (!seen_) look(failure);
    const Blame found = blame(*seen_, options_.rank);
    if (serves_store()) std::this_thread::sleep_for(options_.silence);
    if (!found.rank) return failure;
    return {found.rank, found.words + " (" + what + ")"};
  } catch (const TransportFailure& of_store) {
    const std::string unreachable = of_store.what();
    if (options_.store_rank && !serves_store()) return without_store(failure, unreachable);
    return {failure.peer(), what + "; cannot tell which rank failed: " + unreachable};
  }
}

void run_watched(Heartbeat& heartbeat, const std::function<void()>& body) {
  try {
    body();
    heartbeat.stopped(RankCondition::kFinished, "");
  } catch (const TransportFailure& failure) {
    throw heartbeat.explain(failure);
  } catch (const std::exception& error) {
    heartbeat.stopped(RankCondition::kFailed, error.what());
    throw;
  }
}

Blame blame(const HeartbeatsSeen& seen, int own_rank) {
  if (auto failed = blame_those_that_failed(seen)) return *failed;
  if (auto silent = blame_the_silent(seen, own_rank)) return *silent;
  return blame_the_last(seen);
}

}  // namespace penstock
