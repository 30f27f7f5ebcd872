// GPUs that are not there: streams, events, hardware queues and NCCL's point-to-point rules,
// carried out on host memory, so that the order in which ranks use a GPU can be tested without one.
// The symbols of the CUDA runtime and of NCCL that our code calls are defined on top of it
// (fake_cudart.cc, fake_nccl.cc); a program that links those runs the product's own code.
//
// Ranks are threads, each with a GPU of its own. Devices are infinitely fast: whatever may run has
// run when a call returns, so no result depends on time. What is pessimistic, as far as NVIDIA's
// documents allow a driver to be:
//   a receive or send occupies its stream and its CTAs until the other side runs; NCCL buffers
//     nothing;
//   streams share `connections` hardware queues, in which work starts in the order of the calls;
//   the first launch of a kernel, allocating and freeing memory, and creating a communicator wait
//     until the device is idle (CUDA Programming Guide: lazy loading; implicit synchronisation).
//
// A deadlock needs no time-out: it is there when every rank that has not ended waits, in a call or
// by asking for the same thing again and again, and nothing has changed since the first began to.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::testing {

struct EmulatedMachine {
  int connections = 32;   // CUDA_DEVICE_MAX_CONNECTIONS
  int processors = 132;   // SMs of a GPU; a kernel of NCCL takes one per CTA, all others need one
  int ctas_of_nccl = 32;  // of a communicator that sets no maximum
  bool loads_lazily = true;
};

struct EmulatedMark {  // what an event has recorded
  bool passed = false;
  std::string words;  // of the work that it stands behind
};

// A piece of work on a stream.
struct EmulatedWork {
  int stream = 0;
  std::string words;
  int ctas = 0;                             // 0: no kernel
  std::function<void()> body;               // none for work that ends when others say so
  std::shared_ptr<EmulatedMark> waits_for;  // starts behind it
  std::function<void()> started;            // of work without a body
  bool running = false;
};

// What ranks did that costs time, counted per rank.
struct EmulatedCalls {
  int allocations = 0;     // of device or pinned memory
  int events = 0;          // created
  int device_waits = 0;    // for the whole device
  std::set<int> contexts;  // GPUs on which the rank opened one
};

class EmulatedGpus {
 public:
  static EmulatedGpus& instance();

  // body(rank) on a thread per rank, each on a machine of as many GPUs. What each threw, "" for
  // nothing; deadlock() tells of a deadlock, which ends all of them with errors.
  std::vector<std::string> run(int ranks, const EmulatedMachine& machine,
                               const std::function<void(int rank)>& body);
  // "rank 0 waits for ...; rank 1 ..."; empty when there was none.
  [[nodiscard]] std::string deadlock() const { return deadlock_; }
  [[nodiscard]] const EmulatedCalls& calls(int rank) const { return calls_.at(rank); }
  [[nodiscard]] int most_ctas(int rank) const { return most_ctas_.at(rank); }  // of NCCL, at once

  // A kernel on `stream` of the calling rank; loaded first if its name is new to the device.
  void launch(void* stream, const std::string& kernel, std::function<void()> body);
  // While nothing runs on any device.
  void exclusively(const std::function<void()>& body);
  // The calling rank asked for something that is not there yet. False: there is a deadlock.
  bool ask_again(const std::string& what);
  void something_changed();  // that others may have asked for

  // For the fakes. All of them lock; those that wait return false after a deadlock.
  [[nodiscard]] int rank() const;
  [[nodiscard]] int gpus();
  EmulatedCalls& own_calls();
  [[nodiscard]] const EmulatedMachine& machine() const { return machine_; }
  int open_stream();
  void close_stream(int stream);
  [[nodiscard]] std::string last_work(int stream) const;
  void add(int stream, EmulatedWork work);
  bool wait_for_stream(int stream, const std::string& what);
  bool wait_for_device(const std::string& what);
  bool wait_for_mark(const EmulatedMark& mark, const std::string& what);
  [[nodiscard]] bool is_dead();

  // Within something that holds the lock: bodies, `started`, locked().
  void end_running(int stream);
  void drop(int stream, const std::function<bool(const EmulatedWork&)>& which);
  void add_locked(int stream, EmulatedWork work);
  [[nodiscard]] bool is_idle_locked(int device) const;
  void locked(const std::function<void()>& body);  // and whatever may run then has run

 private:
  struct Stream {
    int device = 0, connection = 0;
    std::deque<std::shared_ptr<EmulatedWork>> works;  // the first may be running
  };
  struct Device {
    int streams = 0;
    std::set<std::string> loaded;
    std::vector<std::deque<std::shared_ptr<EmulatedWork>>> connections;  // not started
    int ctas = 0;                                                        // of NCCL, in use
  };
  struct Rank {
    bool ended = false;
    std::optional<std::int64_t> waits_since;  // version
    std::string waits_for;
    std::int64_t asked_at = -1;
    int times_asked = 0;
  };

  void run_all();
  bool start_next(Device& device, std::deque<std::shared_ptr<EmulatedWork>>& connection,
                  int number);
  void look_for_deadlock();
  [[nodiscard]] std::string open_work(int device) const;
  bool wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& over,
            const std::string& what);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  EmulatedMachine machine_;
  std::int64_t version_ = 0;
  std::vector<Rank> ranks_;
  std::map<int, Stream> streams_;
  int next_stream_ = 1;
  std::map<int, Device> devices_;
  std::map<int, EmulatedCalls> calls_;
  std::map<int, int> most_ctas_;
  std::string deadlock_;
};

}  // namespace penstock::testing
