// The options of a launcher that starts a part of a job's ranks: those of its machine.
#pragma once

#include <optional>
#include <string>

#include "cli/options/options.h"
#include "runtime_bridge/meeting_folder.h"

namespace penstock {

struct LaunchedPart {
  RanksHere ranks;
  std::string folder;   // in which the launchers of the job meet
  std::string address;  // under which others reach this machine
  bool operator==(const LaunchedPart&) const = default;
};

class RanksHereSettings {
 public:
  void declare(Options& options);
  // Nothing: all ranks are started here. Error{kBadInput} for what makes no sense together or is
  // not among the plan's ranks.
  [[nodiscard]] std::optional<LaunchedPart> part(int ranks_of_plan) const;
  // For ranks that are no processes.
  void refuse(const std::string& why) const;

 private:
  std::optional<std::string> ranks_here_, meet_, address_;
};

}  // namespace penstock
