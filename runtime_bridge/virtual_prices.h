// The prices of a plan file by what a virtual run asks for: actions of a pipeline, messages and
// collectives by name. Private to runtime_bridge/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/values/plan_file.h"
#include "runtime_bridge/rank_program.h"
#include "training/loopback.h"
#include "training/virtual_work.h"

namespace penstock {

// Of one of the plan's distinct pipelines, times `stretch`.
std::shared_ptr<const VirtualDurations> virtual_durations(const PlanFile& file, int pipeline,
                                                          std::int64_t stretch);

class PlanDelays : public LoopbackDelays {
 public:
  PlanDelays(const PlanFile& file, std::int64_t stretch);
  [[nodiscard]] Duration of_message(int from, int to, MessageTag tag,
                                    std::size_t bytes) const override;
  [[nodiscard]] Duration of_collective(const std::string& group, GroupCall call,
                                       std::size_t bytes) const override;

 private:
  void add_messages(const PlanFile& file, const RankProgram& program);
  void add_collectives(const PlanFile& file);

  std::int64_t stretch_;
  std::vector<std::unordered_map<MessageTag, Duration>> messages_;  // [sender]
  std::map<std::pair<std::string, GroupCall>, Duration> collectives_;
};

}  // namespace penstock
