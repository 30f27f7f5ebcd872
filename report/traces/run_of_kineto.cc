// Joins traces of several ranks into a run of one plan: ranges are named after actions, which says
// where in the pipeline a rank stands; clocks of different hosts are put right by what must be
// true, namely that a stage starts no forward before the stage before it has ended that forward,
// and likewise backwards. A shift stays within what those bounds allow. Where both bounds are
// broken no clock can help, and the trace is refused with the reason.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/files/program_blocks.h"
#include "core/values/error.h"
#include "report/traces/read_kineto.h"
#include "report/words.h"

namespace penstock {
namespace {

// A compute action of a pipeline, as a trace names it.
using ActionKey = std::tuple<ActionKind, int, std::int64_t>;  // kind, stage, micro-batch
struct Span {
  std::int64_t start = 0, end = 0;
};
using StepTimes = std::map<ActionKey, Span>;

// One rank's trace, laid on the plan.
struct RankTrace {
  const KinetoTrace* trace = nullptr;
  int pipeline = 0, pipeline_rank = 0;
  std::vector<StepTimes> steps;  // as KinetoTrace::steps
  std::int64_t clock = 0;        // what is added to its times
};

// GPipe and 1F1B of PyTorch name no stage: "Forward 3". They have one stage per rank.
std::optional<ListedAction> single_stage(const std::string& name, int rank) {
  const bool forward = name.starts_with("Forward ");
  if (!forward && !name.starts_with("Backward ")) return {};
  const std::string number = name.substr(name.find(' ') + 1);
  const char* kind = forward ? "F" : "B";
  return action_named(fmt::format("{}{}{}", rank, kind, number));
}

class RunBuilder {
 public:
  RunBuilder(const PlanFile& plan, const std::vector<KinetoTrace>& traces)
      : plan_(plan), program_(plan.program), traces_(traces) {
    lists_.resize(static_cast<std::size_t>(program_.ranks()));
    for (std::size_t i = 0; i < program_.actions.size(); ++i) {
      lists_[static_cast<std::size_t>(program_.rank_of(program_.actions[i]).value)].push_back(i);
    }
  }

  KinetoRun build(const std::string& plan_path) {
    for (const KinetoTrace& trace : traces_) place(trace);
    require_one_trace_per_rank();
    align_clocks();
    write_header(plan_path);
    for (const std::int64_t number : common_steps()) add_step(number);
    tell_differences();
    return std::move(run_);
  }

 private:
  [[noreturn]] static void fail(const KinetoTrace& trace, const std::string& what) {
    throw_bad_input(trace.file + ": " + what + "\nhelp: name the plan that this run executed");
  }

  // What the name says, and by it where the rank stands; nothing for ranges of other things.
  static std::optional<ListedAction> named(const std::string& name, int pipeline_rank) {
    if (name.starts_with("PP:")) return action_named(std::string_view(name).substr(3));
    return single_stage(name, pipeline_rank);
  }

  void place(const KinetoTrace& trace) {
    RankTrace rank{.trace = &trace, .steps = {}};
    rank.pipeline_rank = pipeline_rank_of(trace);
    rank.steps.resize(trace.steps.size());
    for (const KinetoRange& range : trace.actions) {
      const std::optional<ListedAction> action = named(range.name, rank.pipeline_rank);
      if (!action || range.step < 0) continue;
      StepTimes& step = rank.steps[static_cast<std::size_t>(range.step)];
      add(*action, range, trace, step);
    }
    rank.pipeline = pipeline_of(trace, rank);
    ranks_.push_back(std::move(rank));
  }

  static void add(const ListedAction& listed, const KinetoRange& range, const KinetoTrace& trace,
                  StepTimes& step) {
    const auto add_one = [&](const ListedAction& one) {
      const bool is_new = step.try_emplace(ActionKey{one.kind, one.stage, one.micro_batch},
                                           Span{range.start, range.end})
                              .second;
      if (!is_new) {
        throw_bad_input(fmt::format(
            "{}: {} occurs twice in one step\nhelp: record with torch.profiler's step(), called "
            "once per training step",
            trace.file, range.name));
      }
    };
    add_one(listed.first());
    if (listed.is_pair()) add_one(listed.second());
  }

  // The rank that holds the stages which the trace ran.
  [[nodiscard]] int pipeline_rank_of(const KinetoTrace& trace) const {
    std::optional<int> found;
    for (const KinetoRange& range : trace.actions) {
      if (!range.name.starts_with("PP:")) continue;
      const auto action = action_named(std::string_view(range.name).substr(3));
      if (!action) continue;
      const int stage = action->stage;
      if (stage >= plan_.plan.stages()) {
        fail(trace, fmt::format("it ran stage {}, but the plan has {}", stage,
                                count_of(plan_.plan.stages(), "stage")));
      }
      const int rank = plan_.plan.rank_of(stage);
      if (found && *found != rank) {
        fail(trace,
             fmt::format("it ran stages of ranks {} and {} of the plan's pipeline", *found, rank));
      }
      found = rank;
    }
    if (found) return *found;
    const int place = trace.rank / plan_.plan.devices_per_rank();
    return plan_.plan.placement == Placement::kPipelineInner
               ? place % plan_.plan.pipeline
               : place / plan_.plan.data % plan_.plan.pipeline;
  }

  // Pipelines differ in their micro-batches.
  [[nodiscard]] int pipeline_of(const KinetoTrace& trace, const RankTrace& rank) const {
    std::int64_t most = 0;
    for (const StepTimes& step : rank.steps) {
      for (const auto& [key, span] : step) {
        const ActionKind kind = std::get<0>(key);
        if (has_micro_batch(kind)) most = std::max(most, std::get<2>(key) + 1);
      }
    }
    std::vector<std::string> sizes;
    for (std::size_t k = 0; k < program_.pipelines.size(); ++k) {
      if (most == program_.pipelines[k].micro_batches) return static_cast<int>(k);
      sizes.push_back(fmt::format("{}", program_.pipelines[k].micro_batches));
    }
    fail(trace, fmt::format("it ran {} micro-batches in a step, but the plan has {}", most,
                            joined(sizes, " or ")));
  }

  void require_one_trace_per_rank() {
    std::sort(ranks_.begin(), ranks_.end(),
              [](const RankTrace& a, const RankTrace& b) { return a.trace->rank < b.trace->rank; });
    for (std::size_t i = 1; i < ranks_.size(); ++i) {
      if (ranks_[i].trace->rank != ranks_[i - 1].trace->rank) continue;
      throw_bad_input(fmt::format("{} and {} are both of rank {}\nhelp: keep the traces of one run",
                                  ranks_[i - 1].trace->file, ranks_[i].trace->file,
                                  ranks_[i].trace->rank));
    }
  }

  // How far the clock of `later` may be put forward: what stage s + 1 starts, stage s has ended.
  struct Room {
    std::int64_t least = 0, most = 0;
    bool known = false;
  };
  [[nodiscard]] Room room_between(const RankTrace& earlier, const RankTrace& later,
                                  int stage) const {
    Room room{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    for (std::size_t s = 0; s < std::min(earlier.steps.size(), later.steps.size()); ++s) {
      for (const auto& [key, here] : earlier.steps[s]) {
        const auto& [kind, own_stage, micro_batch] = key;
        if (own_stage != stage) continue;
        const auto there = neighbour(later.steps[s], kind, stage + 1, micro_batch);
        if (!there) continue;
        room.known = true;
        if (kind == ActionKind::kForward) {
          room.least = std::max(room.least, here.end - there->start);
        } else {
          room.most = std::min(room.most, here.start - there->end);
        }
      }
    }
    return room;
  }
  static std::optional<Span> neighbour(const StepTimes& step, ActionKind kind, int stage,
                                       std::int64_t micro_batch) {
    if (kind == ActionKind::kForward) return find(step, {kind, stage, micro_batch});
    if (!is_backward(kind)) return {};
    const auto split = find(step, {ActionKind::kInputGradient, stage, micro_batch});
    return split ? split : find(step, {ActionKind::kFusedBackward, stage, micro_batch});
  }
  static std::optional<Span> find(const StepTimes& step, const ActionKey& key) {
    const auto at = step.find(key);
    return at == step.end() ? std::nullopt : std::optional(at->second);
  }

  // Along the stages of each replica the first of whose ranks gives the time.
  void align_clocks() {
    std::map<std::pair<int, int>, std::vector<RankTrace*>> holders;  // replicas in ascending ranks
    for (RankTrace& rank : ranks_) holders[{rank.pipeline, rank.pipeline_rank}].push_back(&rank);
    std::set<const RankTrace*> set;
    for (int stage = 0; stage + 1 < plan_.plan.stages(); ++stage) {
      if (!plan_.plan.has_next(stage)) continue;
      for (std::size_t k = 0; k < program_.pipelines.size(); ++k) {
        const auto from = holders.find({static_cast<int>(k), plan_.plan.rank_of(stage)});
        const auto to = holders.find({static_cast<int>(k), plan_.plan.rank_of(stage + 1)});
        if (from == holders.end() || to == holders.end() || from == to) continue;
        for (std::size_t i = 0; i < std::min(from->second.size(), to->second.size()); ++i) {
          RankTrace& rank = *to->second[i];
          set.insert(from->second[i]);
          if (!set.insert(&rank).second) continue;
          align(*from->second[i], rank, stage);
        }
      }
    }
  }

  void align(const RankTrace& earlier, RankTrace& later, int stage) {
    const Room room = room_between(earlier, later, stage);
    if (!room.known) return;
    // Both bounds broken: no clock can help.
    const std::int64_t shift =
        room.least > room.most ? 0 : std::clamp<std::int64_t>(0, room.least, room.most);
    later.clock = earlier.clock + shift;
    if (std::abs(later.clock) > kLongestDuration.count()) {
      throw_bad_input(
          fmt::format("{}: its times are {} s off those of {}\nhelp: keep the traces of "
                      "one run",
                      later.trace->file, later.clock / 1'000'000'000, earlier.trace->file));
    }
    if (shift == 0) return;
    run_.notes.push_back(
        fmt::format("the clock of rank {} was {} by {}, since {} cannot start before what it needs",
                    later.trace->rank, shift > 0 ? "put forward" : "set back",
                    to_text(Duration{shift > 0 ? shift : -shift}),
                    fmt::format("stage {}", shift > 0 ? stage + 1 : stage)));
  }

  void write_header(const std::string& plan_path) {
    const KinetoTrace& first = *ranks_.front().trace;
    RunHeader& header = run_.log.header;
    header.model = plan_.model;
    header.plan = plan_path;
    header.transport = first.backend.empty() ? "unknown" : first.backend;
    header.device = first.device.empty() ? "cpu" : first.device;
    header.library = "PyTorch (traces of its profiler)";
    header.precision = "unknown";
    header.ranks = std::max(plan_.plan.devices(), ranks_.back().trace->rank + 1);
  }

  [[nodiscard]] std::vector<std::int64_t> common_steps() {
    std::map<std::int64_t, std::size_t> holders;
    for (const RankTrace& rank : ranks_) {
      std::set<std::int64_t> own;
      for (std::size_t s = 0; s < rank.steps.size(); ++s) {
        if (!rank.steps[s].empty()) own.insert(rank.trace->steps[s].number);
      }
      for (const std::int64_t number : own) ++holders[number];
    }
    std::vector<std::int64_t> common;
    for (const auto& [number, count] : holders) {
      if (count == ranks_.size()) common.push_back(number);
    }
    if (common.empty()) {
      throw_bad_input(ranks_.front().trace->file +
                      ": no step of it is in the traces of all other ranks\n"
                      "help: keep the traces of one run, recorded over the same steps");
    }
    if (common.size() < holders.size()) {
      run_.notes.push_back(
          fmt::format("{} of {} are not in the traces of all ranks and were left out",
                      holders.size() - common.size(), count_of(std::ssize(holders), "step")));
    }
    return common;
  }

  static std::size_t position(const RankTrace& rank, std::int64_t number) {
    std::size_t at = 0;
    for (std::size_t s = 0; s < rank.steps.size(); ++s) {
      if (rank.trace->steps[s].number == number && !rank.steps[s].empty()) at = s;
    }
    return at;
  }

  void add_step(std::int64_t number) {
    std::int64_t zero = std::numeric_limits<std::int64_t>::max(),
                 last = std::numeric_limits<std::int64_t>::min();
    std::int64_t whole = 0;
    for (const RankTrace& rank : ranks_) {
      const std::size_t at = position(rank, number);
      for (const auto& [key, span] : rank.steps[at]) {
        zero = std::min(zero, span.start + rank.clock);
        last = std::max(last, span.end + rank.clock);
      }
      const KinetoStep& step = rank.trace->steps[at];
      if (rank.trace->has_step_ranges) whole = std::max(whole, step.end - step.start);
    }
    if (last - zero > kLongestDuration.count() || whole > kLongestDuration.count()) {
      throw_bad_input(
          fmt::format("{}: the times of step {} lie {} s apart over the ranks\nhelp: keep the "
                      "traces of one run",
                      ranks_.front().trace->file, number, (last - zero) / 1'000'000'000));
    }
    MeasuredStep step;
    step.step = number;
    step.step_time = Duration{whole > 0 ? whole : last - zero};
    step.tokens = tokens_per_step(plan_.plan);
    for (const RankTrace& rank : ranks_) add_rank(rank, number, zero, step);
    run_.log.steps.push_back(std::move(step));
  }

  void add_rank(const RankTrace& rank, std::int64_t number, std::int64_t zero, MeasuredStep& step) {
    const Pipeline& pipeline = program_.pipelines[static_cast<std::size_t>(rank.pipeline)];
    StepTimes left = rank.steps[position(rank, number)];
    MeasuredRank measured;
    measured.rank = rank.trace->rank;
    measured.pipeline = rank.pipeline;
    measured.pipeline_rank = rank.pipeline_rank;
    Duration compute{};
    for (const std::size_t i : lists_[static_cast<std::size_t>(pipeline.first_rank) +
                                      static_cast<std::size_t>(rank.pipeline_rank)]) {
      const Action& action = program_.actions[i];
      Duration start = kNotMeasured, end = kNotMeasured;
      const auto at = left.find(key_of(action, pipeline));
      if (at != left.end()) {
        start = Duration{at->second.start + rank.clock - zero};
        end = Duration{at->second.end + rank.clock - zero};
        if (is_compute(action.kind)) compute += end - start;
        left.erase(at);
      } else if (action.kind == ActionKind::kRecompute) {
        lacks_recomputes_ = true;
      } else if (is_looked_for(action.kind)) {
        if (missing_++ == 0) first_missing_ = name_of(program_, action);
      }
      measured.start.push_back(start);
      measured.end.push_back(end);
    }
    for (const auto& [key, span] : left) {
      if (!is_looked_for(std::get<0>(key))) continue;
      if (extra_++ > 0) continue;
      first_extra_ =
          fmt::format("{}{}{}", std::get<1>(key), name_of(std::get<0>(key)), std::get<2>(key));
    }
    step.phases.compute = std::max(step.phases.compute, compute);
    step.ranks.push_back(std::move(measured));
  }

  // Others carry no name in every version of PyTorch, and recomputes run inside the backward.
  static bool is_looked_for(ActionKind kind) {
    return is_compute(kind) && kind != ActionKind::kRecompute && kind != ActionKind::kOptimizer;
  }

  static ActionKey key_of(const Action& action, const Pipeline& pipeline) {
    const std::int64_t micro_batch =
        action.micro_batch == kNoMicroBatch
            ? std::int64_t{kNoMicroBatch.value}
            : std::int64_t{action.micro_batch.value} - pipeline.first_micro_batch;
    return {action.kind, action.stage.value - pipeline.first_stage, micro_batch};
  }

  void tell_differences() {
    if (lacks_recomputes_) {
      run_.notes.emplace_back(
          "PyTorch recomputes inside the backward: measured backwards hold the recompute, "
          "predicted ones do not");
    }
    if (missing_ > 0) {
      run_.notes.push_back(fmt::format("not in the traces: {} of the plan, {} first",
                                       count_of(missing_, "action"), first_missing_));
    }
    if (extra_ > 0) {
      run_.notes.push_back(fmt::format("not in the plan: {} of the traces, {} first",
                                       count_of(extra_, "action"), first_extra_));
    }
  }

  const PlanFile& plan_;
  const Program& program_;
  const std::vector<KinetoTrace>& traces_;
  std::vector<std::vector<std::size_t>> lists_;
  std::vector<RankTrace> ranks_;  // ascending rank of the job
  std::int64_t missing_ = 0, extra_ = 0;
  bool lacks_recomputes_ = false;
  std::string first_missing_, first_extra_;
  KinetoRun run_;
};

}  // namespace

KinetoRun run_of_kineto(const PlanFile& plan, const std::string& plan_path,
                        const std::vector<KinetoTrace>& traces) {
  if (traces.empty()) throw_bad_input(plan_path + ": no traces to lay on it");
  return RunBuilder(plan, traces).build(plan_path);
}

}  // namespace penstock
