// Durations come from core/values/durations.h, by kind, stage and shape, multiplied by the stretch;
// what is done here is naming: messages go by their tags and collectives by the names of their
// groups. Since a rank runs the members of an OVERLAP one after the other, the backward of a pair
// takes what the pair takes beyond its forward, so that the sum is right.
#include "runtime_bridge/virtual_prices.h"

#include <algorithm>

#include "core/values/durations.h"
#include "runtime_bridge/job_layout.h"

namespace penstock {
namespace {

const MicroBatch& micro_batch_of(const PlanFile& file, int pipeline, int m) {
  const Pipeline& of = file.program.pipelines[static_cast<std::size_t>(pipeline)];
  return file.program.micro_batches[of.first_micro_batch + static_cast<std::uint32_t>(m)];
}

// Calls visit(kind) for every kind with a price in that table.
template <class Visit>
void for_each_priced(PriceTableOf table, const Visit& visit) {
  for (int k = 0; k < kActionKinds; ++k) {
    const auto kind = static_cast<ActionKind>(k);
    if (rule_of(kind).price.table == table) visit(kind);
  }
}

bool has_norm(const PlanFile& file) {
  return std::any_of(file.program.actions.begin(), file.program.actions.end(),
                     [](const Action& action) { return action.kind == ActionKind::kNorm; });
}

// The backward of an OVERLAP takes what the pair takes beyond its forward.
void shorten_overlaps(const PlanFile& file, int pipeline, std::int64_t stretch,
                      VirtualDurations& durations) {
  const Program& program = file.program;
  const Pipeline& of = program.pipelines[static_cast<std::size_t>(pipeline)];
  std::map<RankId, const Action*> open;  // a forward whose backward comes next on the rank
  for (const Action& action : program.actions) {
    const Stage& stage = program.stages[action.stage.value];
    if (stage.pipeline != pipeline) continue;
    const int s = action.stage.value - of.first_stage;
    const auto m = static_cast<int>(action.micro_batch.value - of.first_micro_batch);
    if (const auto found = open.find(stage.rank); found != open.end()) {
      const Action& first = *found->second;
      const int first_stage = first.stage.value - of.first_stage;
      const auto first_m = static_cast<int>(first.micro_batch.value - of.first_micro_batch);
      const Duration f = durations.of(ActionKind::kForward, first_stage, first_m);
      const Duration b = durations.of(action.kind, s, m);
      const int shape = program.micro_batches[first.micro_batch.value].shape;
      const Duration gain = gain_of_overlap(file.prices, {first_stage, shape}) * stretch;
      durations.set(action.kind, s, m, overlapped(f, b, gain) - f);
      open.erase(found);
    }
    if (action.overlaps_next) open[stage.rank] = &action;
  }
}

}  // namespace

std::shared_ptr<const VirtualDurations> virtual_durations(const PlanFile& file, int pipeline,
                                                          std::int64_t stretch) {
  const Pipeline& of = file.program.pipelines[static_cast<std::size_t>(pipeline)];
  const auto micro_batches = static_cast<int>(of.micro_batches);
  auto durations = std::make_shared<VirtualDurations>(of.stages, micro_batches);
  const auto duration = [&](ActionKind kind, PricedPlace place) {
    return duration_of(file.prices, file.executor, kind, place) * stretch;
  };
  for (int s = 0; s < of.stages; ++s) {
    for (int m = 0; m < micro_batches; ++m) {
      const PricedPlace place{s, micro_batch_of(file, pipeline, m).shape, of.copies};
      for_each_priced(PriceTableOf::kMicroBatch,
                      [&](ActionKind kind) { durations->set(kind, s, m, duration(kind, place)); });
    }
    for_each_priced(PriceTableOf::kStage,
                    [&](ActionKind kind) { durations->set(kind, s, duration(kind, {s})); });
  }
  // Of several ranks the all-reduce takes it (PlanDelays); a rank alone has none.
  if (has_norm(file) && file.plan.pipeline * file.plan.data == 1) {
    durations->set_norm(duration(ActionKind::kNorm, {}));
  }
  shorten_overlaps(file, pipeline, stretch, *durations);
  return durations;
}

PlanDelays::PlanDelays(const PlanFile& file, std::int64_t stretch) : stretch_(stretch) {
  const auto programs = rank_programs(file, ModelDescription{}, {});
  messages_.resize(programs.size());
  for (const RankProgram& program : programs) add_messages(file, program);
  add_collectives(file);
}

// A byte that says that something has ended takes no time.
void PlanDelays::add_messages(const PlanFile& file, const RankProgram& program) {
  for (const RankAction& action : program.actions) {
    if (!is_send(action.kind)) continue;
    const int shape = micro_batch_of(file, program.pipeline, action.micro_batch).shape;
    messages_[static_cast<std::size_t>(program.setup.rank)][action.tag] =
        duration_of(file.prices, file.executor, action.kind, {action.stage, shape}) * stretch_;
  }
  for (const RankSignal& signal : program.signals) {
    if (signal.sends) messages_[static_cast<std::size_t>(program.setup.rank)][signal.tag] = {};
  }
}

void PlanDelays::add_collectives(const PlanFile& file) {
  const auto set = [this](const std::string& group, GroupCall call, Duration price) {
    collectives_[{group, call}] = price * stretch_;
  };
  const auto duration = [&file](ActionKind kind, PricedPlace place) {
    return duration_of(file.prices, file.executor, kind, place);
  };
  if (has_norm(file)) {
    set(JobLayout::job_name(), GroupCall::kAllReduce, duration(ActionKind::kNorm, {}));
  }
  for (int s = 0; s < file.plan.stages(); ++s) {
    const PricedPlace place{s, 0, file.plan.copies()};
    const std::string group =
        JobLayout::holders_name(file.program.stages[static_cast<std::size_t>(s)].weight_set);
    for_each_priced(PriceTableOf::kAllCopies, [&](ActionKind kind) {
      if (rule_of(kind).collective.gathers) {
        return set(group, GroupCall::kAllGather, duration(kind, place));
      }
      set(group, GroupCall::kAllReduce, duration(kind, place));
      set(group, GroupCall::kReduceScatter, duration(kind, place));
    });
  }
  const JobLayout layout(file);
  for (std::size_t tie = 0; tie < file.ties.size(); ++tie) {
    const Duration tied =
        duration_of_tie(file.prices, file.executor, tied_group_name(file.ties[tie].name));
    for (int replica = 0; replica < file.plan.data; ++replica) {
      set(layout.tie_name(tie, replica), GroupCall::kAllReduce, tied);
    }
  }
}

Duration PlanDelays::of_message(int from, int /*to*/, MessageTag tag, std::size_t /*bytes*/) const {
  return messages_[static_cast<std::size_t>(from)].at(tag);
}

Duration PlanDelays::of_collective(const std::string& group, GroupCall call,
                                   std::size_t /*bytes*/) const {
  const auto found = collectives_.find({group, call});
  return found == collectives_.end() ? Duration{0} : found->second;
}

}  // namespace penstock
