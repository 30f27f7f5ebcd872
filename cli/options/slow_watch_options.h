// --slow-ranks: look for ranks that compute for longer than they should, in a run under way and in
// the log of one.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "morphing/slow_ranks.h"
#include "report/slow_ranks_report.h"

namespace penstock {

class SlowWatchOptions {
 public:
  void declare(Options& options);

  // Nothing when nobody asked. Error{kBadInput} for numbers that make no sense.
  [[nodiscard]] std::optional<SlowRule> rule() const;
  // Where the machines of slow ranks go; empty: nowhere.
  [[nodiscard]] std::string file() const { return file_.value_or(""); }

 private:
  bool watch_ = false;
  std::optional<std::string> percent_, window_, file_;
};

// As --slow-machines says: JSON where the name ends in .json, else a machine a line.
void write_slow_machines(const std::string& path, const SlowRanks& ranks);

}  // namespace penstock
