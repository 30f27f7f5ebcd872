#include "cli/options/slow_watch_options.h"

#include "cli/options/parse.h"
#include "core/values/json_reader.h"

namespace penstock {

void SlowWatchOptions::declare(Options& options) {
  options.flag("--slow-ranks",
               "look for ranks that compute for longer than they should: than the median of the "
               "replicas of their stage; with fewer than 3 replicas, than the plan predicts as "
               "compared with the other ranks",
               watch_);
  options.option(
      "--slow-percent", "X",
      "a rank that takes this much longer counts as slow, in two windows in a row; default 15",
      percent_);
  options.option("--slow-window", "N", "steps of a window, whose median counts; default 10",
                 window_);
  options.option("--slow-machines", "FILE",
                 "write the machines of slow ranks, one a line (Varuna's slow_machines.out); as "
                 "JSON (penstock.slow/1) where FILE ends in .json",
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
