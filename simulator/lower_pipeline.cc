// Goes round over the ranks and emits the next action of each list whose input has been emitted,
// with every send directly followed by its receive at the peer. So the stored order is one in which
// a single pass can replay: whatever an action waits for stands before it. Arrivals holds, per
// stage and micro-batch, the action that brings the input, or that there is none yet. DeepSpeed's
// order goes the same way over lists that hold their transfers already.
//
// Invariant: the order of emission is a function of the lists alone. When a round emits nothing
// while lists are left, they wait for each other; stalled() follows who waits for whom until a rank
// comes round again and names the circle.
#include "simulator/lower_pipeline.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/values/error.h"
#include "simulator/issue_lists.h"
#include "simulator/step_tail.h"

namespace penstock {
namespace {

constexpr std::uint32_t kPending = 0xFFFF'FFFEU;  // the producer has not been emitted yet

// What one pipeline's actions wait for, by (stage, micro-batch): the index of the action that
// brings the activation to F, or the gradient to the backward.
class Arrivals {
 public:
  Arrivals(int stages, std::uint32_t micro_batches)
      : micro_batches_(micro_batches),
        activation_(static_cast<std::size_t>(stages) * micro_batches, kPending),
        gradient_(activation_.size(), kPending) {}
  // The first stage of a copy takes the step's input.
  void start_at(int stage) {
    std::fill_n(activation_.begin() + static_cast<std::ptrdiff_t>(at(stage, 0)), micro_batches_,
                kWaitsForNothing);
  }
  std::uint32_t& activation(int stage, std::uint32_t m) { return activation_[at(stage, m)]; }
  std::uint32_t& gradient(int stage, std::uint32_t m) { return gradient_[at(stage, m)]; }

 private:
  [[nodiscard]] std::size_t at(int stage, std::uint32_t m) const {
    return static_cast<std::size_t>(stage) * micro_batches_ + m;
  }
  std::uint32_t micro_batches_;
  std::vector<std::uint32_t> activation_, gradient_;
};

// Lowers one pipeline into the Program: emits its lists round robin, one action per rank and round,
// every send directly followed by its receive at the peer. The order of emission is the Program's.
class PipelineLowering {
 public:
  PipelineLowering(const PipelineInput& input, const LoweringOptions& options, Program& program)
      : schedule_(input.schedule),
        options_(options),
        program_(program),
        pipeline_(program.pipelines.back()),
        arrivals_(schedule_.stages(), pipeline_.micro_batches),
        places_recompute_(
            schedule_.rule != RunTimeRule::kNone ||
            std::any_of(schedule_.actions.begin(), schedule_.actions.end(),
                        [](const ComputeAction& a) { return a.kind == ActionKind::kRecompute; })),
        backwards_left_(static_cast<std::size_t>(schedule_.stages()),
                        pipeline_.micro_batches / static_cast<std::uint32_t>(pipeline_.copies)),
        ends_{std::vector<std::uint32_t>(backwards_left_.size(), kWaitsForNothing),
              std::vector<std::uint32_t>(backwards_left_.size(), kWaitsForNothing),
              std::vector<std::uint32_t>(static_cast<std::size_t>(schedule_.ranks),
                                         kWaitsForNothing)} {
    for (int s = 0; s < schedule_.stages(); s += schedule_.stages_per_copy()) arrivals_.start_at(s);
  }

  void run() {
    if (options_.issue == IssueOrder::kDeepSpeed) {
      run_deepspeed();
    } else {
      run_eager();
    }
  }

  [[nodiscard]] const PipelineEnds& ends() const { return ends_; }

 private:
  void run_eager() {
    std::vector<ListCursor> at;
    at.reserve(static_cast<std::size_t>(schedule_.ranks));
    for (int r = 0; r < schedule_.ranks; ++r) at.emplace_back(schedule_, r);
    for (bool progress = true, left = true; left;) {
      progress = left = false;
      for (ListCursor& cursor : at) {
        if (cursor.done()) continue;
        left = true;
        progress |= emit_head(cursor);
      }
      if (left && !progress) stalled(heads_of(at));
    }
  }

  // The action that the cursor is at, or the pair of an OVERLAP, if what it needs is there.
  bool emit_head(ListCursor& cursor) {
    const ComputeAction action = *cursor;
    if (!ready(action)) return false;
    if (!action.overlaps_next) {
      emit_compute(action);
      ++cursor;
      return true;
    }
    const ComputeAction second = cursor.second();
    if (!ready(second)) return false;
    if (inserts_recompute()) emit_recompute(second);
    const std::uint32_t first_index = emit_without_transfer(action);
    program_.actions[first_index].overlaps_next = true;
    const std::uint32_t second_index = emit_gradient(second);
    deliver(action, first_index);
    deliver(second, second_index);
    ++cursor;
    ++cursor;
    return true;
  }

  static std::vector<std::optional<Issue>> heads_of(const std::vector<ListCursor>& at) {
    std::vector<std::optional<Issue>> heads(at.size());
    for (std::size_t r = 0; r < at.size(); ++r) {
      if (at[r].done()) continue;
      ComputeAction head = *at[r];
      if (head.overlaps_next && !at[r].done()) head = at[r].second();
      heads[r] = Issue{head.kind, head.stage.value, head.micro_batch.value};
    }
    return heads;
  }

  [[nodiscard]] bool ready(const ComputeAction& action) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    if (action.kind == ActionKind::kForward) return arrivals_.activation(stage, m) != kPending;
    if (needs_gradient(action.kind)) return arrivals_.gradient(stage, m) != kPending;
    return true;
  }
  static bool needs_gradient(ActionKind kind) {
    return is_backward(kind) || kind == ActionKind::kRecompute;
  }

  void emit_compute(const ComputeAction& action) { deliver(action, emit_without_transfer(action)); }

  // Hands on what the emitted action `index` made.
  void deliver(const ComputeAction& action, std::uint32_t index) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    if (action.kind == ActionKind::kForward) {
      deliver_activation(stage, m, index);
    } else if (is_backward(action.kind)) {
      deliver_gradient(stage, m, index);
    }
    if (ends_stage(action)) reduce(stage);
  }

  // The compute action itself, with its recompute.
  std::uint32_t emit_without_transfer(const ComputeAction& action) {
    if (is_backward(action.kind) && inserts_recompute()) emit_recompute(action);
    if (action.kind != ActionKind::kForward) return emit_gradient(action);
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    return note_last(action, emit(action.kind, stage, m, arrivals_.activation(stage, m)));
  }

  // Anything but F.
  std::uint32_t emit_gradient(const ComputeAction& action) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    // After an inserted recompute the gradient is there.
    const bool waits =
        needs_gradient(action.kind) && !(is_backward(action.kind) && inserts_recompute());
    const std::uint32_t index =
        emit(action.kind, stage, m, waits ? arrivals_.gradient(stage, m) : kWaitsForNothing);
    if (completes_gradient(action.kind) && --backwards_left_[action.stage.value] == 0) {
      ends_.last_of_stage[action.stage.value] = index;
    }
    return note_last(action, index);
  }

  void emit_recompute(const ComputeAction& backward) {
    const int stage = backward.stage.value;
    const std::uint32_t m = backward.micro_batch.value;
    emit(ActionKind::kRecompute, stage, m, arrivals_.gradient(stage, m));
  }
  [[nodiscard]] bool inserts_recompute() const { return options_.recompute && !places_recompute_; }

  std::uint32_t note_last(const ComputeAction& action, std::uint32_t index) {
    return ends_.last_of_rank[static_cast<std::size_t>(rank_of(action.stage.value))] = index;
  }

  // After the action was emitted: whether it was the last that its stage's gradients needed.
  [[nodiscard]] bool ends_stage(const ComputeAction& action) const {
    return completes_gradient(action.kind) && backwards_left_[action.stage.value] == 0;
  }
  // Follows the last send of the stage: what another rank waits for goes first. Tied stages reduce
  // later (StepTail).
  void reduce(int stage) {
    if (!options_.step_actions || !options_.reduce_gradients) return;
    if (reduces_at_end(schedule_, options_, stage)) return;
    ends_.reduction_of_stage[static_cast<std::size_t>(stage)] =
        emit_step_action(ActionKind::kReduceGradient, stage,
                         ends_.last_of_stage[static_cast<std::size_t>(stage)], data_group(stage));
  }

  void deliver_activation(int stage, std::uint32_t m, std::uint32_t producer) {
    if (!schedule_.has_next(stage)) {
      arrivals_.gradient(stage, m) = kWaitsForNothing;  // the loss follows on the same rank
    } else if (crosses(stage, stage + 1)) {
      const auto sent = emit(ActionKind::kSendActivation, stage, m, producer);
      arrivals_.activation(stage + 1, m) = emit(ActionKind::kReceiveActivation, stage + 1, m, sent);
    } else {
      arrivals_.activation(stage + 1, m) = local(stage, stage + 1, producer);
    }
  }

  void deliver_gradient(int stage, std::uint32_t m, std::uint32_t producer) {
    if (!schedule_.has_previous(stage)) return;
    if (crosses(stage, stage - 1)) {
      const auto sent = emit(ActionKind::kSendGradient, stage, m, producer);
      arrivals_.gradient(stage - 1, m) = emit(ActionKind::kReceiveGradient, stage - 1, m, sent);
    } else {
      arrivals_.gradient(stage - 1, m) = local(stage, stage - 1, producer);
    }
  }

  // Lists that hold their transfers already: rounds over the ranks, a receive after its send.
  void run_deepspeed() {
    const auto lists = deepspeed_lists(schedule_, options_.transfers);
    std::vector<std::size_t> at(lists.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t r = 0; r < lists.size(); ++r) {
        if (at[r] < lists[r].size() && emit_issued(lists[r][at[r]])) {
          ++at[r];
          progress = true;
        }
      }
    }
    std::vector<std::optional<Issue>> heads(lists.size());
    for (std::size_t r = 0; r < lists.size(); ++r) {
      if (at[r] < lists[r].size()) heads[r] = lists[r][at[r]];
    }
    if (std::any_of(heads.begin(), heads.end(),
                    [](const auto& head) { return head.has_value(); })) {
      stalled(heads);
    }
  }

  // Emits the head of a rank's list unless it is a receive whose send is still to come.
  bool emit_issued(const Issue& issue) {
    const auto [kind, stage, m] = issue;
    if (kind == ActionKind::kReduceGradient) {
      reduce(stage);
      return true;
    }
    if (is_send(kind)) {
      const bool forward = kind == ActionKind::kSendActivation;
      auto& sent = forward ? arrivals_.activation(stage + 1, m) : arrivals_.gradient(stage - 1, m);
      sent = emit(kind, stage, m, sent);  // held the producer's index until now
      return true;
    }
    if (is_receive(kind)) {
      const bool forward = kind == ActionKind::kReceiveActivation;
      auto& arrival = forward ? arrivals_.activation(stage, m) : arrivals_.gradient(stage, m);
      if (arrival == kPending || !is_send(program_.actions[arrival].kind)) return false;
      arrival = emit(kind, stage, m, arrival);
      return true;
    }
    const ComputeAction action{kind, false, StageId{static_cast<std::uint16_t>(stage)},
                               MicroBatchId{m}};
    if (!ready(action)) return false;
    const std::uint32_t index = emit_without_transfer(action);
    if (kind == ActionKind::kForward) {
      if (!schedule_.has_next(stage)) {
        arrivals_.gradient(stage, m) = kWaitsForNothing;
      } else {
        arrivals_.activation(stage + 1, m) =
            crosses(stage, stage + 1) ? index : local(stage, stage + 1, index);
      }
    } else if (is_backward(kind) && schedule_.has_previous(stage)) {
      arrivals_.gradient(stage - 1, m) =
          crosses(stage, stage - 1) ? index : local(stage, stage - 1, index);
    }
    return true;
  }

  std::uint32_t emit(ActionKind kind, int stage, std::uint32_t m, std::uint32_t waits_for) {
    program_.actions.push_back({MicroBatchId{pipeline_.first_micro_batch + m}, waits_for, kNoGroup,
                                stage_id(stage), kind});
    return static_cast<std::uint32_t>(program_.actions.size() - 1);
  }
  std::uint32_t emit_step_action(ActionKind kind, int stage, std::uint32_t waits_for,
                                 GroupId group) {
    program_.actions.push_back({kNoMicroBatch, waits_for, group, stage_id(stage), kind});
    return static_cast<std::uint32_t>(program_.actions.size() - 1);
  }

  [[nodiscard]] StageId stage_id(int stage) const {
    return StageId{static_cast<std::uint16_t>(pipeline_.first_stage + stage)};
  }
  [[nodiscard]] int rank_of(int stage) const {
    return schedule_.rank_of_stage[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] bool crosses(int from, int to) const {
    return options_.transfers && rank_of(from) != rank_of(to);
  }
  // Within a rank the order of its list already says it all.
  [[nodiscard]] std::uint32_t local(int from, int to, std::uint32_t producer) const {
    return rank_of(from) == rank_of(to) ? kWaitsForNothing : producer;
  }
  [[nodiscard]] GroupId data_group(int stage) const {
    return GroupId{static_cast<std::uint32_t>(stage)};  // the first S groups, see lower()
  }
  // Every rank that is left waits for an action that stands behind another waiting head: follow
  // that until it closes. No value: the rank's list has ended.
  [[noreturn]] void stalled(const std::vector<std::optional<Issue>>& heads) const {
    std::size_t rank = 0;
    while (!heads[rank]) ++rank;
    std::string text;
    for (std::vector<bool> seen(heads.size(), false); !seen[rank];) {
      seen[rank] = true;
      const auto [kind, stage, m] = *heads[rank];
      const bool activation =
          kind == ActionKind::kForward || kind == ActionKind::kReceiveActivation;
      const int producer = activation ? stage - 1 : schedule_.has_next(stage) ? stage + 1 : stage;
      text += fmt::format("{}{}{} on rank {} waits for stage {}; ", stage, name_of(kind), m, rank,
                          producer);
      rank = static_cast<std::size_t>(rank_of(producer));
      if (!heads[rank]) break;
    }
    throw_bad_input(
        fmt::format("{}: the lists cannot be executed: {}nothing can run", schedule_.name, text));
  }

  const Schedule& schedule_;
  const LoweringOptions& options_;
  Program& program_;
  const Pipeline pipeline_;
  Arrivals arrivals_;
  bool places_recompute_;                      // the lists hold R themselves, where they want it
  std::vector<std::uint32_t> backwards_left_;  // per stage
  PipelineEnds ends_;
};

}  // namespace

PipelineEnds lower_pipeline(const PipelineInput& input, const LoweringOptions& options,
                            Program& program) {
  PipelineLowering lowering(input, options, program);
  lowering.run();
  return lowering.ends();
}

}  // namespace penstock
