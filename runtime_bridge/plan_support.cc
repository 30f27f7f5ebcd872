// Refuses with a reason what a rank could not do: kinds of action that have no counterpart at run
// time, waits for anything but the end of compute, lists whose order would use tensors before they
// are there. It asks before any process is started, and what it lets through the executor need not
// check again.
#include "runtime_bridge/plan_support.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/values/action_rules.h"
#include "core/values/error.h"
#include "core/values/sharding.h"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw_bad_input("this plan cannot be run: " + what + "; " + remedy);
}

// A rank is told of the end of what another one computes, and of nothing else.
void require_waits(const Program& program) {
  for (const Wait& wait : program.more_waits) {
    const Action &action = program.actions[wait.action], &needed = program.actions[wait.needs];
    if (program.rank_of(action) == program.rank_of(needed) || is_compute(needed.kind)) continue;
    refuse(name_of(program, action) + " waits for " + name_of(program, needed) +
               " of another rank, which is no compute",
           "let it wait for the compute before or behind that action");
  }
}

void require_kinds(const Program& program, bool gathers, bool offloads) {
  for (const Action& action : program.actions) {
    const Stage& stage = program.stages[action.stage.value];
    const bool in_slots =
        program.pipelines[static_cast<std::size_t>(stage.pipeline)].weight_slots > 0;
    if (action.kind == ActionKind::kUnshard && in_slots) {
      refuse(name_of(program, action) + " gathers a stage that lives in a slot",
             "plan without --zero1");
    }
    const bool moves_weights = is_copy(action.kind) || action.kind == ActionKind::kReshard;
    const bool updates_there = is_copy(action.kind) && offloads;
    if ((moves_weights && !in_slots && !updates_there) ||
        (action.kind == ActionKind::kUnshard && !gathers)) {
      refuse(name_of(program, action) + " is not supported",
             "weights are gathered behind their update, where the plan shards anything, and kept "
             "until the next one");
    }
  }
}

void require_micro_batches(const Program& program) {
  const bool sliced = std::any_of(program.micro_batches.begin(), program.micro_batches.end(),
                                  [](const MicroBatch& m) { return m.slice != 0; });
  if (sliced) {
    refuse("it cuts sequences into slices (" + program.schedule + ")",
           "choose a schedule that does not, such as 1f1b");
  }
}

void require_norm(const PlanFile& file, const ModelDescription& model,
                  const TrainingOptions& options) {
  const auto norms = std::count_if(file.program.actions.begin(), file.program.actions.end(),
                                   [](const Action& a) { return a.kind == ActionKind::kNorm; });
  if (norms == file.program.ranks()) return;
  if (norms > 0) {
    refuse("only " + std::to_string(norms) + " of " + std::to_string(file.program.ranks()) +
               " ranks have a NORM",
           "`penstock check` says what is wrong");
  }
  const std::string remedy = "plan for an executor whose optimizer waits for a global barrier";
  if (options.clip_norm > 0) {
    refuse("gradients are to be clipped, and its Program has no NORM", remedy);
  }
  if (model.precision == Precision::kFloat16) {
    refuse("float16 needs a NORM to notice an overflow, and its Program has none", remedy);
  }
}

// What has happened to the stages of a rank so far.
class Order {
 public:
  explicit Order(const PlanFile& file) : file_(file), program_(file.program) {}

  void see(const Action& action) {
    const Stage& stage = program_.stages[action.stage.value];
    if (!known(stage.rank)) add_stages(stage.rank);
    OfStage& own = stages_.at(action.stage);
    const ActionRule& rule = rule_of(action.kind);
    if (rule.lane == Lane::kCollective) {
      see_collective(action, rule.collective, own);
    } else if (rule.updates) {
      expect_reduced(action, own);
      expect(action, own.updates > 0, "is one more than its stage needs");
      --own.updates;
    } else if (completes_gradient(action.kind)) {
      expect(action, !norm_, "comes after the NORM of its rank");
      --own.backwards;
    }
  }

  void end() const {
    for (const auto& entry : stages_) {
      const OfStage& own = entry.second;
      const std::string name = "stage " + std::to_string(entry.first.value);
      if (own.backwards > 0) refuse(name + " lacks backwards", kCheck);
      if (own.ties > 0) refuse(name + " lacks a TIED_REDUCE", kCheck);
      if (own.reductions > 0) refuse(name + " lacks its REDUCE_GRAD", kCheck);
      if (own.updates > 0) refuse(name + " lacks its OPT", kCheck);
      if (own.gathers > 0) refuse(name + " lacks its UNSHARD", kCheck);
    }
  }

 private:
  // What is still to come.
  struct OfStage {
    int backwards = 0, ties = 0, reductions = 0, updates = 0, gathers = 0;
  };
  static constexpr const char* kCheck = "`penstock check` says what is wrong";

  void see_collective(const Action& action, const CollectiveRule& rule, OfStage& own) {
    if (rule.group == GroupOf::kJob) {
      expect(action, !norm_, "is the rank's second");
      for (const auto& entry : stages_) expect_reduced(action, entry.second);
      norm_ = true;
    } else if (rule.gathers) {
      expect(action, own.updates == 0, "comes before the OPT of its stage");
      expect(action, own.gathers == 1, "is one more than its stage needs");
      --own.gathers;
    } else {
      expect(action, own.backwards == 0, "comes before the last backward of its stage");
      const bool of_tie = rule.group == GroupOf::kTie;
      if (of_tie) {
        expect(action, own.ties > 0, "is one more than its stage has tied weights");
      } else {
        expect(action, own.ties == 0, "comes before the TIED_REDUCE of its stage");
        expect(action, own.reductions == 1, "is one more than its stage needs");
      }
      --(of_tie ? own.ties : own.reductions);
    }
  }

  [[nodiscard]] bool known(RankId rank) const {
    return !stages_.empty() && program_.stages[stages_.begin()->first.value].rank == rank;
  }

  void add_stages(RankId rank) {
    const Plan& plan = file_.plan;
    const bool shared = plan.weight_copies() > 1;
    for (std::size_t i = 0; i < program_.stages.size(); ++i) {
      if (program_.stages[i].rank != rank) continue;
      const Pipeline& pipeline =
          program_.pipelines[static_cast<std::size_t>(program_.stages[i].pipeline)];
      OfStage own;
      own.updates = file_.executor.optimizer == OptimizerGate::kRolledBack ? 3 : 1;
      own.backwards = static_cast<int>(pipeline.micro_batches) / pipeline.copies;
      own.reductions = shared && !plan.reduces_by_section() ? 1 : 0;
      own.gathers = shared && plan.zero1 && !plan.gathers_by_section() ? 1 : 0;
      const int s = static_cast<int>(i) - pipeline.first_stage;
      for (const PlanTie& tie : file_.ties) {
        own.ties += static_cast<int>(std::count(tie.stages.begin(), tie.stages.end(), s));
      }
      stages_[StageId{static_cast<std::uint16_t>(i)}] = own;
    }
  }

  void expect_reduced(const Action& action, const OfStage& own) const {
    expect(action, own.backwards == 0, "comes before the last backward");
    expect(action, own.ties == 0, "comes before a TIED_REDUCE");
    expect(action, own.reductions == 0, "comes before a REDUCE_GRAD");
  }

  void expect(const Action& action, bool holds, const std::string& otherwise) const {
    if (!holds) refuse(name_of(program_, action) + " " + otherwise, kCheck);
  }

  const PlanFile& file_;
  const Program& program_;
  std::map<StageId, OfStage> stages_;
  bool norm_ = false;
};

}  // namespace

void require_supported(const PlanFile& file, const ModelDescription& model,
                       const TrainingOptions& options) {
  if (file.plan.tensor != 1) {
    refuse("it divides tensors over " + std::to_string(file.plan.tensor) + " devices",
           "plan it with --for penstock");
  }
  if (const std::string why = why_no_sharding(file.plan); !why.empty()) {
    refuse(why, "plan with --sharding zero1");
  }
  if (file.plan.reduces_by_section() && file.program.has_slots()) {
    refuse("its stages live in slots, and their sections are sharded one by one",
           "plan with --zero1 off");
  }
  if (file.plan.reduces_by_section() && !file.ties.empty()) {
    refuse("its sections reduce their gradients by themselves, and '" + file.ties.front().name +
               "' lies on several stages",
           "plan one stage, or --sharding zero1");
  }
  if (file.plan.context > 1) {
    refuse("it divides sequences over " + std::to_string(file.plan.context) + " devices",
           "plan without context parallelism");
  }
  if (file.plan.expert > 1) {
    refuse("it divides experts over " + std::to_string(file.plan.expert) + " devices",
           "plan without expert parallelism");
  }
  require_kinds(file.program, file.plan.zero1, file.plan.offload_optimizer);
  require_waits(file.program);
  require_micro_batches(file.program);
  require_norm(file, model, options);
}

void require_tensors(const PlanFile& file, bool of_documents) {
  if (file.program.has_slots() &&
      (file.program.schedule != "spilled" || file.plan.devices() != 1)) {
    refuse(
        "its stages live in slots, and LibTorch ranks carry out lists that plan --spill "
        "makes them, on one device",
        "penstock train --virtual carries out its times");
  }
  if (file.plan.offload_optimizer && file.plan.reduces_by_section()) {
    refuse(
        "its optimizer runs on the host, and LibTorch ranks reduce the gradients of each section "
        "into a shard of the device",
        "plan with --sharding zero1");
  }
  if (file.executor.optimizer == OptimizerGate::kRolledBack) {
    refuse(
        "its updates are taken back and done again, as in a step whose check of the norm fails, "
        "and LibTorch ranks keep no weights to go back to",
        "penstock train --virtual carries out its times; to train, plan with --optimizer barrier");
  }
  if (of_documents) return;
  for (const MicroBatchShape& shape : file.plan.batch.shapes) {
    if (shape.tokens == file.plan.sequence_length && shape.decoder_tokens == 0) continue;
    refuse("its samples differ in length (" + std::to_string(shape.tokens) + " and " +
               std::to_string(file.plan.sequence_length) + " tokens)",
           "give --documents and --tokens-per-batch, so that every step is planned for its own "
           "samples; penstock train --virtual carries out the times of this one");
  }
}

void require_order(const PlanFile& file, const std::vector<Action>& list) {
  Order order(file);
  for (const Action& action : list) order.see(action);
  order.end();
}

}  // namespace penstock
