// The devices advance to a fixed point within every call: as long as the first work of some
// hardware queue is also the first of its stream, and what it needs is there, it starts. Work with
// a body has ended then; sends, receives and collectives end when their counterparts run.
#include "tests/gpu/emulator/emulated_gpus.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace penstock::testing {
namespace {

thread_local int own_rank = -1;

// A rank that has asked so often, while nothing changed, does nothing else.
constexpr int kAsksInVain = 64;

}  // namespace

EmulatedGpus& EmulatedGpus::instance() {
  static EmulatedGpus gpus;
  return gpus;
}

std::vector<std::string> EmulatedGpus::run(int ranks, const EmulatedMachine& machine,
                                           const std::function<void(int rank)>& body) {
  machine_ = machine;
  version_ = 0;
  next_stream_ = 1;
  deadlock_.clear();
  ranks_.assign(static_cast<std::size_t>(ranks), {});
  streams_.clear();
  devices_.clear();
  calls_.clear();
  most_ctas_.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    devices_[rank].connections.resize(static_cast<std::size_t>(machine.connections));
    calls_[rank] = {};
    most_ctas_[rank] = 0;
  }
  std::vector<std::string> thrown(ranks_.size());
  std::vector<std::thread> threads;
  threads.reserve(ranks_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      own_rank = rank;
      try {
        body(rank);
      } catch (const std::exception& error) {
        thrown[static_cast<std::size_t>(rank)] = error.what();
      }
      const std::lock_guard lock(mutex_);
      ranks_[static_cast<std::size_t>(rank)].ended = true;
      look_for_deadlock();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

int EmulatedGpus::rank() const { return own_rank; }
int EmulatedGpus::gpus() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(devices_.size());
}
EmulatedCalls& EmulatedGpus::own_calls() { return calls_.at(own_rank); }

int EmulatedGpus::open_stream() {
  const std::lock_guard lock(mutex_);
  const int stream = next_stream_++;
  Device& device = devices_.at(own_rank);
  streams_[stream] = {own_rank, device.streams++ % machine_.connections, {}};
  return stream;
}

std::string EmulatedGpus::last_work(int stream) const {
  const std::lock_guard lock(mutex_);
  const auto& works = streams_.at(stream).works;
  return works.empty() ? "" : works.back()->words;
}

void EmulatedGpus::close_stream(int stream) {
  const std::lock_guard lock(mutex_);
  drop(stream, [](const EmulatedWork&) { return true; });
  streams_.erase(stream);
}

void EmulatedGpus::add(int stream, EmulatedWork work) {
  const std::lock_guard lock(mutex_);
  add_locked(stream, std::move(work));
  run_all();
}

void EmulatedGpus::add_locked(int stream, EmulatedWork work) {
  Stream& to = streams_.at(stream);
  work.stream = stream;
  const auto added = std::make_shared<EmulatedWork>(std::move(work));
  to.works.push_back(added);
  devices_.at(to.device).connections[static_cast<std::size_t>(to.connection)].push_back(added);
  ++version_;
}

void EmulatedGpus::locked(const std::function<void()>& body) {
  const std::lock_guard lock(mutex_);
  body();
  ++version_;
  run_all();
}

void EmulatedGpus::exclusively(const std::function<void()>& body) {
  const std::lock_guard lock(mutex_);
  body();
}

void EmulatedGpus::launch(void* stream, const std::string& kernel, std::function<void()> body) {
  std::unique_lock lock(mutex_);
  Device& device = devices_.at(own_rank);
  if (machine_.loads_lazily && device.loaded.count(kernel) == 0) {
    const auto idle = [this] { return is_idle_locked(own_rank); };
    if (!wait(lock, idle, "an idle GPU, to load the kernel " + kernel)) return;
    device.loaded.insert(kernel);
  }
  EmulatedWork work;
  work.words = kernel;
  work.ctas = 1;
  work.body = std::move(body);
  add_locked(static_cast<int>(reinterpret_cast<std::intptr_t>(stream)), std::move(work));
  run_all();
}

void EmulatedGpus::run_all() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [number, device] : devices_) {
      for (auto& connection : device.connections) {
        while (start_next(device, connection, number)) moved = true;
      }
    }
    if (moved) ++version_;
  }
  changed_.notify_all();
}

bool EmulatedGpus::start_next(Device& device, std::deque<std::shared_ptr<EmulatedWork>>& connection,
                              int number) {
  if (connection.empty() || !deadlock_.empty()) return false;
  const std::shared_ptr<EmulatedWork> work = connection.front();
  if (streams_.at(work->stream).works.front() != work) return false;
  if (work->waits_for && !work->waits_for->passed) return false;
  if (work->ctas > 0 && device.ctas + work->ctas > machine_.processors) return false;
  connection.pop_front();
  work->running = true;
  if (work->body) {
    try {
      work->body();
    } catch (const std::exception& error) {
      deadlock_ = "no deadlock, but " + work->words + " failed: " + error.what();
    }
    streams_.at(work->stream).works.pop_front();
  } else if (work->started) {
    device.ctas += work->ctas;
    most_ctas_[number] = std::max(most_ctas_[number], device.ctas);
    work->started();
  } else {
    streams_.at(work->stream).works.pop_front();
  }
  return true;
}

// The work that runs on a stream, which is one of NCCL.
void EmulatedGpus::end_running(int stream) {
  Stream& of = streams_.at(stream);
  devices_.at(of.device).ctas -= of.works.front()->ctas;
  of.works.pop_front();
  ++version_;
}

void EmulatedGpus::drop(int stream, const std::function<bool(const EmulatedWork&)>& which) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  Device& device = devices_.at(found->second.device);
  auto& works = found->second.works;
  if (!works.empty() && works.front()->running && which(*works.front())) {
    device.ctas -= works.front()->ctas;
  }
  const auto dropped = [&](const std::shared_ptr<EmulatedWork>& work) {
    return work->stream == stream && which(*work);
  };
  std::erase_if(works, dropped);
  std::erase_if(device.connections[static_cast<std::size_t>(found->second.connection)], dropped);
  ++version_;
}

bool EmulatedGpus::is_idle_locked(int device) const {
  return std::ranges::all_of(streams_, [device](const auto& entry) {
    return entry.second.device != device || entry.second.works.empty();
  });
}

bool EmulatedGpus::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over,
                        const std::string& what) {
  Rank& rank = ranks_.at(static_cast<std::size_t>(own_rank));
  while (!over()) {
    if (!deadlock_.empty()) return false;
    rank.waits_since = version_;
    rank.waits_for = what;
    look_for_deadlock();
    if (!deadlock_.empty()) return false;
    changed_.wait(lock);
    rank.waits_since.reset();
  }
  return true;
}

bool EmulatedGpus::wait_for_stream(int stream, const std::string& what) {
  std::unique_lock lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.works.empty()) return deadlock_.empty();
  const std::weak_ptr<EmulatedWork> last = found->second.works.back();
  return wait(
      lock, [&last] { return last.expired(); }, what);
}

bool EmulatedGpus::wait_for_device(const std::string& what) {
  std::unique_lock lock(mutex_);
  ++calls_.at(own_rank).device_waits;
  return wait(
      lock, [this] { return is_idle_locked(own_rank); }, what);
}

bool EmulatedGpus::wait_for_mark(const EmulatedMark& mark, const std::string& what) {
  std::unique_lock lock(mutex_);
  return wait(
      lock, [&mark] { return mark.passed; }, what);
}

bool EmulatedGpus::is_dead() {
  const std::lock_guard lock(mutex_);
  return !deadlock_.empty();
}

bool EmulatedGpus::ask_again(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (own_rank < 0) return true;
  Rank& rank = ranks_.at(static_cast<std::size_t>(own_rank));
  const bool again = rank.asked_at == version_ && rank.waits_for == what;
  rank.times_asked = again ? rank.times_asked + 1 : 1;
  rank.asked_at = version_;
  rank.waits_for = what;
  rank.waits_since.reset();
  if (rank.times_asked >= kAsksInVain) {
    rank.waits_since = version_;
    look_for_deadlock();
  }
  return deadlock_.empty();
}

void EmulatedGpus::something_changed() {
  const std::lock_guard lock(mutex_);
  ++version_;
  changed_.notify_all();
}

void EmulatedGpus::look_for_deadlock() {
  if (!deadlock_.empty()) return;
  bool anyone = false;
  for (const Rank& rank : ranks_) {
    if (rank.ended) continue;
    anyone = true;
    if (rank.waits_since != version_) return;
  }
  if (!anyone) return;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    deadlock_ += (r == 0 ? "rank " : "; rank ") + std::to_string(r);
    if (ranks_[r].ended) {
      deadlock_ += " has ended";
      continue;
    }
    const std::string open = open_work(static_cast<int>(r));
    deadlock_ += " waits for " + ranks_[r].waits_for;
    if (!open.empty()) deadlock_ += " (on its GPU: " + open + ")";
  }
  changed_.notify_all();
}

// The first work of every stream: what runs, and what cannot start.
std::string EmulatedGpus::open_work(int device) const {
  std::string text;
  for (const auto& [number, stream] : streams_) {
    if (stream.device != device || stream.works.empty()) continue;
    const EmulatedWork& first = *stream.works.front();
    text += (text.empty() ? "" : ", ") + first.words + (first.running ? " runs" : " cannot start");
  }
  return text;
}

}  // namespace penstock::testing
