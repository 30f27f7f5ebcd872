// Whether a search is to end, asked from work that several threads share.
#pragma once

#include <atomic>
#include <thread>

#include "search/best_plans.h"

namespace penstock {

// Only the thread that made it asks, as SearchProgress wants; the others are told. Once it is so it
// stays so.
class AskedToStop {
 public:
  explicit AskedToStop(SearchProgress& progress) : progress_(progress) {}
  AskedToStop(const AskedToStop&) = delete;
  AskedToStop& operator=(const AskedToStop&) = delete;

  bool operator()() { return std::this_thread::get_id() == asking_ ? ask() : stops_.load(); }

  // From any thread, where no other asks meanwhile.
  bool ask() {
    if (!stops_ && progress_.stop()) stops_ = true;
    return stops_;
  }

  // Whether somebody was told to stop, and left out what was to be done.
  [[nodiscard]] bool stopped() const { return stops_; }

 private:
  SearchProgress& progress_;
  std::thread::id asking_ = std::this_thread::get_id();
  std::atomic<bool> stops_ = false;
};

}  // namespace penstock
