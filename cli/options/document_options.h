// Options of training on documents: samples that differ in length, and how their steps are planned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "cli/options/store_options.h"
#include "core/values/units.h"

namespace penstock {

// How the plan of every step is made.
struct DocumentPlanning {
  std::string profile, cluster;        // files; empty: those that the plan names
  std::optional<int> longest;          // of a document; nothing: what was measured
  std::vector<std::string> schedules;  // to choose among; empty: all that there are
  int pad_to = 8;                      // lengths are padded to multiples of it
  std::int64_t replays = 200;          // that each search for an order may take
  int threads = 1, ahead = 2;
};

class DocumentOptions {
 public:
  void declare(Options& options);

  // Error{kBadInput} for what makes no sense, and for options of documents where there are none.
  // `given`: names of all options that were.
  void check(const std::vector<std::string>& given) const;
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }
  [[nodiscard]] std::int64_t tokens_per_batch() const;
  [[nodiscard]] DocumentPlanning planning() const;
  [[nodiscard]] std::string statistics() const { return statistics_.value_or(""); }
  // Where plans come from that another process makes, if any do; and how long a rank waits for one:
  // half of what ranks wait for each other, so that a planner that is missing is not taken for a
  // rank that is.
  [[nodiscard]] const StoreOptions& store() const { return store_; }
  [[nodiscard]] Duration plan_wait(Duration time_out) const;
  [[nodiscard]] bool plans_if_late() const { return if_late_; }

 private:
  std::vector<std::string> files_;
  std::optional<std::string> tokens_, longest_, profile_, cluster_, schedules_, pad_to_, replays_,
      threads_, ahead_, statistics_, wait_;
  StoreOptions store_{"--plans-from"};
  bool if_late_ = false;
};

}  // namespace penstock
