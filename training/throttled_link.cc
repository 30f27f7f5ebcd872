// Every lane is a thread with a queue. A copy waits for those that it follows, then for each piece:
// the bytes are there at once, and the lane sleeps until the stated bandwidth would have brought
// them; what follows the piece on the host runs while the next one is under way. So a copy takes
// the time of its bytes, or that of what is done with them where that is longer. Deadlines count
// from the start of the copy: what a sleep is late does not add up. What is cleared takes none of
// the time, as on a GPU, whose memory is that much faster than its link.
#include "training/throttled_link.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/prctl.h>

#include "core/values/error.h"
#include "core/values/units.h"
#include "training/steady_time.h"

namespace penstock {
namespace {

// What a copy and those that follow it share.
class Progress {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return has_ended_; });
    if (error_) std::rethrow_exception(error_);
  }
  void end(SteadyTime start, SteadyTime end, std::exception_ptr error) {
    const std::scoped_lock lock(mutex_);
    start_ = start;
    end_ = end;
    error_ = std::move(error);
    has_ended_ = true;
    ended_.notify_all();
  }
  [[nodiscard]] SteadyTime start() const { return start_; }
  [[nodiscard]] SteadyTime end() const { return end_; }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  SteadyTime start_{}, end_{};
  std::exception_ptr error_;
};
using Progresses = std::vector<std::shared_ptr<Progress>>;

class LaneCopy : public SlotCopy {
 public:
  explicit LaneCopy(std::shared_ptr<Progress> progress) : progress_(std::move(progress)) {}
  void wait() override { progress_->wait(); }
  [[nodiscard]] SteadyTime started() const override { return progress_->start(); }
  [[nodiscard]] SteadyTime ended() const override { return progress_->end(); }
  [[nodiscard]] Progresses ends_with() const { return {progress_}; }

 private:
  std::shared_ptr<Progress> progress_;
};

// Ends with the last of those that it joins.
class Joined : public SlotCopy {
 public:
  explicit Joined(Progresses parts) : parts_(std::move(parts)), asked_(steady_now()) {}
  void wait() override {
    for (const auto& part : parts_) part->wait();
  }
  [[nodiscard]] SteadyTime started() const override { return ended(); }
  [[nodiscard]] SteadyTime ended() const override {
    SteadyTime end = asked_;
    for (const auto& part : parts_) end = std::max(end, part->end());
    return end;
  }
  [[nodiscard]] const Progresses& ends_with() const { return parts_; }

 private:
  Progresses parts_;
  SteadyTime asked_;
};

Progresses all_of(const std::vector<const SlotCopy*>& copies) {
  Progresses all;
  for (const SlotCopy* copy : copies) {
    const auto* joined = dynamic_cast<const Joined*>(copy);
    const Progresses parts =
        joined != nullptr ? joined->ends_with() : dynamic_cast<const LaneCopy&>(*copy).ends_with();
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

constexpr std::size_t kAlignment = 64;

class LinkLane {
 public:
  explicit LinkLane(const ThrottledLinkOptions& options)
      : options_(options), thread_([this] { run(); }) {}
  ~LinkLane() {
    {
      const std::scoped_lock lock(mutex_);
      stops_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  LinkLane(const LinkLane&) = delete;
  LinkLane& operator=(const LinkLane&) = delete;

  void hurry(bool hurries) {
    const std::scoped_lock lock(mutex_);
    hurries_ = hurries;
    changed_.notify_all();
  }
  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !is_busy_; });
  }

  std::shared_ptr<Progress> add(SlotTransfer transfer, Progresses after) {
    auto progress = std::make_shared<Progress>();
    const std::scoped_lock lock(mutex_);
    waiting_.push_back({std::move(transfer), std::move(after), progress});
    changed_.notify_all();
    return progress;
  }

 private:
  struct Job {
    SlotTransfer transfer;
    Progresses after;
    std::shared_ptr<Progress> progress;
  };

  void run() {
    prctl(PR_SET_TIMERSLACK, 1UL);  // else a sleep may be 50 us late
    if (options_.begin_thread) options_.begin_thread();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stops_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Job job = std::move(waiting_.front());
      waiting_.pop_front();
      is_busy_ = true;
      lock.unlock();
      carry_out(job);
      job = {};
      lock.lock();
      is_busy_ = false;
      changed_.notify_all();
    }
  }

  // Whatever is thrown belongs to whoever waits for the copy.
  void carry_out(Job& job) {
    SteadyTime start = steady_now();
    std::exception_ptr error;
    try {
      for (const auto& before : job.after) before->wait();
      start = steady_now();
      copy(job.transfer, start);
    } catch (...) {
      error = std::current_exception();
    }
    job.progress->end(start, steady_now(), std::move(error));
  }

  void copy(SlotTransfer& transfer, SteadyTime start) {
    SteadyTime due = start;
    const std::function<void()>* behind = nullptr;
    for (const SlotPiece& piece : transfer.pieces) {
      if (piece.from.bytes() > 0) std::memcpy(piece.to.data, piece.from.data, piece.from.bytes());
      due += time_of(piece.from.bytes());
      if (&piece == &transfer.pieces.back()) clear(transfer);
      if (behind != nullptr && *behind) (*behind)();
      sleep_until(due);
      behind = &piece.then;
    }
    if (behind != nullptr && *behind) (*behind)();
    if (transfer.pieces.empty()) clear(transfer);
  }

  static void clear(const SlotTransfer& transfer) {
    for (const Buffer& buffer : transfer.cleared) {
      if (buffer.bytes() > 0) std::memset(buffer.data, 0, buffer.bytes());
    }
  }

  [[nodiscard]] Duration time_of(std::size_t bytes) const {
    if (!options_.bandwidth) return {};
    return transfer_time(Bytes{static_cast<std::int64_t>(bytes)}, *options_.bandwidth);
  }

  void sleep_until(SteadyTime due) {
    if (!options_.bandwidth) return;
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, due, [this] { return stops_ || hurries_; });
  }

  const ThrottledLinkOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  bool is_busy_ = false;
  bool stops_ = false, hurries_ = false;  // nobody needs what is copied
  std::thread thread_;
};

class ThrottledLink : public SlotLink {
 public:
  explicit ThrottledLink(const ThrottledLinkOptions& options) : in_(options) {
    if (options.duplex) out_.emplace(options);
  }
  std::byte* allocate(std::size_t bytes) override {
    const std::size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = std::aligned_alloc(kAlignment, std::max(size, kAlignment));
    if (memory == nullptr) {
      throw Error(ErrorKind::kMissingResource, "the host has no memory of " +
                                                   std::to_string(bytes) +
                                                   " bytes left\nhelp: use a machine with more");
    }
    std::memset(memory, 0, size);
    pools_.emplace_back(static_cast<std::byte*>(memory), &std::free);
    return pools_.back().get();
  }
  std::unique_ptr<SlotCopy> copy(SlotTransfer transfer,
                                 const std::vector<const SlotCopy*>& after) override {
    LinkLane& lane = transfer.to_host && out_ ? *out_ : in_;
    return std::make_unique<LaneCopy>(lane.add(std::move(transfer), all_of(after)));
  }
  std::unique_ptr<SlotCopy> join(const std::vector<const SlotCopy*>& after) override {
    return std::make_unique<Joined>(all_of(after));
  }
  void settle() override {
    // Both first, since copies of one may wait for the other.
    for (const bool hurries : {true, false}) {
      in_.hurry(hurries);
      if (out_) out_->hurry(hurries);
      in_.wait_until_idle();
      if (out_) out_->wait_until_idle();
    }
  }

 private:
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> pools_;
  LinkLane in_;  // both directions of a simplex link
  std::optional<LinkLane> out_;
};

}  // namespace

std::unique_ptr<SlotLink> make_throttled_link(const ThrottledLinkOptions& options) {
  return std::make_unique<ThrottledLink>(options);
}

}  // namespace penstock
