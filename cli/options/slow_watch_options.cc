#include "cli/options/slow_watch_options.h"

#include "cli/words/parse.h"
#include "core/values/json_reader.h"

namespace penstock {

void SlowWatchOptions::declare(Options& options) {
  options.flag("--slow-ranks",
               "watch for ranks that compute longer than the median of their stage's replicas; "
               "with fewer than 3 replicas, longer than predicted compared with the other ranks",
               watch_);
  options.option("--slow-percent", "X",
                 "a rank is slow if it takes this much longer in two windows in a row; default 15",
                 percent_);
  options.option("--slow-window", "N", "steps in a window; their median counts; default 10",
                 window_);
  options.option("--slow-machines", "FILE",
                 "write the machines of slow ranks, one per line (like Varuna's "
                 "slow_machines.out); as JSON (penstock.slow/1) if FILE ends in .json",
                 file_);
}

std::optional<SlowRule> SlowWatchOptions::rule() const {
  if (!watch_ && !percent_ && !window_ && !file_) return std::nullopt;
  SlowRule rule;
  if (percent_) rule.threshold = parse_number("--slow-percent", *percent_, 1.0, 10000.0) / 100.0;
  rule.window = parse_count("--slow-window", window_, 1, rule.window, 1 << 20);
  return rule;
}

void write_slow_machines(const std::string& path, const SlowRanks& ranks) {
  write_file(path, path.ends_with(".json") ? slow_ranks_file(ranks) : slow_machines_text(ranks));
}

}  // namespace penstock
