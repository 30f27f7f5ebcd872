// CUPTI's Activity API on the emulated GPUs: what is launched there becomes records, which CUPTI
// hands over as it may at worst: in small buffers, from a thread of its own, and without times for
// what has not ended when they are asked for. Rules of NVIDIA's documents that its caller breaks
// are noted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <cupti.h>

namespace penstock::testing {

class FakeCupti {
 public:
  static FakeCupti& instance();

  // Kernels and tags as before, nothing broken or lost.
  void begin();
  [[nodiscard]] std::vector<std::string> broken() const;  // rules
  [[nodiscard]] int buffers_out() const;                  // that CUPTI has and has not given back

  std::string holder;  // another tool that has subscribed
  int loses = 0;       // so many of the next records of kernels

  // By the calling thread, which may be another than the rank's own.
  void launch(void* stream, const std::string& kernel);

  // For the functions of CUPTI.
  CUptiResult subscribe(CUpti_SubscriberParams& parameters);
  CUptiResult unsubscribe();
  CUptiResult register_clock(CUpti_TimestampCallbackFunc clock);
  CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete);
  CUptiResult enable(CUpti_ActivityKind kind, bool enabled);
  CUptiResult flush(bool forced);
  CUptiResult push(std::uint64_t id);
  CUptiResult pop(std::uint64_t& last);
  std::size_t take_dropped();

 private:
  struct Kernel {
    std::string name;
    std::uint32_t correlation = 0;
    std::uint64_t start = 0, end = 0;  // 0: has not run
  };
  void break_rule(const std::string& rule);
  void note_launch(const std::string& kernel, std::uint32_t correlation);
  template <class Record>
  void keep(const Record& record);
  void hand_over();

  mutable std::mutex mutex_;  // not held while buffers are handed over
  std::vector<std::string> broken_;
  bool subscribed_ = false, clock_is_set_ = false;
  CUpti_TimestampCallbackFunc clock_ = nullptr;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
  std::set<CUpti_ActivityKind> enabled_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> tags_;  // by thread
  std::vector<Kernel> kernels_;                               // not handed over
  std::vector<std::vector<std::uint8_t>> records_;            // likewise
  std::uint32_t next_correlation_ = 1;
  std::size_t dropped_ = 0;
  int buffers_out_ = 0;
};

}  // namespace penstock::testing
