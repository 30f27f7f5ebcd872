// Every action becomes a slice on a lane of its rank by its kind; an arrow goes from each send to
// the first action that waits for its receive. Slices of one lane that overlap in time go to
// tracks, the first that is free. Memory is a sum over time of what F takes and I, B and W let go,
// with what is freed at a moment taken off before what starts then.
#include "report/traces/step_trace.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/values/durations.h"
#include "report/job_rank.h"

namespace penstock {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Span {
  Duration start{}, end{};
};

TraceLane lane_of(ActionKind kind) {
  switch (rule_of(kind).lane) {
    case Lane::kCompute:
      return TraceLane::kCompute;
    case Lane::kWire:
      return TraceLane::kSends;
    case Lane::kCopyIn:
      return TraceLane::kLoads;
    case Lane::kCopyOut:
      return TraceLane::kStores;
    default:
      return TraceLane::kCollectives;
  }
}

// A rank of the job that is to be shown, and when each action of its list ran.
struct ShownRank {
  int rank = 0;
  int pipeline = 0, pipeline_rank = 0;
  int chain = 0;  // ranks with the same pipeline and chain are one replica
  int replicas = 1;
  std::vector<Span> spans;
  std::vector<MeasuredSection> sections;
};

class TraceBuilder {
 public:
  explicit TraceBuilder(const PlanFile& plan)
      : plan_(plan),
        program_(plan.program),
        receive_of_(consumers(false)),
        user_of_(consumers(true)) {
    lists_.resize(static_cast<std::size_t>(program_.ranks()));
    place_.reserve(program_.actions.size());
    for (std::size_t i = 0; i < program_.actions.size(); ++i) {
      std::vector<std::size_t>& list =
          lists_[static_cast<std::size_t>(program_.rank_of(program_.actions[i]).value)];
      place_.push_back(list.size());
      list.push_back(i);
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& list(int pipeline, int pipeline_rank) const {
    const Pipeline& owner = program_.pipelines[static_cast<std::size_t>(pipeline)];
    return lists_[static_cast<std::size_t>(owner.first_rank) +
                  static_cast<std::size_t>(pipeline_rank)];
  }

  void add(const std::vector<ShownRank>& shown, bool with_memory, StepTrace& trace) {
    for (const ShownRank& rank : shown) rank_of_[key(rank, rank.pipeline_rank)] = rank.rank;
    for (const ShownRank& rank : shown) {
      trace.ranks.push_back(shown_rank(rank));
      if (with_memory) add_memory(rank, trace.ranks.back());
    }
    for (std::size_t r = 0; r < shown.size(); ++r)
      position_of_[key(shown[r], shown[r].pipeline_rank)] = r;
    for (std::size_t r = 0; r < shown.size(); ++r) add_flows(shown[r], r, trace);
  }

 private:
  using Key = std::pair<int, std::pair<int, int>>;  // pipeline, chain, rank of the pipeline
  static Key key(const ShownRank& rank, int pipeline_rank) {
    return {rank.pipeline, {rank.chain, pipeline_rank}};
  }

  // Of every action the first that waits for it: receives wait for sends, compute for receives.
  [[nodiscard]] std::vector<std::size_t> consumers(bool compute) const {
    std::vector<std::size_t> first(program_.actions.size(), kNone);
    for (std::uint32_t i = 0; i < program_.actions.size(); ++i) {
      const ActionKind kind = program_.actions[i].kind;
      if (!(compute ? is_compute(kind) : is_receive(kind))) continue;
      for_each_wait(program_, i, [&](std::uint32_t needed) {
        if (first[needed] == kNone) first[needed] = i;
      });
    }
    return first;
  }

  [[nodiscard]] const Pipeline& pipeline_of(const Action& action) const {
    return program_
        .pipelines[static_cast<std::size_t>(program_.stages[action.stage.value].pipeline)];
  }
  [[nodiscard]] int local_stage(const Action& action) const {
    return action.stage.value - pipeline_of(action).first_stage;
  }
  // The rank, within its pipeline, of the stage that takes what this send carries.
  [[nodiscard]] int receiver(const Action& send) const {
    const StageId other = other_end(program_.stages[send.stage.value], send.kind);
    return program_.stages[other.value].rank.value - pipeline_of(send).first_rank;
  }

  [[nodiscard]] Bytes bytes_of(const Action& action) const {
    return payload_of(plan_.prices, action.kind, priced_place(program_, action));
  }

  [[nodiscard]] TraceSlice slice(const ShownRank& rank, std::size_t index, Span span) const {
    const Action& action = program_.actions[index];
    TraceSlice slice;
    slice.action = static_cast<std::uint32_t>(index);
    slice.name = name_of(program_, local(action));
    slice.kind = action.kind;
    slice.lane = lane_of(action.kind);
    slice.stage = local_stage(action);
    if (action.micro_batch != kNoMicroBatch) {
      slice.micro_batch =
          std::int64_t{action.micro_batch.value} - pipeline_of(action).first_micro_batch;
    }
    slice.start = span.start;
    slice.end = span.end;
    slice.bytes = bytes_of(action);
    if (is_send(action.kind)) {
      const auto peer = rank_of_.find(key(rank, receiver(action)));
      if (peer != rank_of_.end()) slice.peer = peer->second;
    }
    if (action.group != kNoGroup) {
      slice.members = members_of(program_.groups[action.group.value]);
    }
    return slice;
  }

  // What sections gather and reduce by themselves is no action of the Program, and beside compute.
  [[nodiscard]] TraceSlice slice(const MeasuredSection& section) const {
    TraceSlice slice;
    const auto index = static_cast<std::size_t>(section.section);
    slice.name = std::string(name_of(section.kind)) + ' ' +
                 (index < plan_.section_names.size() ? plan_.section_names[index]
                                                     : std::to_string(section.section));
    slice.kind = section.kind;
    slice.lane = lane_of(section.kind);
    slice.start = section.start;
    slice.end = section.end;
    slice.members = plan_.plan.shards();
    return slice;
  }

  // A group of the Program counts every distinct pipeline once.
  [[nodiscard]] int members_of(const Group& group) const {
    switch (group.kind) {
      case GroupKind::kDataParallel:
        return plan_.plan.weight_copies();
      case GroupKind::kJob:
        return plan_.plan.devices();
      default:
        return static_cast<int>(group.members);
    }
  }

  // Its name is that of the first pipeline: trainers count the stages of each from 0.
  [[nodiscard]] Action local(Action action) const {
    const Pipeline& pipeline = pipeline_of(action);
    const Pipeline& first = program_.pipelines.front();
    action.stage.value =
        static_cast<std::uint16_t>(action.stage.value - pipeline.first_stage + first.first_stage);
    if (action.micro_batch != kNoMicroBatch) {
      action.micro_batch.value += first.first_micro_batch - pipeline.first_micro_batch;
    }
    return action;
  }

  [[nodiscard]] std::size_t listed_rank(const ShownRank& shown) const {
    const Plan& plan = plan_.plan;
    const auto kind = static_cast<std::size_t>(plan.has_unequal_replicas() ? shown.pipeline : 0);
    return kind * static_cast<std::size_t>(plan.pipeline) +
           static_cast<std::size_t>(shown.pipeline_rank);
  }

  TraceRank shown_rank(const ShownRank& shown) {
    TraceRank rank;
    rank.rank = shown.rank;
    rank.pipeline_rank = shown.pipeline_rank;
    rank.replicas = shown.replicas;
    rank.stages = plan_.plan.stages_of_rank(shown.pipeline_rank);
    const auto listed = static_cast<int>(listed_rank(shown));
    rank.device = plan_.plan.device_of_rank(listed);
    rank.capacity = device_of_rank(plan_, listed).memory;
    rank.listed = listed_rank(shown);
    std::vector<std::size_t>& slice_of = slice_of_[shown.rank];
    const std::vector<std::size_t>& actions = list(shown.pipeline, shown.pipeline_rank);
    slice_of.assign(actions.size(), kNone);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = program_.actions[actions[i]];
      const Span span = shown.spans[i];
      if (is_receive(action.kind) || span.end <= span.start) continue;
      if (i > 0 && program_.actions[actions[i - 1]].overlaps_next && slice_of[i - 1] != kNone &&
          rank.slices.back().start == span.start && rank.slices.back().end == span.end) {
        std::string& name = rank.slices.back().name;
        name.insert(0, 1, '(');
        name += ';';
        name += name_of(program_, local(action));
        name += ")OVERLAP_F_B";
      } else {
        rank.slices.push_back(slice(shown, actions[i], span));
      }
      slice_of[i] = rank.slices.size() - 1;
    }
    for (const MeasuredSection& section : shown.sections) {
      if (section.end > section.start) rank.slices.push_back(slice(section));
    }
    set_tracks(rank.slices);
    return rank;
  }

  // Slices of a lane go to the first of its tracks that is free.
  static void set_tracks(std::vector<TraceSlice>& slices) {
    std::vector<TraceSlice*> ordered;
    ordered.reserve(slices.size());
    for (TraceSlice& slice : slices) ordered.push_back(&slice);
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const TraceSlice* a, const TraceSlice* b) { return a->start < b->start; });
    std::map<TraceLane, std::vector<Duration>> ends;
    for (TraceSlice* slice : ordered) {
      std::vector<Duration>& tracks = ends[slice->lane];
      const auto free = std::find_if(tracks.begin(), tracks.end(),
                                     [slice](Duration end) { return end <= slice->start; });
      slice->track = static_cast<int>(free - tracks.begin());
      if (free == tracks.end()) {
        tracks.push_back(slice->end);
      } else {
        *free = slice->end;
      }
    }
  }

  // F takes its stash when it starts; what I, B and W no longer need goes when they end.
  void add_memory(const ShownRank& shown, TraceRank& rank) const {
    std::vector<std::pair<Duration, std::int64_t>> changes;
    const std::vector<std::size_t>& actions = list(shown.pipeline, shown.pipeline_rank);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = program_.actions[actions[i]];
      if (action.micro_batch == kNoMicroBatch) continue;
      const Holds& holds = rule_of(action.kind).holds;
      if (holds.stash == 0 && holds.weight_stash == 0) continue;
      const Bytes change = stash_change(plan_.prices, action.kind, priced_place(program_, action));
      const Span span = shown.spans[i];
      changes.emplace_back(holds.stash > 0 ? span.start : span.end, change.count);
    }
    // What is given back at a moment is free for what starts then.
    std::sort(changes.begin(), changes.end());
    const std::size_t place = listed_rank(shown);
    Bytes kept{};
    if (place < plan_.prediction.ranks.size()) {
      const MemoryUse& use = plan_.prediction.ranks[place].memory;
      kept = use.total() - use.stash;
    }
    Bytes stash{};
    rank.memory.push_back({Duration{}, stash, kept});
    for (const auto& [time, change] : changes) {
      stash += Bytes{change};
      if (rank.memory.back().time != time) rank.memory.push_back({.time = time});
      rank.memory.back().stash = stash;
      rank.memory.back().total = kept + stash;
    }
  }

  void add_flows(const ShownRank& shown, std::size_t from, StepTrace& trace) const {
    const std::vector<std::size_t>& own = slice_of_.at(shown.rank);
    for (const std::size_t i : list(shown.pipeline, shown.pipeline_rank)) {
      const Action& action = program_.actions[i];
      if (!is_send(action.kind) || own[place_[i]] == kNone || receive_of_[i] == kNone) continue;
      const std::size_t user = user_of_[receive_of_[i]];
      const auto to = position_of_.find(key(shown, receiver(action)));
      if (user == kNone || to == position_of_.end()) continue;
      const std::size_t slice = slice_of_.at(trace.ranks[to->second].rank)[place_[user]];
      if (slice == kNone) continue;
      trace.flows.push_back({from, own[place_[i]], to->second, slice});
    }
  }

  const PlanFile& plan_;
  const Program& program_;
  std::vector<std::vector<std::size_t>> lists_;       // actions by rank of the Program
  std::vector<std::size_t> place_;                    // of an action in the list of its rank
  std::vector<std::size_t> receive_of_, user_of_;     // by action
  std::map<Key, int> rank_of_;                        // of the job
  std::map<Key, std::size_t> position_of_;            // in StepTrace::ranks
  std::map<int, std::vector<std::size_t>> slice_of_;  // by rank of the job, then place
};

void sort_by_rank(std::vector<ShownRank>& shown) {
  std::sort(shown.begin(), shown.end(),
            [](const ShownRank& a, const ShownRank& b) { return a.rank < b.rank; });
}

}  // namespace

const char* name_of(TraceLane lane) {
  switch (lane) {
    case TraceLane::kCompute:
      return "compute";
    case TraceLane::kSends:
      return "sends";
    case TraceLane::kCollectives:
      return "collectives";
    case TraceLane::kLoads:
      return "loads";
    case TraceLane::kStores:
      return "stores";
  }
  return "";
}

StepTrace trace_of(const PlanFile& plan, const Timeline& predicted) {
  TraceBuilder builder(plan);
  std::vector<ShownRank> shown;
  int replica = 0;
  for (std::size_t k = 0; k < plan.program.pipelines.size(); ++k) {
    const Pipeline& pipeline = plan.program.pipelines[k];
    for (int p = 0; p < pipeline.ranks; ++p) {
      ShownRank rank{.rank = job_rank(plan.plan, replica, p),
                     .pipeline = static_cast<int>(k),
                     .pipeline_rank = p,
                     .replicas = pipeline.replicas,
                     .spans = {},
                     .sections = {}};
      for (const std::size_t i : builder.list(rank.pipeline, p)) {
        rank.spans.push_back(
            {predicted.start[i].time_since_epoch(), predicted.end[i].time_since_epoch()});
      }
      shown.push_back(std::move(rank));
    }
    replica += pipeline.replicas;
  }
  sort_by_rank(shown);
  StepTrace trace{.what = "predicted", .ranks = {}, .flows = {}};
  trace.length = predicted.step_end.time_since_epoch();
  builder.add(shown, true, trace);
  return trace;
}

StepTrace trace_of(const PlanFile& plan, const MeasuredStep& step) {
  TraceBuilder builder(plan);
  std::vector<ShownRank> shown;
  for (const MeasuredRank& measured : step.ranks) {
    ShownRank rank{.rank = measured.rank,
                   .pipeline = measured.pipeline,
                   .pipeline_rank = measured.pipeline_rank,
                   .spans = {},
                   .sections = measured.sections};
    for (std::size_t i = 0; i < measured.start.size(); ++i) {
      rank.spans.push_back({measured.start[i], measured.end[i]});
    }
    shown.push_back(std::move(rank));
  }
  sort_by_rank(shown);
  // Whatever the placement, the replicas of a pipeline rank have ascending ranks.
  std::map<std::pair<int, int>, int> seen;
  for (ShownRank& rank : shown) rank.chain = seen[{rank.pipeline, rank.pipeline_rank}]++;
  StepTrace trace{.what = "measured", .step = step.step, .ranks = {}, .flows = {}};
  trace.length = step.step_time;
  builder.add(shown, false, trace);
  return trace;
}

}  // namespace penstock
