// Writes checkpoints while training goes on: what a rank has is copied at once, a thread brings it
// to the disk. The folder is one that all ranks see.
//
//   FOLDER/step-17.ATTEMPT.partial/   being written; each rank's files, then its list rank-R.json
//   FOLDER/step-17/                   complete: rank 0 waits for all lists, joins them in
//                                     manifest.json, and gives the folder its name
//
// A rank that cannot write its part (a full disk) removes it and leaves rank-R.failed; then rank 0
// removes the folder. Only that checkpoint has failed: those before it are still there.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/values/units.h"
#include "runtime_bridge/checkpoint_manifest.h"
#include "runtime_bridge/checkpoint_snapshot.h"
#include "training/key_value_store.h"
#include "training/section_state.h"
#include "training/steady_time.h"

namespace penstock {

struct CheckpointOptions {
  std::string folder;
  int rank = 0, ranks = 1;
  std::string attempt = "0";                 // the same on all ranks, another after every restart
  int keep = 2;                              // complete checkpoints; older ones are removed
  Duration limit = std::chrono::minutes(5);  // for which rank 0 waits for the other ranks' files
  // Asked about a rank whose files are missing: whether it still works on them. Yes when empty.
  std::function<bool(int rank)> works{};
  // The same limit once the run has failed: ranks that live have written theirs by then.
  Duration limit_after_failure = std::chrono::seconds(10);
};

class CheckpointWriter {
 public:
  explicit CheckpointWriter(CheckpointOptions options);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  // Without finish() the run has failed, and a rank may be lost that had a file to write.
  ~CheckpointWriter();

  // Called by every rank after the same step. Returns when the states are copied; waits for the
  // checkpoint before it, and throws what went wrong with that.
  void begin(const CheckpointInfo& info, const std::vector<SectionState>& states,
             const BufferCopy& copy);
  // The same of parts that were copied before.
  void begin(const CheckpointInfo& info, std::vector<SnapshotFile> files);
  // Waits until this rank has done its part: on rank 0, until the checkpoint is complete.
  void finish();
  // Whether there is nothing to wait for: finish() returns or throws at once.
  [[nodiscard]] bool has_ended() const { return ended_; }
  // A rank is lost, and a newer checkpoint is to be written: does not wait for parts that are
  // missing, and forgets what went wrong.
  void give_up();
  // Of the last checkpoint that this rank has had a part in; nothing before one has ended.
  struct Cost {
    Duration stall{};  // for which training stood still: the copy
    Duration write{};  // until this rank's part was done; on rank 0, until it was complete
  };
  [[nodiscard]] std::optional<Cost> cost() const { return cost_; }

 private:
  void begin_thread(const CheckpointInfo& info, SteadyTime began, std::vector<SnapshotFile> files);
  void write(const CheckpointInfo& info, const std::vector<SnapshotFile>& files) const;
  void complete(const CheckpointInfo& info, const std::string& partial) const;
  void write_part(const std::string& partial, const std::vector<SnapshotFile>& files) const;
  void say_failed(const std::string& partial, const std::vector<SnapshotFile>& files,
                  const std::string& why) const;
  std::vector<CheckpointFile> wait_for_lists(const std::string& partial) const;
  [[nodiscard]] bool is_left_over(const std::string& name, std::int64_t newest) const;
  void remove_old(std::int64_t newest) const;

  CheckpointOptions options_;
  std::atomic<bool> has_failed_{false};  // the run
  std::atomic<bool> gives_up_{false}, ended_{true};
  std::thread thread_;
  std::exception_ptr failure_;  // of the thread; read after it has ended, as the next
  Cost costs_;
  std::optional<Cost> cost_;
};

// A name for CheckpointOptions::attempt: rank 0 makes it up and tells the others through `store`.
// TransportFailure when it has not within `limit`.
std::string agree_on_attempt(KeyValueStore& store, int rank, Duration limit);

// "step-17", and back: nothing when it is no such name.
std::string checkpoint_name(std::int64_t step);
std::optional<std::int64_t> step_of_name(const std::string& name);

}  // namespace penstock
