// Asks for checkpoints when their time has come, on rank 0, so that all ranks agree. The first one
// comes after the first step, and shows what one costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/values/units.h"
#include "runtime_bridge/run_rank.h"
#include "runtime_bridge/torch/rank_checkpoints.h"
#include "training/steady_time.h"

namespace penstock {

class TimedCheckpoints : public RunControl {
 public:
  using Interval = std::function<Duration(const CheckpointWriter::Cost& cost)>;

  TimedCheckpoints(RunControl* control, RankCheckpoints& checkpoints, Interval interval,
                   std::function<void(const std::string&)> note)
      : control_(control),
        checkpoints_(checkpoints),
        interval_(std::move(interval)),
        note_(std::move(note)) {}

  RunRequest requested() override;

 private:
  // Not before the last one has ended.
  bool is_time();

  RunControl* control_;
  RankCheckpoints& checkpoints_;
  Interval interval_;
  std::function<void(const std::string&)> note_;
  std::optional<SteadyTime> last_;
  bool has_told_ = false;
};

}  // namespace penstock
