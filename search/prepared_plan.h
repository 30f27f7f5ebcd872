// What can be said of a plan before its stages are priced: the devices that it runs on, what the
// sections cost there, and whether it can be carried out at all.
#pragma once

#include <optional>
#include <vector>

#include "core/values/evaluation.h"
#include "costmodel/price_stages.h"
#include "search/device_cluster.h"
#include "search/evaluate.h"
#include "search/memory.h"
#include "search/section_sums.h"

namespace penstock {

// What the sections cost on the devices of a plan.
class PlanSums {
 public:
  PlanSums() = default;
  PlanSums(const ModelProfile& profile, const PlanDevices& devices, const Plan& plan);

  // The first reason why there are no prices; empty when there are.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] bool recomputes() const;
  // Both point into it. Of full-size micro-batches (of a batch that is not even, those with most
  // tokens); of all shapes.
  [[nodiscard]] RankSums full_size() const;
  [[nodiscard]] RankTables tables() const;
  // Of one shape, on the first type.
  [[nodiscard]] const SectionSums& of_shape(std::size_t shape) const {
    return of_type(type_of_rank_.empty() ? 0 : type_of_rank_.front())[shape];
  }

 private:
  [[nodiscard]] const std::vector<SectionSums>& of_type(int type) const {
    return sums_[static_cast<std::size_t>(type)];
  }

  std::vector<int> type_of_rank_;               // as in PlanDevices
  std::vector<std::vector<SectionSums>> sums_;  // [type][shape]
  int pipeline_ = 1;
  std::vector<ShapeRange> shapes_;  // of unequal replicas, by kind
  std::size_t full_size_ = 0;       // shape
};

struct PreparedPlan {
  // With the stage map of its schedule; not mixed where all ranks are on one type.
  Plan plan;
  PlanDevices devices;
  std::optional<Rejection> why_not;  // no measurement, schedule constraint
  // Set unless there is a reason.
  const ScheduleKind* kind = nullptr;
  PlanSums sums;
};

// Why the plan cannot shard what it says, under this schedule; empty when it can.
std::string why_no_sharding(const ScheduleKind& kind, const Plan& plan);
// Of replicas that are alike, on one type.
ShortLast short_last_of(const PreparedPlan& prepared);

// The plan when nothing recomputes.
Plan keeping(Plan plan);

// Error{kBadInput} for numbers that make no plan, and when the cluster has too few devices.
PreparedPlan prepare(const PlanInputs& inputs, const Plan& plan);

}  // namespace penstock
