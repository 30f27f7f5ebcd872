// penstock.book/1: the fastest plan for every number of GPUs that a job may find, with all that is
// needed to price it again: a job that grows and shrinks carries it along.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/executor_model.h"
#include "core/values/json.h"
#include "core/values/plan.h"
#include "core/values/profile.h"

namespace penstock {

struct BookPage {
  int gpus = 1;               // that there are; the plan may use fewer
  std::optional<Plan> plan;   // none: nothing fits
  Duration step_time{};       // of the plan, as the next two
  double usd_per_step = 0.0;  // 0: unknown
  Bytes peak_memory{};
  std::string why_not;  // when there is no plan
  bool operator==(const BookPage&) const = default;
};

struct PlanBook {
  std::string tool_version;
  ModelProfile profile;
  ClusterSpec cluster;
  ExecutorModel executor;
  std::optional<Bytes> reserve;  // of every device, instead of the cluster's
  int global_batch = 1;
  std::vector<BookPage> pages;  // ascending by GPUs; a step is never slower than on fewer GPUs
  bool operator==(const PlanBook&) const = default;
};

Json write_plan_book(const PlanBook& book);
// Error{kBadInput} for anything malformed, a plan on more GPUs than its page has, and steps that
// become slower.
PlanBook read_plan_book(const Json& json, const std::string& file);

}  // namespace penstock
