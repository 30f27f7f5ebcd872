// What `penstock schedule` was asked, as it was typed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/automatic_options.h"
#include "cli/options/executor_options.h"
#include "cli/options/jitter_options.h"
#include "cli/options/options.h"
#include "cli/options/picture_options.h"
#include "cli/options/slow_options.h"
#include "cli/options/table_format.h"

namespace penstock {

struct ScheduleOptions {
  TypedCommand command;
  std::string name;  // of one schedule; when several are asked for that of the row
  std::optional<std::string> ranks, chunks, micro_batches, group, slices, cost_file, csv, csv_form;
  std::vector<std::string> costs;
  AutomaticOptions automatic;
  ExecutorOptions executor;
  SlowOptions slow;
  JitterOptions jitter;
  TableFormatOptions format;
  PictureOptions picture;
  bool legacy_csv = false, print = false, per_rank = false;
  std::optional<std::string> output;

  void declare(Options& options);
  // Whether every action and its time is needed, not only the sums.
  [[nodiscard]] bool is_drawn() const { return print || output.has_value(); }
};

}  // namespace penstock
