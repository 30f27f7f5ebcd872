// What ends a step, over groups of ranks: tied weights, gradients, norm, gathers. Each is begun at
// its place in the list and waited for where its result is needed. Private to runtime_bridge/.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "runtime_bridge/execute_step.h"

namespace penstock {

class StepReductions {
 public:
  // `communicators`: those of the program, in its order.
  StepReductions(const RankProgram& program, RankWork& work, Transport& transport,
                 std::vector<CommunicatorId> communicators)
      : program_(program),
        work_(work),
        transport_(transport),
        communicators_(std::move(communicators)) {}

  [[nodiscard]] CommunicatorId communicator(int index) const {
    return communicators_[static_cast<std::size_t>(index)];
  }

  void begin(StepRecord& record);
  // A collective at its place in the list; a gather may come before it.
  void issue(int index);
  // NORM before its place in the list, unless a reduction that it sums is still under way: an
  // update that does not wait for the norm runs beside it.
  void try_norm(int index);
  // Whether the rank has given its share of the norm, and so has all gradients of the step.
  [[nodiscard]] bool norm_begun() const { return norm_begun_; }
  // Until the gradients of a stage are reduced.
  void wait_for_stage(int stage);
  // Until a collective that was begun has ended.
  void wait_for_action(int index);
  void wait_for_gathers();
  // Without a NORM: the loss of all ranks.
  void sum_loss();

 private:
  using Transfers = std::vector<std::unique_ptr<Transfer>>;
  // Begun, not waited for.
  struct Pending {
    int stage = 0;
    std::vector<int> actions;
    Transfers transfers;
    // Of sums over a group of shards: what is then to be summed over all groups.
    std::vector<Buffer> parts;
  };

  [[nodiscard]] const RankAction& action(int index) const {
    return program_.actions[static_cast<std::size_t>(index)];
  }
  void start(int index) { record_->start[static_cast<std::size_t>(index)] = transport_.now(); }
  void wait_for(Pending& pending);
  void wait_for_tie(int tie);
  void reduce_tied(int index);
  void reduce_gradients(int index);
  void gather(int index);
  void norm(int index);
  [[nodiscard]] bool is_reduced();
  void begin_norm(int index);
  // What a rank alone has to sum stays as it is.
  void begin_sum(const NormShare& share);
  [[nodiscard]] SteadyTime end_sum();

  const RankProgram& program_;
  RankWork& work_;
  Transport& transport_;
  std::vector<CommunicatorId> communicators_;
  StepRecord* record_ = nullptr;
  std::vector<Pending> ties_;  // [tie]
  std::vector<Pending> gradients_, gathers_;
  std::array<double, 3> sums_{};   // squared norm, loss, not finite
  std::unique_ptr<Transfer> sum_;  // of them, under way
  bool norm_begun_ = false;
};

}  // namespace penstock
