#include "simulator/lower.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace penstock {
namespace {

constexpr std::uint32_t kPending = 0xFFFF'FFFEU;  // the producer has not been emitted yet

// A compute or transfer action of one rank in issue order, before it has an index.
struct Issue {
  ActionKind kind = ActionKind::kForward;
  int stage = 0;
  std::uint32_t micro_batch = 0;
};

// What one pipeline's actions wait for, by (stage, micro-batch): the index of the action that
// brings the activation to F, or the gradient to the backward.
class Arrivals {
 public:
  Arrivals(int stages, std::uint32_t micro_batches)
      : micro_batches_(micro_batches),
        activation_(static_cast<std::size_t>(stages) * micro_batches, kPending),
        gradient_(activation_.size(), kPending) {
    std::fill_n(activation_.begin(), micro_batches, kWaitsForNothing);
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
        backwards_left_(static_cast<std::size_t>(schedule_.stages()), pipeline_.micro_batches),
        last_of_stage_(backwards_left_.size(), kWaitsForNothing),
        reduction_of_stage_(backwards_left_.size(), kWaitsForNothing),
        last_of_rank_(static_cast<std::size_t>(schedule_.ranks), kWaitsForNothing) {}

  void run() {
    if (options_.issue == IssueOrder::kDeepSpeed) {
      run_deepspeed();
    } else {
      run_eager();
    }
  }

  [[nodiscard]] std::uint32_t last_of_stage(int stage) const {
    return last_of_stage_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::uint32_t reduction_of_stage(int stage) const {
    return reduction_of_stage_[static_cast<std::size_t>(stage)];
  }
  [[nodiscard]] std::uint32_t last_of_rank(int rank) const {
    return last_of_rank_[static_cast<std::size_t>(rank)];
  }

 private:
  void run_eager() {
    std::vector<const ComputeAction*> at, end;
    for (int r = 0; r < schedule_.ranks; ++r) {
      at.push_back(schedule_.list(r).data());
      end.push_back(at.back() + schedule_.list(r).size());
    }
    for (bool progress = true, left = true; left;) {
      progress = left = false;
      for (std::size_t r = 0; r < at.size(); ++r) {
        if (at[r] == end[r]) continue;
        left = true;
        if (!ready(*at[r])) continue;
        emit_compute(*at[r]++);
        progress = true;
      }
      if (left && !progress) stalled(heads_of(at, end));
    }
  }

  static std::vector<std::optional<Issue>> heads_of(const std::vector<const ComputeAction*>& at,
                                                    const std::vector<const ComputeAction*>& end) {
    std::vector<std::optional<Issue>> heads(at.size());
    for (std::size_t r = 0; r < at.size(); ++r) {
      if (at[r] == end[r]) continue;
      heads[r] = Issue{at[r]->kind, at[r]->stage.value, at[r]->micro_batch.value};
    }
    return heads;
  }

  [[nodiscard]] bool ready(const ComputeAction& action) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    if (action.kind == ActionKind::kForward) return arrivals_.activation(stage, m) != kPending;
    if (is_backward(action.kind)) return arrivals_.gradient(stage, m) != kPending;
    return true;
  }

  void emit_compute(const ComputeAction& action) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    const std::uint32_t index = emit_without_transfer(action);
    if (action.kind == ActionKind::kForward) {
      deliver_activation(stage, m, index);
    } else if (is_backward(action.kind)) {
      deliver_gradient(stage, m, index);
    }
    if (ends_stage(action)) reduce(stage);
  }

  // The compute action itself, with its recompute.
  std::uint32_t emit_without_transfer(const ComputeAction& action) {
    const int stage = action.stage.value;
    const std::uint32_t m = action.micro_batch.value;
    std::uint32_t waits = kWaitsForNothing;
    if (action.kind == ActionKind::kForward) waits = arrivals_.activation(stage, m);
    if (is_backward(action.kind)) {
      waits = arrivals_.gradient(stage, m);
      if (options_.recompute) {
        emit(ActionKind::kRecompute, stage, m, waits);
        waits = kWaitsForNothing;  // it follows its recompute on the same rank
      }
    }
    const std::uint32_t index = emit(action.kind, stage, m, waits);
    if (completes_gradient(action.kind) && --backwards_left_[action.stage.value] == 0) {
      last_of_stage_[action.stage.value] = index;
    }
    last_of_rank_[static_cast<std::size_t>(rank_of(stage))] = index;
    return index;
  }

  // The weight gradients of a micro-batch are there after its W or B.
  static bool completes_gradient(ActionKind kind) {
    return kind == ActionKind::kFusedBackward || kind == ActionKind::kWeightGradient;
  }
  // After the action was emitted: whether it was the last that its stage's gradients needed.
  [[nodiscard]] bool ends_stage(const ComputeAction& action) const {
    return completes_gradient(action.kind) && backwards_left_[action.stage.value] == 0;
  }
  // Follows the last send of the stage: what another rank waits for goes first. Tied stages reduce
  // later (StepTail).
  void reduce(int stage) {
    if (!options_.step_actions || !options_.reduce_gradients || is_tied(stage)) return;
    reduction_of_stage_[static_cast<std::size_t>(stage)] = emit_step_action(
        ActionKind::kReduceGradient, stage, last_of_stage(stage), data_group(stage));
  }

  void deliver_activation(int stage, std::uint32_t m, std::uint32_t producer) {
    if (stage + 1 == schedule_.stages()) {
      arrivals_.gradient(stage, m) = kWaitsForNothing;  // the loss follows on the same rank
    } else if (crosses(stage, stage + 1)) {
      const auto sent = emit(ActionKind::kSendActivation, stage, m, producer);
      arrivals_.activation(stage + 1, m) = emit(ActionKind::kReceiveActivation, stage + 1, m, sent);
    } else {
      arrivals_.activation(stage + 1, m) = local(stage, stage + 1, producer);
    }
  }

  void deliver_gradient(int stage, std::uint32_t m, std::uint32_t producer) {
    if (stage == 0) return;
    if (crosses(stage, stage - 1)) {
      const auto sent = emit(ActionKind::kSendGradient, stage, m, producer);
      arrivals_.gradient(stage - 1, m) = emit(ActionKind::kReceiveGradient, stage - 1, m, sent);
    } else {
      arrivals_.gradient(stage - 1, m) = local(stage, stage - 1, producer);
    }
  }

  // DeepSpeed's PipelineEngine: a forward step is SEND_B of the step before, RECV_F, F; a backward
  // step is RECV_B, SEND_F of the step before, B. When there is an idle slot between the two steps,
  // the send leaves in it; see receives_first().
  void run_deepspeed() {
    note_positions();
    std::vector<std::vector<Issue>> lists;
    lists.reserve(static_cast<std::size_t>(schedule_.ranks));
    for (int r = 0; r < schedule_.ranks; ++r) lists.push_back(deepspeed_list(r));
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

  std::vector<Issue> deepspeed_list(int rank) {
    std::vector<Issue> list;
    std::optional<Issue> unsent, unreduced;
    const auto flush = [&] {
      if (unsent) list.push_back(*std::exchange(unsent, std::nullopt));
      if (unreduced) list.push_back(*std::exchange(unreduced, std::nullopt));
    };
    std::vector<std::uint32_t> left = backwards_left_;
    for (const ComputeAction& action : schedule_.list(rank)) {
      const int stage = action.stage.value;
      const std::uint32_t m = action.micro_batch.value;
      const bool forward = action.kind == ActionKind::kForward;
      const bool backward = is_backward(action.kind);
      if (!backward || !unsent || !receives_first(stage, m, *unsent)) flush();
      if (forward && stage > 0 && crosses(stage - 1, stage)) {
        list.push_back({ActionKind::kReceiveActivation, stage, m});
      }
      if (backward && stage + 1 < schedule_.stages() && crosses(stage, stage + 1)) {
        list.push_back({ActionKind::kReceiveGradient, stage, m});
      }
      flush();
      list.push_back({action.kind, stage, m});
      if (forward && stage + 1 < schedule_.stages() && crosses(stage, stage + 1)) {
        unsent = Issue{ActionKind::kSendActivation, stage, m};
      }
      if (backward && stage > 0 && crosses(stage, stage - 1)) {
        unsent = Issue{ActionKind::kSendGradient, stage, m};
      }
      if (completes_gradient(action.kind) && --left[action.stage.value] == 0) {
        unreduced = Issue{ActionKind::kReduceGradient, stage};
      }
    }
    flush();
    return list;
  }

  // Whether the gradient of (stage, m) is received before an activation that was computed in the
  // step before is sent. 1F1B in its steady state does so. In general that is safe just when the
  // peer's backward does not come after the forward that the activation is for (GPipe; 1F1B with M
  // < P): DeepSpeed's slots are then apart, and the send leaves in between.
  [[nodiscard]] bool receives_first(int stage, std::uint32_t m, const Issue& unsent) const {
    if (unsent.kind != ActionKind::kSendActivation || stage + 1 == schedule_.stages()) return false;
    if (rank_of(stage + 1) != rank_of(unsent.stage + 1)) return false;
    return backward_at_[cell(stage + 1, m)] <
           forward_at_[cell(unsent.stage + 1, unsent.micro_batch)];
  }
  // Where each forward and backward stands in the list of its rank.
  void note_positions() {
    const std::size_t cells = backwards_left_.size() * pipeline_.micro_batches;
    forward_at_.assign(cells, 0);
    backward_at_.assign(cells, 0);
    for (std::size_t i = 0; i < schedule_.actions.size(); ++i) {
      const ComputeAction& action = schedule_.actions[i];
      const std::size_t at = cell(action.stage.value, action.micro_batch.value);
      if (action.kind == ActionKind::kForward) forward_at_[at] = i;
      if (is_backward(action.kind)) backward_at_[at] = i;
    }
  }
  [[nodiscard]] std::size_t cell(int stage, std::uint32_t m) const {
    return static_cast<std::size_t>(stage) * pipeline_.micro_batches + m;
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
    const ComputeAction action{kind, StageId{static_cast<std::uint16_t>(stage)}, MicroBatchId{m}};
    if (!ready(action)) return false;
    const std::uint32_t index = emit_without_transfer(action);
    if (kind == ActionKind::kForward) {
      if (stage + 1 == schedule_.stages()) {
        arrivals_.gradient(stage, m) = kWaitsForNothing;
      } else {
        arrivals_.activation(stage + 1, m) =
            crosses(stage, stage + 1) ? index : local(stage, stage + 1, index);
      }
    } else if (is_backward(kind) && stage > 0) {
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
  [[nodiscard]] bool is_tied(int stage) const {
    return std::any_of(options_.tied.begin(), options_.tied.end(), [&](const TiedStages& tie) {
      return std::find(tie.stages.begin(), tie.stages.end(), stage) != tie.stages.end();
    });
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
      const int producer = activation ? stage - 1 : std::min(stage + 1, schedule_.stages() - 1);
      text += fmt::format("{}{}{} on rank {} waits for stage {}; ", stage, name_of(kind), m, rank,
                          producer);
      rank = static_cast<std::size_t>(rank_of(producer));
      if (!heads[rank]) break;
    }
    throw_bad_input(fmt::format("{}: the lists cannot be carried out: {}nothing can run",
                                schedule_.name, text));
  }

  const Schedule& schedule_;
  const LoweringOptions& options_;
  Program& program_;
  const Pipeline pipeline_;
  Arrivals arrivals_;
  std::vector<std::uint32_t> backwards_left_;  // per stage
  std::vector<std::uint32_t> last_of_stage_, reduction_of_stage_, last_of_rank_;
  std::vector<std::size_t> forward_at_, backward_at_;  // by cell(); DeepSpeed's order only
};

// Registers ranks, stages and micro-batches of one pipeline.
void add_pipeline(const PipelineInput& input, Program& program) {
  const Schedule& schedule = input.schedule;
  Pipeline pipeline;
  pipeline.first_rank = program.ranks();
  pipeline.ranks = schedule.ranks;
  pipeline.first_stage = static_cast<int>(program.stages.size());
  pipeline.stages = schedule.stages();
  pipeline.first_micro_batch = static_cast<std::uint32_t>(program.micro_batches.size());
  pipeline.micro_batches = static_cast<std::uint32_t>(input.micro_batches.size());
  pipeline.replicas = input.replicas;
  for (int s = 0; s < pipeline.stages; ++s) {
    const auto id = [&](int stage) {
      const bool exists = stage >= 0 && stage < pipeline.stages;
      return exists ? StageId{static_cast<std::uint16_t>(pipeline.first_stage + stage)} : kNoStage;
    };
    Stage stage;
    stage.rank = RankId{pipeline.first_rank + schedule.rank_of_stage[static_cast<std::size_t>(s)]};
    stage.previous = id(s - 1);
    stage.next = id(s + 1);
    stage.weight_set = s;
    stage.pipeline = static_cast<int>(program.pipelines.size());
    program.stages.push_back(stage);
  }
  program.micro_batches.insert(program.micro_batches.end(), input.micro_batches.begin(),
                               input.micro_batches.end());
  program.pipelines.push_back(pipeline);
}

// What ends the step, after all pipelines: tied reductions last among the reductions (they wait for
// the slowest stage and would hold up the others), then norm, optimizer, gather.
class StepTail {
 public:
  StepTail(const std::vector<PipelineInput>& inputs, const LoweringOptions& options,
           const std::vector<PipelineLowering>& lowered, Program& program)
      : inputs_(inputs), options_(options), lowered_(lowered), program_(program) {
    for (const PipelineLowering& pipeline : lowered) {
      for (int s = 0; s < stages(); ++s) reduction_.push_back(pipeline.reduction_of_stage(s));
    }
  }

  void emit() {
    reduce_tied();
    if (options_.optimizer == OptimizerGate::kGlobalBarrier) norm();
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int s = 0; s < stages(); ++s) optimizer(p, s);
    }
    if (options_.unshard) {
      for (std::size_t p = 0; p < inputs_.size(); ++p) {
        for (int s = 0; s < stages(); ++s) unshard(p, s);
      }
    }
  }

 private:
  void reduce_tied() {
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (const TiedStages& tie : options_.tied) {
        const GroupId group = add_group(GroupKind::kTiedWeights, "tied." + tie.name,
                                        static_cast<std::uint32_t>(tie.stages.size()));
        for (const int s : tie.stages) {
          reduction_[at(p, s)] = static_cast<std::uint32_t>(program_.actions.size());
          push(ActionKind::kTiedReduce, p, s, lowered_[p].last_of_stage(s), group);
        }
      }
    }
    if (!options_.reduce_gradients) return;
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (const int s : tied_stages()) {
        reduction_[at(p, s)] = static_cast<std::uint32_t>(program_.actions.size());
        push(ActionKind::kReduceGradient, p, s, lowered_[p].last_of_stage(s),
             GroupId{static_cast<std::uint32_t>(s)});
      }
    }
  }

  void norm() {
    const GroupId job =
        add_group(GroupKind::kJob, "job", static_cast<std::uint32_t>(program_.ranks()));
    norm_of_rank_.clear();
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int r = 0; r < program_.pipelines[p].ranks; ++r) {
        norm_of_rank_.push_back(static_cast<std::uint32_t>(program_.actions.size()));
        push(ActionKind::kNorm, p, r, lowered_[p].last_of_rank(r), job);  // stage r: rank r's first
      }
    }
  }

  void optimizer(std::size_t p, int stage) {
    const RankId rank = program_.stages[global(p, stage).value].rank;
    std::uint32_t waits = lowered_[p].last_of_stage(stage);
    if (options_.optimizer == OptimizerGate::kGlobalBarrier) {
      waits = norm_of_rank_[static_cast<std::size_t>(rank.value)];
    } else if (const auto reduced = reduction_[at(p, stage)]; reduced != kWaitsForNothing) {
      waits = reduced;
    }
    push(ActionKind::kOptimizer, p, stage, waits, kNoGroup);
    optimizer_of_stage_.push_back(static_cast<std::uint32_t>(program_.actions.size() - 1));
  }

  void unshard(std::size_t p, int stage) {
    push(ActionKind::kUnshard, p, stage, optimizer_of_stage_[at(p, stage)],
         GroupId{static_cast<std::uint32_t>(stage)});
  }

  [[nodiscard]] std::vector<int> tied_stages() const {
    std::vector<int> stages;
    for (const TiedStages& tie : options_.tied) {
      stages.insert(stages.end(), tie.stages.begin(), tie.stages.end());
    }
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    return stages;
  }

  GroupId add_group(GroupKind kind, std::string name, std::uint32_t members) {
    program_.groups.push_back({kind, std::move(name), members});
    return GroupId{static_cast<std::uint32_t>(program_.groups.size() - 1)};
  }
  void push(ActionKind kind, std::size_t p, int stage, std::uint32_t waits_for, GroupId group) {
    program_.actions.push_back({kNoMicroBatch, waits_for, group, global(p, stage), kind});
  }
  [[nodiscard]] StageId global(std::size_t p, int stage) const {
    return StageId{static_cast<std::uint16_t>(program_.pipelines[p].first_stage + stage)};
  }
  [[nodiscard]] int stages() const { return inputs_[0].schedule.stages(); }
  [[nodiscard]] std::size_t at(std::size_t p, int stage) const {
    return p * static_cast<std::size_t>(stages()) + static_cast<std::size_t>(stage);
  }

  const std::vector<PipelineInput>& inputs_;
  const LoweringOptions& options_;
  const std::vector<PipelineLowering>& lowered_;
  Program& program_;
  std::vector<std::uint32_t> norm_of_rank_;
  std::vector<std::uint32_t> reduction_;  // last one, by (pipeline, stage)
  std::vector<std::uint32_t> optimizer_of_stage_;
};

std::size_t expected_actions(const std::vector<PipelineInput>& pipelines,
                             const LoweringOptions& options) {
  std::size_t count = 0;
  for (const PipelineInput& input : pipelines) {
    const auto stages = static_cast<std::size_t>(input.schedule.stages());
    const std::size_t per_stage = input.micro_batches.size();
    count += input.schedule.actions.size() + 4 * stages;
    if (options.transfers && input.schedule.ranks > 1) count += 4 * (stages - 1) * per_stage;
    if (options.recompute) count += stages * per_stage;
  }
  return count;
}

}  // namespace

Program lower(const std::vector<PipelineInput>& pipelines, const LoweringOptions& options) {
  const int stages = pipelines.at(0).schedule.stages();
  if (pipelines.size() * static_cast<std::size_t>(stages) >= kNoStage.value) {
    throw_bad_input(fmt::format(
        "{}: {} distinct pipelines of {} stages; at most {} stages are supported in all",
        pipelines[0].schedule.name, pipelines.size(), stages, kNoStage.value - 1));
  }
  Program program;
  program.schedule = pipelines.at(0).schedule.name;
  program.actions.reserve(expected_actions(pipelines, options));
  if (options.step_actions && (options.reduce_gradients || options.unshard)) {
    for (int s = 0; s < stages; ++s) {
      program.groups.push_back({GroupKind::kDataParallel, fmt::format("dp.stage{}", s),
                                static_cast<std::uint32_t>(pipelines.size())});
    }
  }
  std::vector<PipelineLowering> lowered;
  lowered.reserve(pipelines.size());
  for (const PipelineInput& input : pipelines) {
    add_pipeline(input, program);
    lowered.emplace_back(input, options, program);
    lowered.back().run();
  }
  if (options.step_actions) StepTail(pipelines, options, lowered, program).emit();
  return program;
}

}  // namespace penstock
