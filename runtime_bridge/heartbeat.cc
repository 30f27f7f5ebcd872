#include "runtime_bridge/heartbeat.h"

#include <array>
#include <cstdio>
#include <exception>
#include <limits>
#include <tuple>
#include <utility>

#include "core/json.h"
#include "core/json_reader.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::string key_of(int rank) { return "sign_of_life/" + std::to_string(rank); }

// Whether it was alive between the first and the last look, or said itself that it has stopped.
bool is_accounted_for(const SignsSeen& seen, std::size_t rank) {
  const auto& last = seen.last[rank];
  if (!last) return false;
  return last->state != RankState::kRunning || !seen.first[rank] ||
         last->sequence != seen.first[rank]->sequence;
}

bool is_settled(const SignsSeen& seen, int own_rank) {
  bool all = true;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& last = seen.last[rank];
    if (last && last->state == RankState::kFailed) return true;
    all = all && (static_cast<int>(rank) == own_rank || is_accounted_for(seen, rank));
  }
  return all;
}

std::string name(const SignsSeen& seen, std::size_t rank) {
  const auto& sign = seen.last[rank];
  return "rank " + std::to_string(rank) + (sign ? " (" + sign->process + ")" : "");
}

std::string in_step_of(std::int64_t step) { return " in step " + std::to_string(step); }
std::string in_step(const SignOfLife& sign) { return in_step_of(sign.step); }

// Its last sign may be a second old; this rank knows better in which step it missed the other.
std::string in_last_step(const SignsSeen& seen, const SignOfLife& sign, int own_rank) {
  const auto& own = seen.last[static_cast<std::size_t>(own_rank)];
  return in_step(own && own->step > sign.step ? *own : sign);
}

std::string in_seconds(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s",
                std::chrono::duration<double>(duration).count());
  return text.data();
}

std::optional<Blame> blame_those_that_failed(const SignsSeen& seen) {
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& sign = seen.last[rank];
    if (!sign || sign->state != RankState::kFailed) continue;
    return Blame{static_cast<int>(rank),
                 name(seen, rank) + " stopped" + in_step(*sign) + ": " + sign->reason};
  }
  return std::nullopt;
}

std::optional<Blame> blame_the_silent(const SignsSeen& seen, int own_rank) {
  Blame blame;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    if (static_cast<int>(rank) == own_rank || is_accounted_for(seen, rank)) continue;
    if (!blame.rank) blame.rank = static_cast<int>(rank);
    const auto& sign = seen.last[rank];
    blame.words += (blame.words.empty() ? "" : "; ") + name(seen, rank) + " was lost" +
                   (sign ? in_last_step(seen, *sign, own_rank) + ": no sign of life for " +
                               in_seconds(seen.watched)
                         : ": it never gave a sign of life");
  }
  if (!blame.rank) return std::nullopt;
  blame.words += "; the others stopped";
  return blame;
}

// All of them live. Those that stopped saw a failure, so it is rather one that did not.
Blame blame_the_last(const SignsSeen& seen) {
  const auto order = [](const SignOfLife& sign) {
    return std::tuple(sign.state != RankState::kRunning, sign.step, sign.position);
  };
  std::optional<std::size_t> first, last;
  for (std::size_t rank = 0; rank < seen.last.size(); ++rank) {
    const auto& sign = seen.last[rank];
    if (!sign || sign->state == RankState::kFinished) continue;
    if (!last || order(*sign) < order(*seen.last[*last])) last = rank;
    if (!first || order(*seen.last[*first]) < order(*sign)) first = rank;
  }
  // Where all are equally far there is nobody to blame.
  if (!last || order(*seen.last[*last]) == order(*seen.last[*first])) return {};
  const SignOfLife& sign = *seen.last[*last];
  return {static_cast<int>(*last), "all ranks give signs of life; " + name(seen, *last) +
                                       " is furthest behind: step " + std::to_string(sign.step) +
                                       ", action " + std::to_string(sign.position)};
}

}  // namespace

std::string write_sign_of_life(const SignOfLife& sign) {
  Json json = Json::object();
  json.set("sequence", sign.sequence)
      .set("state", static_cast<int>(sign.state))
      .set("step", sign.step)
      .set("position", sign.position)
      .set("process", sign.process)
      .set("reason", sign.reason);
  return to_text(json);
}

std::optional<SignOfLife> read_sign_of_life(const std::string& text) {
  try {
    const Json json = parse_json(text, "sign of life");
    JsonReader reader(json, "sign of life");
    SignOfLife sign;
    sign.sequence = reader.at("sequence").integer(0, kMost);
    sign.state = static_cast<RankState>(
        reader.at("state").integer(0, static_cast<int>(RankState::kFinished)));
    sign.step = reader.at("step").integer(0, kMost);
    sign.position = reader.at("position").integer(0, kMost);
    sign.process = reader.at("process").string();
    sign.reason = reader.at("reason").string();
    return sign;
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
  SignOfLife sign;
  {
    const std::lock_guard lock(mutex_);
    sign.sequence = ++sequence_;
    sign.state = state_;
    sign.reason = reason_;
  }
  sign.step = step_.load(std::memory_order_relaxed);
  sign.position = position_.load(std::memory_order_relaxed);
  sign.process = options_.process;
  store_->set(key_of(options_.rank), write_sign_of_life(sign));
}

void Heartbeat::stopped(RankState state, const std::string& reason) {
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

std::vector<std::optional<SignOfLife>> Heartbeat::read_all() {
  const std::lock_guard lock(store_mutex_);
  std::vector<std::optional<SignOfLife>> signs;
  for (int rank = 0; rank < options_.ranks; ++rank) {
    const std::optional<std::string> text = store_->get(key_of(rank));
    signs.push_back(text ? read_sign_of_life(*text) : std::nullopt);
  }
  return signs;
}

SignsSeen Heartbeat::watch_the_others() {
  const SteadyTime begin = steady_now();
  SignsSeen seen;
  seen.first = seen.last = read_all();
  while (!is_settled(seen, options_.rank) && seen.watched < options_.silence) {
    std::this_thread::sleep_for(options_.interval / 5);
    seen.last = read_all();
    seen.watched = steady_now() - begin;
  }
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

TransportFailure Heartbeat::explain(const TransportFailure& failure) {
  const std::string what = failure.what();
  try {
    stopped(RankState::kSawFailure, what);
    const Blame found = blame(watch_the_others(), options_.rank);
    if (serves_store()) std::this_thread::sleep_for(options_.silence);
    if (!found.rank) return failure;
    return {found.rank, found.words + " (" + what + ")"};
  } catch (const TransportFailure& of_store) {
    const std::string unreachable = of_store.what();
    if (options_.store_rank && !serves_store()) return without_store(failure, unreachable);
    return {failure.peer(), what + "; which rank is to blame cannot be told: " + unreachable};
  }
}

void run_watched(Heartbeat& heartbeat, const std::function<void()>& body) {
  try {
    body();
    heartbeat.stopped(RankState::kFinished, "");
  } catch (const TransportFailure& failure) {
    throw heartbeat.explain(failure);
  } catch (const std::exception& error) {
    heartbeat.stopped(RankState::kFailed, error.what());
    throw;
  }
}

Blame blame(const SignsSeen& seen, int own_rank) {
  if (auto failed = blame_those_that_failed(seen)) return *failed;
  if (auto silent = blame_the_silent(seen, own_rank)) return *silent;
  return blame_the_last(seen);
}

}  // namespace penstock
