// The checkpoints of one rank: when they are due, what goes into them, and the one that a run
// resumes from. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/checkpoint_writer.h"
#include "runtime_bridge/last_step.h"
#include "runtime_bridge/run_rank.h"
#include "runtime_bridge/torch/train_rank.h"
#include "training/section_state.h"
#include "training/transport.h"

namespace penstock {

// Returns once `done`; TransportFailure where another rank is lost before (wait_for_ranks.h).
using WhileRanksLive =
    std::function<void(const std::string& what, const std::function<bool()>& done)>;

// How the ranks of a job, as far as they are processes, wait for each other's parts.
struct RanksWriting {
  WhileRanksLive while_they_live;      // empty: they are threads, and live as long as this one
  std::function<void()> say_complete;  // on rank 0: the last checkpoint of the run is
  std::function<bool()> is_complete;   // on the others: whether it has said so
  // In an emergency: begins to look at the others, and returns who tells whether one still works.
  // Asked while this rank's main thread does nothing.
  std::function<std::function<bool(int rank)>()> watch_survivors;
};

class RankCheckpoints : public StepCheckpoints {
 public:
  // `note`: told on rank 0 when a checkpoint could not be written, with which the run goes on; may
  // be empty.
  RankCheckpoints(const TrainJob& job, Transport& transport, const std::string& attempt,
                  RanksWriting others, std::function<void(const std::string&)> note);

  // From now on this is what is stored; of a run that resumes it is filled first, which is why
  // every rank calls it once it is laid out. `holder` must live until finish().
  void serve(StateHolder& holder);
  // Waits for what is still being written; throws when that fails, since nothing comes after it.
  void finish();
  // The emergency checkpoint, this rank's part of it (emergency_checkpoint.h).
  void write_last(const LastStep& last, const std::vector<SectionState>& states);
  void write_mirrored(const LastStep& last, const MirroredParts& parts);
  // What the last one has cost, once known.
  [[nodiscard]] std::optional<CheckpointWriter::Cost> cost();

  bool is_due(std::int64_t next_step, bool last) override;
  void write(std::int64_t next_step) override;
  void finish_last() override;

 private:
  void load(StateHolder& holder) const;
  void settle();
  void wait_for_writer(const std::string& what);
  void describe(std::int64_t next_step);
  void describe_last(const LastStep& last);
  [[nodiscard]] CheckpointOptions options_of_survivor(const LastStep& last);

  const TrainJob& job_;
  RanksWriting others_;
  std::function<void(const std::string&)> note_;
  CheckpointOptions options_;
  CheckpointInfo info_;  // what does not change from one to the next, and of the last the rest
  StateHolder* holder_ = nullptr;
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace penstock
