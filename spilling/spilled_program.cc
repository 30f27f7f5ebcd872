// As plans do it (Buffering::kLoadMissing): two slots; while shard s computes, s + 1 is loaded over
// s - 1. At the turns nothing is loaded, so that a pass has 2S - 4 loads for S >= 3 shards and none
// for fewer; where shards are updated on the host, the last pass has two more (one, of a single
// shard). With a norm the gradients of all shards go to the host first; those two are updated
// first, so that the others' updates hide the loads.
#include "spilling/spilled_program.h"

#include <string>

#include "core/files/order_actions.h"
#include "core/values/error.h"

namespace penstock {
namespace {

class Lists {
 public:
  Lists(int shards, const SpilledBatch& batch) : shards_(shards), batch_(batch) {}

  ActionLists make() {
    for (int pass = 0; pass < batch_.passes; ++pass) {
      first_ = pass * batch_.micro_batches;
      is_last_pass_ = pass + 1 == batch_.passes;
      forward();
      turn();
      backward();
    }
    if (batch_.clips) update_behind_norm();
    lists_.begin = {0, lists_.actions.size()};
    return std::move(lists_);
  }

 private:
  [[nodiscard]] bool uses(Buffering use) const { return shards_ > 1 && batch_.buffering == use; }
  // Whether a step ends with the shard on the device.
  [[nodiscard]] bool stays(int shard) const {
    return shard == 0 || (shard == 1 && uses(Buffering::kLoadMissing));
  }

  void forward() {
    if (uses(Buffering::kReload)) add(ActionKind::kLoad, 1);
    for (int s = 0; s + 1 < shards_; ++s) {
      compute(ActionKind::kForward, s);
      if (uses(Buffering::kOne)) {
        exchange(s, s + 1);
      } else if (s + 2 < shards_) {
        exchange(s, s + 2);
      } else if (uses(Buffering::kReload)) {
        exchange(s, s);
      }
    }
  }

  void backward() {
    for (int s = shards_ - 1; s >= 0; --s) {
      if (s + 1 < shards_) compute(ActionKind::kFusedBackward, s);
      if (is_last_pass_ && !batch_.clips) add(ActionKind::kOptimizer, s);
      add(ActionKind::kStore, s);
      if (uses(Buffering::kOne) && s >= 1) {
        exchange(s, s - 1);
      } else if (s >= 2) {
        exchange(s, s - 2);
      } else if (!stays(s)) {
        add(ActionKind::kReshard, s);
      } else if (is_last_pass_ && batch_.reloads_updated && !batch_.clips) {
        exchange(s, s);
      }
    }
  }

  void add(ActionKind kind, int shard, MicroBatchId micro_batch = kNoMicroBatch) {
    Action action;
    action.kind = kind;
    action.stage = StageId{static_cast<std::uint16_t>(shard)};
    action.micro_batch = micro_batch;
    lists_.actions.push_back(action);
  }
  void exchange(int gone, int brought) {
    add(ActionKind::kReshard, gone);
    add(ActionKind::kLoad, brought);
  }
  // The norm waits for the last of the copies back, which run in order.
  void update_behind_norm() {
    const auto norm = static_cast<std::uint32_t>(lists_.actions.size());
    lists_.more_waits.push_back({norm, norm - 1, true});
    add(ActionKind::kNorm, 0);
    lists_.actions.back().group = GroupId{0};
    for (int s = 0; s < shards_; ++s) {
      add(ActionKind::kOptimizer, s);
      if (stays(s)) exchange(s, s);
    }
  }
  [[nodiscard]] MicroBatchId micro_batch(int m) const {
    return MicroBatchId{static_cast<std::uint32_t>(first_ + m)};
  }
  void compute(ActionKind kind, int shard) {
    for (int m = 0; m < batch_.micro_batches; ++m) add(kind, shard, micro_batch(m));
  }
  // The last shard goes forward and back, micro-batch by micro-batch.
  void turn() {
    for (int m = 0; m < batch_.micro_batches; ++m) {
      add(ActionKind::kForward, shards_ - 1, micro_batch(m));
      add(ActionKind::kFusedBackward, shards_ - 1, micro_batch(m));
    }
  }

  int shards_;
  const SpilledBatch& batch_;
  int first_ = 0;
  bool is_last_pass_ = false;
  ActionLists lists_;
};

}  // namespace

Program spilled_program(int shards, const SpilledBatch& batch) {
  Program program;
  program.schedule = "spilled";
  for (int s = 0; s < shards; ++s) {
    Stage stage;
    stage.weight_set = s;
    if (s > 0) stage.previous = StageId{static_cast<std::uint16_t>(s - 1)};
    if (s + 1 < shards) stage.next = StageId{static_cast<std::uint16_t>(s + 1)};
    program.stages.push_back(stage);
  }
  const int micro_batches = batch.passes * batch.micro_batches;
  program.micro_batches.assign(static_cast<std::size_t>(micro_batches), batch.each);
  Pipeline pipeline;
  pipeline.stages = shards;
  pipeline.micro_batches = static_cast<std::uint32_t>(micro_batches);
  pipeline.weight_slots = shards > 1 && batch.buffering != Buffering::kOne ? 2 : 1;
  program.pipelines = {pipeline};
  if (batch.clips) program.groups = {{GroupKind::kJob, "job", 1}};
  if (const std::string wrong = order_actions(program, Lists(shards, batch).make());
      !wrong.empty()) {
    throw Error(ErrorKind::kInternal, "spilled_program: " + wrong);
  }
  return program;
}

}  // namespace penstock
