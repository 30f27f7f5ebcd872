// --contention: the step with all replicas side by side on the links of a cluster.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "core/values/cluster.h"
#include "core/values/plan_file.h"

namespace penstock {

struct ContentionOptions {
  bool contention = false;
  std::optional<std::string> cluster;  // file

  void declare(Options& options);
  // Error{kBadInput} for --cluster without --contention.
  [[nodiscard]] bool given() const;
  // The cluster that was named, or the one that the plan was made for if its file is unchanged.
  [[nodiscard]] ClusterSpec load(const PlanFile& file) const;
};

}  // namespace penstock
