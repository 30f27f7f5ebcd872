// Walks the Program's actions once and gives each of this rank its transfers, groups and waits in
// terms of ranks of the job. A message's tag is (boundary, micro-batch, direction), so both sides
// know it without talking. Waits that follow from the order of the list are not listed; the others
// become signals. Nothing here depends on time, and every rank works out the same of all others,
// which is what lets lists be checked before launch.
#include "runtime_bridge/rank_program.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "core/values/recompute_sections.h"
#include "runtime_bridge/job_layout.h"
#include "runtime_bridge/plan_support.h"

namespace penstock {
namespace {

using List = std::vector<Action>;

// The Program's actions by its ranks.
std::vector<List> lists_of(const Program& program) {
  std::vector<List> lists(static_cast<std::size_t>(program.ranks()));
  for (const Action& action : program.actions) {
    lists[static_cast<std::size_t>(program.rank_of(action).value)].push_back(action);
  }
  return lists;
}

// Where each of the Program's actions stands in the list of its rank.
std::vector<int> positions_in_lists(const Program& program) {
  std::vector<int> next(static_cast<std::size_t>(program.ranks()), 0);
  std::vector<int> positions;
  positions.reserve(program.actions.size());
  for (const Action& action : program.actions) {
    positions.push_back(next[static_cast<std::size_t>(program.rank_of(action).value)]++);
  }
  return positions;
}

// LOAD, STORE and RESHARD are waited for, and wait, beside the order of the list.
bool is_of_slot(ActionKind kind) { return is_copy(kind) || rule_of(kind).lane == Lane::kAtOnce; }

int index_of(const std::vector<int>& values, int value) {
  return static_cast<int>(std::find(values.begin(), values.end(), value) - values.begin());
}

bool divides_optimizer(const Plan& plan) { return plan.shards() > 1; }

SectionSharding by_section(const Plan& plan) {
  if (plan.gathers_by_section()) return SectionSharding::kWeights;
  return plan.reduces_by_section() ? SectionSharding::kGradients : SectionSharding::kNone;
}

StageSetup stage_setup(const PlanFile& file, const JobLayout& layout, int rank, int s) {
  const Stage& stage = layout.stage(layout.replica_of(rank), s);
  const std::vector<int>& holders = layout.holders(stage.weight_set);
  StageSetup setup;
  setup.stage = s;
  setup.first_section = file.plan.first_section(s);
  setup.end_section = file.plan.end_section(s);
  setup.takes_input = stage.previous == kNoStage;
  setup.ends_in_loss = stage.next == kNoStage;
  setup.holders = static_cast<int>(holders.size());
  setup.holder = index_of(holders, rank);
  setup.shard_groups = layout.shard_groups();
  return setup;
}

// Works out one rank.
class RankBuilder {
 public:
  RankBuilder(const PlanFile& file, const JobLayout& layout, const List& list,
              const std::vector<int>& positions, int rank)
      : file_(file),
        layout_(layout),
        list_(list),
        positions_(positions),
        rank_(rank),
        replica_(layout.replica_of(rank)),
        pipeline_(file.program.pipelines[static_cast<std::size_t>(layout.pipeline_of(replica_))]) {}

  RankProgram build(const ModelDescription& model, const TrainingOptions& options) {
    program_.pipeline = layout_.pipeline_of(replica_);
    program_.rule = file_.program.rule;
    program_.tokens = tokens_per_step(file_.plan);
    RankSetup& setup = program_.setup;
    setup.rank = rank_;
    setup.ranks = layout_.ranks();
    setup.replica = replica_;
    setup.replicas = file_.plan.data;
    setup.pipeline_rank = layout_.pipeline_rank_of(rank_);
    setup.model = model;
    setup.options = options;
    setup.global_batch = file_.plan.global_batch;
    setup.sequence_length = file_.plan.sequence_length;
    setup.zero1 = divides_optimizer(file_.plan);
    setup.by_section = by_section(file_.plan);
    add_micro_batches();
    add_communicators();
    add_stages();
    add_ties();
    add_actions();
    program_.host_link = file_.executor.host_link;
    if (file_.program.has_slots() || !file_.program.more_waits.empty()) add_waits();
    setup.recompute = recomputes();
    return std::move(program_);
  }

 private:
  void add_micro_batches() {
    const std::vector<MicroBatchShape> shapes = micro_batch_shapes(file_.plan);
    int first = layout_.first_sample_of(replica_);
    program_.setup.micro_batches.reserve(pipeline_.micro_batches);
    for (std::uint32_t m = 0; m < pipeline_.micro_batches; ++m) {
      const MicroBatch& planned = file_.program.micro_batches[pipeline_.first_micro_batch + m];
      const auto shape = static_cast<std::size_t>(planned.shape);
      program_.setup.micro_batches.push_back(
          {first, planned.samples, planned.sequence_length,
           shape < shapes.size() ? shapes[shape].decoder_tokens : 0});
      first += planned.samples;
    }
  }

  void add_communicators() {
    for (CommunicatorSetup& group : layout_.groups()) {
      if (std::binary_search(group.members.begin(), group.members.end(), rank_)) {
        program_.communicators.push_back(std::move(group));
      }
    }
    program_.job = communicator(JobLayout::job_name());
  }
  [[nodiscard]] int communicator(const std::string& name) const {
    for (std::size_t i = 0; i < program_.communicators.size(); ++i) {
      if (program_.communicators[i].name == name) return static_cast<int>(i);
    }
    return kNone;
  }

  void add_stages() {
    for (int s = 0; s < layout_.stages(); ++s) {
      if (layout_.rank_of_stage(replica_, s) != rank_) continue;
      program_.setup.stages.push_back(stage_setup(file_, layout_, rank_, s));
      StageGroups groups;
      const int weight_set = layout_.stage(replica_, s).weight_set;
      groups.holders = communicator(JobLayout::holders_name(weight_set));
      groups.shards = groups.holders;
      if (layout_.shard_groups() > 1) {
        const StageSetup& own = program_.setup.stages.back();
        groups.shards = communicator(JobLayout::shards_name(weight_set, own.shard_group()));
        groups.copies = communicator(JobLayout::copies_name(weight_set, own.shard()));
      }
      groups.replicas = communicator(JobLayout::replicas_name(s));
      for (std::size_t tie = 0; tie < file_.ties.size(); ++tie) {
        const std::vector<int>& tied = file_.ties[tie].stages;
        if (std::find(tied.begin(), tied.end(), s) != tied.end()) {
          groups.ties.push_back(static_cast<int>(tie));
        }
      }
      program_.stages.push_back(std::move(groups));
    }
  }

  void add_ties() {
    for (std::size_t tie = 0; tie < file_.ties.size(); ++tie) {
      program_.setup.ties.push_back({file_.ties[tie].name, file_.ties[tie].stages});
      TieGroups groups;
      groups.communicator = communicator(layout_.tie_name(tie, replica_));
      for (const int s : file_.ties[tie].stages) {
        if (layout_.rank_of_stage(replica_, s) == rank_) groups.own_stages.push_back(s);
      }
      program_.ties.push_back(std::move(groups));
    }
  }

  void add_actions() {
    program_.actions.reserve(list_.size());
    for (const Action& listed : list_) {
      RankAction action;
      action.kind = listed.kind;
      action.stage = listed.stage.value - pipeline_.first_stage;
      if (has_micro_batch(listed.kind)) {
        action.micro_batch =
            static_cast<int>(listed.micro_batch.value - pipeline_.first_micro_batch);
      }
      if (is_send(listed.kind) || is_receive(listed.kind)) {
        complete_transfer(listed, action);
      } else if (rule_of(listed.kind).collective.group == GroupOf::kTie) {
        action.tie = tie_of(listed);
      } else if (is_of_micro_batch(listed.kind)) {
        complete_compute(listed, action);
      }
      program_.actions.push_back(action);
    }
    require_sends();
  }

  [[nodiscard]] int previous(int s) const { return neighbour(layout_.stage(replica_, s).previous); }
  [[nodiscard]] int next(int s) const { return neighbour(layout_.stage(replica_, s).next); }
  [[nodiscard]] int neighbour(StageId stage) const {
    return stage == kNoStage ? kNone : stage.value - pipeline_.first_stage;
  }
  [[nodiscard]] bool is_here(int s) const { return layout_.rank_of_stage(replica_, s) == rank_; }

  // A tag says which boundary of which micro-batch goes which way: the stage that sends.
  void complete_transfer(const Action& listed, RankAction& action) {
    const bool gradient = rule_of(action.kind).transfer.gradient;
    const int other = neighbour(other_end(layout_.stage(replica_, action.stage), action.kind));
    if (other == kNone || is_here(other)) {
      throw_bad_input(name_of(file_.program, listed) +
                      " has no stage on another rank at its other end; `penstock check` says what "
                      "is wrong");
    }
    action.peer = layout_.rank_of_stage(replica_, other);
    const int sender = is_send(action.kind) ? action.stage : other;
    const auto boundary = static_cast<MessageTag>(sender) * pipeline_.micro_batches +
                          static_cast<MessageTag>(action.micro_batch);
    action.tag = 2 * boundary + (gradient ? 1 : 0);
    const auto position = static_cast<int>(program_.actions.size());
    if (is_send(action.kind)) {
      ++sends_;
    } else {
      received_[{gradient, action.stage, action.micro_batch}] = position;
    }
  }

  void complete_compute(const Action& listed, RankAction& action) {
    if (action.kind == ActionKind::kWeightGradient) return;
    const bool forward = action.kind == ActionKind::kForward;
    const int from = forward ? previous(action.stage) : next(action.stage);
    const int to = forward ? next(action.stage) : previous(action.stage);
    if (from != kNone && !is_here(from)) {
      const auto found = received_.find({!forward, action.stage, action.micro_batch});
      // Varuna's runtime recomputes whether the gradient is there or not.
      if (found != received_.end()) {
        action.needs = found->second;
      } else if (action.kind != ActionKind::kRecompute) {
        throw_bad_input("no receive brings " + name_of(file_.program, listed) +
                        " what it needs; run a plan whose Program holds the transfers");
      }
    }
    if (to == kNone || action.kind == ActionKind::kRecompute) return;
    action.hands_on = is_here(to);
    if (!action.hands_on) ++crossings_;
  }

  void require_sends() const {
    if (sends_ == crossings_) return;
    throw_bad_input("rank " + std::to_string(rank_) + " makes " + std::to_string(crossings_) +
                    " boundary tensors for other ranks and sends " + std::to_string(sends_) +
                    "; `penstock check` says what is wrong");
  }

  void add_waits() {
    const Program& program = file_.program;
    const int own = pipeline_.first_rank + program_.setup.pipeline_rank;
    const auto is_own = [&](std::uint32_t index) {
      return program.rank_of(program.actions[index]).value == own;
    };
    for (std::uint32_t i = 0; i < program.actions.size(); ++i) {
      if (!is_own(i)) continue;
      const std::uint32_t first = program.actions[i].waits_for;
      const bool counts =
          first != kWaitsForNothing && is_own(first) &&
          (is_of_slot(program.actions[i].kind) || is_of_slot(program.actions[first].kind));
      if (counts) program_.waits.push_back({positions_[i], positions_[first]});
      for (const Wait& wait : program.more_waits_of(i)) {
        if (is_own(wait.needs)) program_.waits.push_back({positions_[i], positions_[wait.needs]});
      }
    }
    for (std::size_t k = 0; k < program.more_waits.size(); ++k) add_signal(k, is_own);
  }

  // Tags beyond those of the boundaries.
  template <class IsOwn>
  void add_signal(std::size_t k, const IsOwn& is_own) {
    const Wait& wait = file_.program.more_waits[k];
    if (is_own(wait.action) == is_own(wait.needs)) return;
    const auto rank_of = [&](std::uint32_t index) {
      return layout_.rank_of_stage(
          replica_, file_.program.actions[index].stage.value - pipeline_.first_stage);
    };
    RankSignal signal;
    signal.sends = is_own(wait.needs);
    signal.action = positions_[signal.sends ? wait.needs : wait.action];
    signal.peer = rank_of(signal.sends ? wait.action : wait.needs);
    signal.tag = static_cast<MessageTag>(2 * layout_.stages()) * pipeline_.micro_batches + k;
    program_.signals.push_back(signal);
  }

  [[nodiscard]] int tie_of(const Action& listed) const {
    const std::string& group = file_.program.groups[listed.group.value].name;
    for (std::size_t tie = 0; tie < file_.ties.size(); ++tie) {
      if (tied_group_name(file_.ties[tie].name) == group) return static_cast<int>(tie);
    }
    throw_bad_input(name_of(file_.program, listed) + " is of group '" + group +
                    "', which is none of the plan's ties; `penstock check` says what is wrong");
  }

  // A rank recomputes every micro-batch of all of its stages, or none.
  [[nodiscard]] bool recomputes() const {
    const auto count = [this](ActionKind kind) {
      return std::count_if(list_.begin(), list_.end(),
                           [kind](const Action& action) { return action.kind == kind; });
    };
    const auto recomputed = count(ActionKind::kRecompute);
    if (recomputed != 0 && recomputed != count(ActionKind::kForward)) {
      throw_bad_input("rank " + std::to_string(rank_) + " recomputes " +
                      std::to_string(recomputed) + " of " +
                      std::to_string(count(ActionKind::kForward)) +
                      " forwards; training recomputes all forwards of a rank, or none");
    }
    return recomputed > 0;
  }

  const PlanFile& file_;
  const JobLayout& layout_;
  const List& list_;
  const std::vector<int>& positions_;  // by action of the Program, in the list of its rank
  int rank_, replica_;
  const Pipeline& pipeline_;
  RankProgram program_;
  std::map<std::tuple<bool, int, int>, int> received_;  // (gradient, stage, micro-batch)
  int sends_ = 0, crossings_ = 0;
};

// What all ranks of a job have in common.
class JobBuilder {
 public:
  JobBuilder(const PlanFile& file, const ModelDescription& model, const TrainingOptions& options)
      : file_(file),
        model_(model),
        options_(options),
        layout_(file),
        lists_(lists_of(file.program)),
        positions_(positions_in_lists(file.program)) {
    require_supported(file, model, options);
    for (const List& list : lists_) {
      require_order(file, list);
      longest_ = std::max(longest_, list.size());
    }
  }

  [[nodiscard]] int ranks() const { return layout_.ranks(); }
  [[nodiscard]] RankProgram build(int rank) const {
    const int replica = layout_.replica_of(rank);
    const auto pipeline = static_cast<std::size_t>(layout_.pipeline_of(replica));
    const int listed =
        file_.program.pipelines[pipeline].first_rank + layout_.pipeline_rank_of(rank);
    RankBuilder builder(file_, layout_, lists_[static_cast<std::size_t>(listed)], positions_, rank);
    RankProgram program = builder.build(model_, options_);
    program.longest_list = longest_;
    return program;
  }

 private:
  const PlanFile& file_;
  const ModelDescription& model_;
  const TrainingOptions& options_;
  JobLayout layout_;
  std::vector<List> lists_;
  std::vector<int> positions_;
  std::size_t longest_ = 0;
};

}  // namespace

std::span<const RankWait> RankProgram::waits_of(int action) const {
  const auto [first, last] =
      std::equal_range(waits.begin(), waits.end(), RankWait{action, 0},
                       [](const RankWait& a, const RankWait& b) { return a.action < b.action; });
  return {first, last};
}

bool RankProgram::signalled(int action) const {
  return std::any_of(signals.begin(), signals.end(), [action](const RankSignal& signal) {
    return !signal.sends && signal.action == action;
  });
}

const ModelDescription& model_of(const PlanFile& file) {
  if (!file.description) {
    throw_bad_input("the plan does not say how to build model '" + file.model +
                    "', because the profile it was made from does not (an estimate from a "
                    "config.json never does)\nhelp: measure the model with penstock profile and "
                    "plan with that profile; another trainer takes the plan as it is: penstock "
                    "export plan.json --to megatron -o job");
  }
  return *file.description;
}

namespace {

void refuse_divided_recompute(const Plan& plan) {
  if (!recompute_is_divided(plan)) return;
  throw_bad_input("/plan/recompute_sections: the plan recomputes " + recompute_in_words(plan) +
                  ", and training recomputes in all sections or in none; plan again with --for "
                  "penstock");
}

}  // namespace

RankProgram rank_program(const PlanFile& file, const ModelDescription& model,
                         const TrainingOptions& options, int rank) {
  refuse_divided_recompute(file.plan);
  const JobBuilder job(file, model, options);
  if (rank < 0 || rank >= job.ranks()) {
    throw_bad_input("rank " + std::to_string(rank) + ": the plan is for " +
                    std::to_string(job.ranks()) + " ranks");
  }
  return job.build(rank);
}

std::vector<RankSetup> rank_holdings(const PlanFile& file) {
  const JobLayout layout(file);
  std::vector<RankSetup> ranks(static_cast<std::size_t>(layout.ranks()));
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    RankSetup& setup = ranks[static_cast<std::size_t>(rank)];
    setup.rank = rank;
    setup.ranks = layout.ranks();
    setup.replica = layout.replica_of(rank);
    setup.zero1 = divides_optimizer(file.plan);
    setup.by_section = by_section(file.plan);
    for (const PlanTie& tie : file.ties) setup.ties.push_back({tie.name, tie.stages});
    for (int s = 0; s < layout.stages(); ++s) {
      if (layout.rank_of_stage(setup.replica, s) == rank) {
        setup.stages.push_back(stage_setup(file, layout, rank, s));
      }
    }
  }
  return ranks;
}

Bytes predicted_state(const PlanFile& file, const RankSetup& setup) {
  Bytes state, buffers;
  for (const StageSetup& stage : setup.stages) {
    const StepPrice& step = file.prices.step[static_cast<std::size_t>(stage.stage)];
    state += step.parameters + step.gradients + step.optimizer_state;
    buffers = std::max(buffers, step.section_buffers);
  }
  return state + buffers;
}

std::vector<RankProgram> rank_programs(const PlanFile& file, const ModelDescription& model,
                                       const TrainingOptions& options) {
  refuse_divided_recompute(file.plan);
  const JobBuilder job(file, model, options);
  std::vector<RankProgram> programs;
  programs.reserve(static_cast<std::size_t>(job.ranks()));
  for (int rank = 0; rank < job.ranks(); ++rank) programs.push_back(job.build(rank));
  return programs;
}

}  // namespace penstock
