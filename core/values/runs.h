// Runs that were measured: penstock.runs/1. What `calibrate` fits an executor model to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/units.h"

namespace penstock {

struct MeasuredRun {
  std::string name;
  Plan plan;                                 // with cuts
  Duration step_time{};                      // median
  Duration step_spread{};                    // standard deviation of one step; 0: not known
  int count = 1;                             // measured steps
  std::optional<Duration> reduce_gradients;  // of the slowest rank, measured apart
  std::optional<Bytes> peak_memory;          // of the fullest device
  int source = 0;                            // index into MeasuredRuns::sources
  std::string profile{};                     // of this run, when not that of the file
  bool operator==(const MeasuredRun&) const = default;
};

struct MeasuredRuns {
  std::string name;
  std::vector<Source> sources;
  std::string profile, cluster;   // files, relative to this one
  std::vector<MeasuredRun> runs;  // all on one device type
  bool operator==(const MeasuredRuns&) const = default;
};

MeasuredRuns read_runs(const Json& json, const std::string& file);
Json write_runs(const MeasuredRuns& runs);

}  // namespace penstock
