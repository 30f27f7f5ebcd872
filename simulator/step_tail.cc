// The order is the one in which every rank issues: reductions of tied weights and of copies last
// among the reductions, because they wait for the slowest stage, then the norm over all ranks where
// there is a barrier, the updates, and the gathers of ZeRO-1. Each action waits for one other: an
// update for its rank's norm, or for its stage's last reduction. Groups of copies go in an order
// that all ranks share, so that collectives cannot cross.
#include "simulator/step_tail.h"

#include <algorithm>
#include <string>
#include <utility>

namespace penstock {
namespace {

// What ends the step, after all pipelines: tied reductions last among the reductions (they wait for
// the slowest stage and would hold up the others), then norm, optimizer, gather.
class StepTail {
 public:
  StepTail(const std::vector<PipelineInput>& inputs, const LoweringOptions& options,
           const std::vector<PipelineEnds>& ends, Program& program)
      : inputs_(inputs), options_(options), ends_(ends), program_(program) {
    for (const PipelineEnds& pipeline : ends) {
      reduction_.insert(reduction_.end(), pipeline.reduction_of_stage.begin(),
                        pipeline.reduction_of_stage.end());
    }
  }

  void emit() {
    reduce_tied();
    if (options_.offload) store_all();
    if (options_.optimizer == OptimizerGate::kGlobalBarrier) norm();
    update_all();
    if (options_.offload) load_all();
    if (options_.optimizer == OptimizerGate::kRolledBack) {
      norm();
      update_all();  // takes the first one back
      update_all();
    }
    if (options_.unshard) {
      for (std::size_t p = 0; p < inputs_.size(); ++p) {
        for (const int s : by_weight_set()) unshard(p, s);
      }
    }
    if (options_.offload) sort_waits(program_.more_waits);
  }

 private:
  void reduce_tied() {
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (const TiedStages& tie : options_.tied) {
        const GroupId group = add_group(GroupKind::kTiedWeights, tied_group_name(tie.name),
                                        static_cast<std::uint32_t>(tie.stages.size()));
        for (const int s : tie.stages) {
          reduction_[at(p, s)] = static_cast<std::uint32_t>(program_.actions.size());
          push(ActionKind::kTiedReduce, p, s, last_of_stage(p, s), group);
        }
      }
    }
    if (!options_.reduce_gradients) return;
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (const int s : copies() > 1 ? by_weight_set() : tied_stages()) {
        reduction_[at(p, s)] = static_cast<std::uint32_t>(program_.actions.size());
        push(ActionKind::kReduceGradient, p, s, last_of_stage(p, s), data_group(s));
      }
    }
  }

  // The host updates: gradients go there as soon as they are complete, beside the norm.
  void store_all() {
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int s = 0; s < stages(); ++s) {
        store_of_stage_.push_back(next());
        push(ActionKind::kStore, p, s, last_of_stage(p, s), kNoGroup);
        also_wait(reduction_[at(p, s)]);
      }
    }
  }
  void load_all() {
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int s = 0; s < stages(); ++s) {
        load_of_stage_.push_back(next());
        push(ActionKind::kLoad, p, s, store_of_stage_[at(p, s)], kNoGroup);
        also_wait(optimizer_of_stage_[at(p, s)]);
      }
    }
  }
  [[nodiscard]] std::uint32_t next() const {
    return static_cast<std::uint32_t>(program_.actions.size());
  }
  // What the last action needs besides.
  void also_wait(std::uint32_t needs) {
    const std::uint32_t first = program_.actions.back().waits_for;
    if (needs != kWaitsForNothing && needs != first) {
      program_.more_waits.push_back({next() - 1, needs});
    }
  }

  void update_all() {
    optimizer_of_stage_.clear();
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int s = 0; s < stages(); ++s) optimizer(p, s);
    }
  }

  void norm() {
    const GroupId job =
        add_group(GroupKind::kJob, "job", static_cast<std::uint32_t>(program_.ranks()));
    norm_of_rank_.clear();
    for (std::size_t p = 0; p < inputs_.size(); ++p) {
      for (int r = 0; r < program_.pipelines[p].ranks; ++r) {
        norm_of_rank_.push_back(static_cast<std::uint32_t>(program_.actions.size()));
        push(ActionKind::kNorm, p, r, ends_[p].last_of_rank[static_cast<std::size_t>(r)],
             job);  // stage r: rank r's first
      }
    }
  }

  void optimizer(std::size_t p, int stage) {
    const RankId rank = program_.stages[global(p, stage).value].rank;
    std::uint32_t waits = last_of_stage(p, stage);
    if (!norm_of_rank_.empty()) {
      waits = norm_of_rank_[static_cast<std::size_t>(rank.value)];
    } else if (const auto reduced = reduction_[at(p, stage)]; reduced != kWaitsForNothing) {
      waits = reduced;
    }
    if (options_.offload && norm_of_rank_.empty() && reduction_[at(p, stage)] == kWaitsForNothing) {
      waits = store_of_stage_[at(p, stage)];
    }
    push(ActionKind::kOptimizer, p, stage, waits, kNoGroup);
    if (options_.offload) also_wait(store_of_stage_[at(p, stage)]);
    optimizer_of_stage_.push_back(static_cast<std::uint32_t>(program_.actions.size() - 1));
  }

  void unshard(std::size_t p, int stage) {
    push(ActionKind::kUnshard, p, stage, optimizer_of_stage_[at(p, stage)], data_group(stage));
    if (!options_.offload) return;
    also_wait(load_of_stage_[at(p, stage)]);
    also_wait(store_of_stage_[at(p, stage)]);
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

  // All stages, the copies of one after each other: an order that all ranks share.
  [[nodiscard]] std::vector<int> by_weight_set() const {
    std::vector<int> order;
    const int sets = stages() / copies();
    for (int set = 0; set < sets; ++set) {
      for (int copy = 0; copy < copies(); ++copy) order.push_back(copy * sets + set);
    }
    return order;
  }
  // The first groups of the Program, one per weight set; see lower().
  [[nodiscard]] GroupId data_group(int stage) const {
    return GroupId{static_cast<std::uint32_t>(stage % (stages() / copies()))};
  }

  [[nodiscard]] std::uint32_t last_of_stage(std::size_t p, int stage) const {
    return ends_[p].last_of_stage[static_cast<std::size_t>(stage)];
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
  [[nodiscard]] int copies() const { return inputs_[0].schedule.copies; }
  [[nodiscard]] std::size_t at(std::size_t p, int stage) const {
    return p * static_cast<std::size_t>(stages()) + static_cast<std::size_t>(stage);
  }

  const std::vector<PipelineInput>& inputs_;
  const LoweringOptions& options_;
  const std::vector<PipelineEnds>& ends_;
  Program& program_;
  std::vector<std::uint32_t> norm_of_rank_;
  std::vector<std::uint32_t> reduction_;  // last one, by (pipeline, stage)
  std::vector<std::uint32_t> optimizer_of_stage_, store_of_stage_, load_of_stage_;
};

}  // namespace

bool reduces_at_end(const Schedule& schedule, const LoweringOptions& options, int stage) {
  if (schedule.copies > 1) return true;
  return std::any_of(options.tied.begin(), options.tied.end(), [&](const TiedStages& tie) {
    return std::find(tie.stages.begin(), tie.stages.end(), stage) != tie.stages.end();
  });
}

void emit_step_tail(const std::vector<PipelineInput>& inputs, const LoweringOptions& options,
                    const std::vector<PipelineEnds>& ends, Program& program) {
  StepTail(inputs, options, ends, program).emit();
}

}  // namespace penstock
