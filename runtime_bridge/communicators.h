// The groups of ranks that a rank has formed, over all plans of a run: forming one takes
// connections, and the next plan often has the same.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime_bridge/rank_program.h"
#include "training/transport.h"

namespace penstock {

class Communicators {
 public:
  // `transport` outlives it.
  explicit Communicators(Transport& transport) : transport_(transport) {}

  // Those of a plan, in its order. All ranks of the job call it for the same plans; so whoever has
  // a part in a group knows whether it is there already.
  std::vector<CommunicatorId> of_plan(const RankProgram& program);

 private:
  Transport& transport_;
  int plans_ = 0;
  std::map<std::pair<std::string, std::vector<int>>, CommunicatorId> formed_;
};

// The name that the plan gave a group: Communicators makes it another where a later plan means
// other members by it.
std::string_view name_in_plan(std::string_view group);

}  // namespace penstock
