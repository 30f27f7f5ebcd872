// The checkpoints of one rank: when they are due, what goes into them, and the one that a run
// resumes from. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "runtime_bridge/run_rank.h"
#include "runtime_bridge/torch/train_rank.h"
#include "training/section_state.h"
#include "training/transport.h"

namespace penstock {

class RankCheckpoints : public StepCheckpoints {
 public:
  RankCheckpoints(const TrainJob& job, Transport& transport, const std::string& attempt);

  // From now on this is what is stored; of a run that resumes it is filled first, which is why
  // every rank calls it once it is laid out. `holder` must live until finish().
  void serve(StateHolder& holder);
  // Waits for what is still being written.
  void finish();

  bool is_due(std::int64_t next_step, bool last) override;
  void write(std::int64_t next_step) override;
  void complete(std::int64_t next_step) override;

 private:
  void load(StateHolder& holder) const;

  const TrainJob& job_;
  CheckpointInfo info_;  // what does not change from one to the next, and of the last the rest
  StateHolder* holder_ = nullptr;
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace penstock
