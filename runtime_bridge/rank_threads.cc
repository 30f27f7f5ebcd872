#include "runtime_bridge/rank_threads.h"

#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "training/transport.h"

namespace penstock {

void on_rank_threads(int ranks, const std::function<void(int rank)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::exception_ptr first_cause;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const TransportFailure&) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!first) first = std::current_exception();
      } catch (...) {  // no exception leaves a thread
        const std::lock_guard<std::mutex> lock(mutex);
        if (!first_cause) first_cause = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first_cause) std::rethrow_exception(first_cause);
  if (first) std::rethrow_exception(first);
}

}  // namespace penstock
