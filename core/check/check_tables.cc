// Comes first and stops the others where ids or sizes are wrong, so that they may index without
// looking: sizes of tables, plan against program (replica kinds, cuts, maps of stages), chains of
// stages, groups, and the ids of every action. Invariant: after it returns true, every id in the
// file names something that exists.
#include <algorithm>
#include <map>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

std::string expected(std::int64_t expected_value, std::int64_t found) {
  return "expected " + std::to_string(expected_value) + ", found " + std::to_string(found);
}

class TableCheck {
 public:
  TableCheck(const PlanFile& file, Findings& findings)
      : file_(file), plan_(file.plan), program_(file.program), findings_(findings) {}

  bool run() {
    if (!sizes()) return false;
    cuts();
    recompute_sections();
    sharding();
    experts();
    cluster();
    check_batch(file_, findings_);
    stages();
    ties();
    prediction();
    return actions();
  }

 private:
  void require(std::int64_t wanted, std::int64_t found, const std::string& place,
               const std::string& what) {
    if (wanted != found) findings_.add(place, what + ": " + expected(wanted, found));
  }

  // What everything else indexes with.
  bool sizes() {
    const bool positive = plan_.pipeline >= 1 && plan_.chunks >= 1 && plan_.data >= 1 &&
                          plan_.tensor >= 1 && plan_.context >= 1 && plan_.expert >= 1 &&
                          plan_.expert_tensor >= 0 && plan_.shard_group >= 0 &&
                          plan_.micro_batch_size >= 1 && plan_.global_batch >= 1;
    if (!positive) {
      findings_.add("/plan", "degrees, micro-batch size and batch must all be at least 1");
      return false;
    }
    if (plan_.stage_map != StageMap::kLoop && plan_.chunks != 2) {
      findings_.add("/plan/chunks", "the stage map needs 2 stages per rank");
      return false;
    }
    if (!check_batch_sizes(file_, findings_)) return false;
    const std::size_t before = findings_.count();
    const StagePrices& prices = file_.prices;
    const std::int64_t stages = plan_.stages(), entries = stages * prices.shapes;
    require(stages, prices.stages, "/prices", "stages with prices");
    require(stages, size(prices.step), "/prices", "stages with prices of a step");
    require(entries, size(prices.compute), "/prices", "compute prices of stages and shapes");
    require(entries, size(prices.transfer), "/prices", "transfer prices of stages and shapes");
    require(size(file_.ties), size(prices.tied_reduce), "/prices/ties", "prices of ties");
    require(plan_.listed_ranks(), size(file_.prediction.ranks), "/prediction/ranks", "ranks");
    replica_kinds();
    rank_devices();
    pipelines();
    return findings_.count() == before;
  }

  // Stage s uses the mode in its first so many sections; where that is none, nothing is to be
  // computed again.
  void recompute_sections() {
    if (plan_.recompute_sections.empty()) return;
    const std::string place = "/plan/recompute_sections";
    if (plan_.recompute == "none") findings_.add(place, "there is no recompute mode to use");
    require(plan_.stages_per_copy(), size(plan_.recompute_sections), place, "stages");
    if (size(plan_.recompute_sections) != plan_.stages_per_copy() ||
        size(plan_.cuts) != plan_.stages_per_copy() + 1) {
      return;
    }
    for (int stage = 0; stage < plan_.stages(); ++stage) {
      const auto of_copy = static_cast<std::size_t>(stage % plan_.stages_per_copy());
      const int count = plan_.recompute_sections[of_copy];
      const std::string of_stage = place + "/" + std::to_string(of_copy);
      if (count < 0 || count > plan_.end_section(stage) - plan_.first_section(stage)) {
        findings_.add(of_stage, "stage " + std::to_string(stage) + " has no " +
                                    std::to_string(count) + " sections");
      }
      for (int shape = 0; count == 0 && shape < file_.prices.shapes; ++shape) {
        if (file_.prices.compute_of(stage, shape).recompute.duration == Duration{}) continue;
        findings_.add(of_stage, "no section of stage " + std::to_string(stage) +
                                    " recomputes, but it has a price for that");
      }
    }
  }

  // The experts' grid covers the ranks of every stage (docs/cost_model.md, "Experts"): EP ETP of
  // them, neighbours, have all experts of a layer; tokens travel inside F, B and R only where they
  // do.
  void experts() {
    const std::string place = "/plan/expert";
    const std::int64_t tensor = plan_.tensor, expert = plan_.expert;
    const std::int64_t within = plan_.expert_tensor > 0 ? plan_.expert_tensor : tensor;
    const std::int64_t inner = tensor * plan_.context, of_stage = inner * plan_.data;
    const std::int64_t ranks = expert * within;
    if (within != 1 && within != tensor) {
      findings_.add("/plan/expert_tensor", "an expert lies on 1 rank or on all " +
                                               std::to_string(tensor) + " of a tensor group");
    }
    if (of_stage % ranks != 0 || ranks % tensor != 0) {
      findings_.add(place, std::to_string(ranks) + " ranks with all experts do not divide the " +
                               std::to_string(of_stage) + " of a stage into tensor groups");
    }
    const bool apart = plan_.placement == Placement::kPipelineInner && plan_.pipeline > 1;
    if (ranks != tensor && apart && inner % ranks != 0) {
      findings_.add(place, "ranks that have the experts between them lie apart");
    }
    const std::int64_t in_step = std::int64_t{plan_.data} * plan_.micro_batch_size;
    if (ranks != tensor && (!plan_.has_even_batch() || plan_.has_unequal_replicas() ||
                            plan_.is_mixed() || plan_.global_batch % in_step != 0)) {
      findings_.add(place, "its tokens meet in every layer, but replicas differ");
    }
    const auto is_part = [expert](Duration part, Duration whole) {
      return part >= Duration{} && part <= (expert > 1 ? whole : Duration{});
    };
    for (const ComputePrice& price : file_.prices.compute) {
      if (is_part(price.forward_experts, price.forward.duration) &&
          is_part(price.backward_experts, price.fused_backward.duration) &&
          is_part(price.recompute_experts, price.recompute.duration)) {
        continue;
      }
      findings_.add("/prices", expert > 1 ? "tokens travel to experts within F, B and R"
                                          : "tokens travel, but every rank has all experts");
    }
  }

  // What is sharded can be, and only sections that gather or reduce by themselves have prices and
  // buffers for that.
  void sharding() {
    const std::string place = "/plan/sharding";
    const bool beyond_state = plan_.sharding != Sharding::kState;
    const bool is_fsdp = plan_.sharding == Sharding::kFsdp;
    if (beyond_state && !plan_.zero1) findings_.add(place, "'zero1' says that nothing is sharded");
    if (beyond_state && !is_fsdp && plan_.pipeline > 1) {
      findings_.add(place, "ZeRO-2 and ZeRO-3 have no pipeline, and the plan has " +
                               std::to_string(plan_.pipeline) + " ranks");
    }
    const std::int64_t holders = std::int64_t{plan_.data} * plan_.context * plan_.copies();
    if (plan_.shard_group > 0) {
      const bool gathers = is_fsdp || plan_.sharding == Sharding::kParameters;
      if (!gathers || plan_.copies() > 1 || holders % plan_.shard_group != 0) {
        findings_.add("/plan/shard_group", "groups of " + std::to_string(plan_.shard_group) +
                                               " shards among " + std::to_string(holders) +
                                               " holders; they must divide them, of FSDP or "
                                               "ZeRO-3");
      }
    }
    const std::int64_t shards = plan_.shard_group > 0 ? plan_.shard_group : holders;
    const bool by_section = beyond_state && plan_.zero1 && plan_.pipeline == 1 && shards > 1;
    const std::int64_t in_step = std::int64_t{plan_.data} * plan_.micro_batch_size;
    if (by_section && (!plan_.has_even_batch() || plan_.has_unequal_replicas() ||
                       plan_.global_batch % in_step != 0)) {
      findings_.add(place,
                    "its reductions join all replicas in every backward, but they take "
                    "different micro-batches");
    }
    for (const StepPrice& step : file_.prices.step) {
      if (!by_section && step.section_buffers != Bytes{}) {
        findings_.add("/prices", "buffers of sections that nothing gathers or reduces");
      }
    }
    for (const ComputePrice& price : file_.prices.compute) {
      const bool within = price.forward_sharded >= Duration{} &&
                          price.forward_sharded <= price.forward.duration &&
                          price.backward_sharded >= Duration{} &&
                          price.backward_sharded <= price.fused_backward.duration;
      const bool none = price.forward_sharded == Duration{} && price.backward_sharded == Duration{};
      if (!(by_section ? within : none)) {
        findings_.add("/prices",
                      "gathers and reductions of sections must lie within F and B, and "
                      "only where sections have any");
      }
    }
  }

  // Every rank of a mixed plan is on a type that the cluster part tells of, once.
  void rank_devices() {
    const std::vector<PlanDevice>& others = file_.cluster.other_devices;
    if (!plan_.is_mixed()) {
      require(0, size(others), "/cluster/other_devices", "types beside the only one");
      return;
    }
    const std::string place = "/plan/rank_devices";
    require(plan_.listed_ranks(), size(plan_.rank_devices), place, "ranks");
    if (plan_.rank_devices.front() != plan_.device) {
      findings_.add(place, "rank 0 is on '" + plan_.rank_devices.front() + "', not on '" +
                               plan_.device + "', the plan's device");
    }
    std::map<std::string, int> told{{plan_.device, 1}}, ranks;
    for (const PlanDevice& other : others) ++told[other.name];
    for (const std::string& type : plan_.rank_devices) ++ranks[type];
    for (const auto& [type, count] : ranks) {
      require(1, told[type], "/cluster", "entries of device type '" + type + "'");
    }
    for (const auto& [type, count] : told) {
      if (!ranks.contains(type)) findings_.add(place, "no rank is on '" + type + "'");
    }
    if (ranks.size() == 1) findings_.add(place, "all ranks are on one type");
  }

  // Every kind is one pipeline of the Program, in the same order, and all of them the batch.
  void replica_kinds() {
    if (!plan_.has_unequal_replicas()) return;
    const std::string place = "/plan/replica_kinds";
    std::int64_t replicas = 0, samples = 0;
    for (const ReplicaKind& kind : plan_.replica_kinds) {
      replicas += kind.replicas;
      samples = sum_of(samples, product_of(kind.replicas, kind.samples));
    }
    require(plan_.data, replicas, place, "replicas of all kinds");
    require(plan_.global_batch, samples, place, "samples of all kinds");
    require(plan_.kinds(), size(program_.pipelines), "/program/pipelines", "kinds of replicas");
  }

  template <class Values>
  static std::int64_t size(const Values& values) {
    return static_cast<std::int64_t>(values.size());
  }

  void pipelines() {
    std::int64_t ranks = 0, stages = 0, micro_batches = 0;
    for (std::size_t p = 0; p < program_.pipelines.size(); ++p) {
      const Pipeline& pipeline = program_.pipelines[p];
      const std::string place = "/program/pipelines/" + std::to_string(p);
      require(plan_.pipeline, pipeline.ranks, place, "ranks");
      require(plan_.stages(), pipeline.stages, place, "stages");
      require(plan_.copies(), pipeline.copies, place, "copies of the weights");
      require(ranks, pipeline.first_rank, place, "first rank");
      require(stages, pipeline.first_stage, place, "first stage");
      require(micro_batches, pipeline.first_micro_batch, place, "first micro-batch");
      const auto copies = static_cast<std::uint32_t>(plan_.copies());
      if (pipeline.micro_batches < 1) findings_.add(place, "it has no micro-batch");
      if (pipeline.micro_batches % copies > 0) {
        findings_.add(place, std::to_string(pipeline.micro_batches) +
                                 " micro-batches are not shared equally by " +
                                 std::to_string(copies) + " copies of the weights");
      }
      ranks += pipeline.ranks;
      stages += pipeline.stages;
      micro_batches += pipeline.micro_batches;
    }
    if (program_.pipelines.empty()) findings_.add("/program", "there is no pipeline");
    require(stages, size(program_.stages), "/program", "entries in the stage table");
    require(micro_batches, size(program_.micro_batches), "/program",
            "entries in the micro-batch table");
    for (std::size_t s = 0; s < program_.stages.size(); ++s) {
      const int rank = program_.stages[s].rank.value, pipeline = program_.stages[s].pipeline;
      if (rank >= 0 && rank < ranks && pipeline >= 0 && pipeline < size(program_.pipelines))
        continue;
      findings_.add(stage_place(s), "its rank or its pipeline does not exist");
    }
  }

  template <class Number>
  static std::string stage_place(Number s) {
    return "stage " + std::to_string(s);
  }

  // The cuts cover every section once.
  void cuts() {
    const std::vector<int>& cuts = plan_.cuts;
    require(plan_.stages_per_copy() + 1, size(cuts), "/plan/cuts", "cuts");
    if (cuts.empty()) return;
    require(0, cuts.front(), "/plan/cuts", "the first section of stage 0");
    require(size(file_.section_names), cuts.back(), "/plan/cuts", "sections in all stages");
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      if (cuts[s] < cuts[s + 1]) continue;
      findings_.add("/plan/cuts", stage_place(s) + " has no section: from " +
                                      std::to_string(cuts[s]) + " to " +
                                      std::to_string(cuts[s + 1]));
    }
  }

  void cluster() {
    const PlanCluster& cluster = file_.cluster;
    if (cluster.device != plan_.device) {
      findings_.add("/cluster/device",
                    "'" + cluster.device + "', but the plan is for '" + plan_.device + "'");
    }
    require(plan_.stages() - 1, size(cluster.boundary_level), "/cluster/boundary_level",
            "boundaries");
    const int boundaries =
        static_cast<int>(std::min(size(cluster.boundary_level), std::int64_t{plan_.stages()} - 1));
    for (int s = 0; s < boundaries; ++s) {
      const int level = cluster.boundary_level[static_cast<std::size_t>(s)];
      if (level < size(cluster.levels) && (sends_on(s) ? level >= 0 : level == -1)) continue;
      findings_.add("/cluster/boundary_level",
                    "level " + std::to_string(level) + " does not join the ranks of the stages");
    }
  }

  // Whether anything is sent from stage s to s + 1.
  [[nodiscard]] bool sends_on(int s) const {
    const bool ends_copy = (s + 1) % plan_.stages_per_copy() == 0;
    return !ends_copy && plan_.rank_of(s) != plan_.rank_of(s + 1);
  }

  // One chain per copy of the weights, every stage on the rank of the plan's map; stage s of every
  // copy has the same weights.
  void stages() {
    const int per_copy = plan_.stages_per_copy();
    for (std::size_t p = 0; p < program_.pipelines.size(); ++p) {
      const Pipeline& pipeline = program_.pipelines[p];
      for (int i = 0; i < pipeline.stages; ++i) {
        const int s = pipeline.first_stage + i;
        const Stage& stage = program_.stages[static_cast<std::size_t>(s)];
        const std::string place = stage_place(s);
        require(static_cast<std::int64_t>(p), stage.pipeline, place, "pipeline");
        require(pipeline.first_rank + plan_.rank_of(i), stage.rank.value, place, "rank");
        const bool first = i % per_copy == 0, last = (i + 1) % per_copy == 0;
        require(first ? kNoStage.value : s - 1, stage.previous.value, place, "previous stage");
        require(last ? kNoStage.value : s + 1, stage.next.value, place, "next stage");
        require(i % per_copy, stage.weight_set, place, "weight set");
      }
    }
  }

  void ties() {
    for (std::size_t k = 0; k < file_.ties.size(); ++k) {
      const std::vector<int>& stages = file_.ties[k].stages;
      const bool ascend = std::is_sorted(stages.begin(), stages.end(), std::less_equal<>());
      const std::string place = "/ties/" + std::to_string(k);
      if (!ascend || stages.size() < 2 || stages.front() < 0 || stages.back() >= plan_.stages()) {
        findings_.add(place, "expected at least two stages, ascending");
      } else if (!same_in_all_copies(stages)) {
        findings_.add(place, "expected the same stages of every copy of the weights");
      }
    }
  }

  [[nodiscard]] bool same_in_all_copies(const std::vector<int>& stages) const {
    std::map<int, int> holders;  // by stage of a copy
    for (const int stage : stages) ++holders[stage % plan_.stages_per_copy()];
    return std::all_of(holders.begin(), holders.end(),
                       [&](const auto& each) { return each.second == plan_.copies(); });
  }

  void prediction() {
    const Evaluation& prediction = file_.prediction;
    if (prediction.step_time < prediction.step_time_low ||
        prediction.step_time > prediction.step_time_high) {
      findings_.add("/prediction", "the step time lies outside its own interval");
    }
  }

  // False when an action names something that does not exist.
  bool actions() {
    bool good = file_.prices.shapes > 0;
    for (std::size_t i = 0; i < program_.actions.size(); ++i) {
      const std::string problem = why_not(program_.actions[i], i);
      if (problem.empty()) continue;
      findings_.add("action " + std::to_string(i), problem);
      good = false;
    }
    for (const MicroBatch& micro_batch : program_.micro_batches) {
      good &= micro_batch.shape >= 0 && micro_batch.shape < file_.prices.shapes;
    }
    return good;
  }

  [[nodiscard]] std::string why_not(const Action& action, std::size_t index) const {
    if (action.stage.value >= program_.stages.size()) return "its stage does not exist";
    const Stage& stage = program_.stages[action.stage.value];
    const Pipeline& pipeline = program_.pipelines[static_cast<std::size_t>(stage.pipeline)];
    const std::uint32_t m = action.micro_batch.value;
    const bool has = action.micro_batch != kNoMicroBatch;
    if (has != has_micro_batch(action.kind))
      return "it must have a micro-batch exactly when its kind does";
    if (has && (m < pipeline.first_micro_batch ||
                m - pipeline.first_micro_batch >= pipeline.micro_batches)) {
      return "its micro-batch is not one of its pipeline";
    }
    const MicroBatchRange own = micro_batches_of(program_, action.stage);
    if (has && (m < own.begin || m >= own.end)) {
      return name_of(program_, action) + ": another copy of the weights takes this micro-batch";
    }
    if (action.overlaps_next && program_.rule != RunTimeRule::kNone) {
      return name_of(program_, action) + " overlaps, but a run-time rule moves single actions";
    }
    if (action.overlaps_next && !is_pair(action, index)) {
      return name_of(program_, action) + " overlaps no other backward of its rank";
    }
    if (action.waits_for != kWaitsForNothing && action.waits_for >= index) {
      return name_of(program_, action) + " comes before what it waits for";
    }
    for (const Wait& wait : program_.more_waits_of(static_cast<std::uint32_t>(index))) {
      if (wait.needs >= index) return name_of(program_, action) + " comes before what it waits for";
    }
    return why_not_group(action);
  }

  // OVERLAP(F;B): one action follows directly, the fused backward of another stage or micro-batch.
  [[nodiscard]] bool is_pair(const Action& forward, std::size_t index) const {
    if (forward.kind != ActionKind::kForward || index + 1 == program_.actions.size()) return false;
    const Action& backward = program_.actions[index + 1];
    return backward.kind == ActionKind::kFusedBackward && !backward.overlaps_next &&
           (backward.stage != forward.stage || backward.micro_batch != forward.micro_batch) &&
           backward.stage.value < program_.stages.size() &&
           program_.rank_of(backward) == program_.rank_of(forward);
  }

  [[nodiscard]] std::string why_not_group(const Action& action) const {
    if (!is_collective(action.kind)) {
      return action.group == kNoGroup ? "" : name_of(program_, action) + " is in a group";
    }
    if (action.group.value >= program_.groups.size()) {
      return name_of(program_, action) + " belongs to no group";
    }
    const GroupKind wanted = action.kind == ActionKind::kTiedReduce ? GroupKind::kTiedWeights
                             : action.kind == ActionKind::kNorm     ? GroupKind::kJob
                                                                    : GroupKind::kDataParallel;
    const Group& group = program_.groups[action.group.value];
    if (group.kind == wanted) return {};
    return name_of(program_, action) + " belongs to '" + group.name + "', a group of another kind";
  }

  const PlanFile& file_;
  const Plan& plan_;
  const Program& program_;
  Findings& findings_;
};

}  // namespace

bool check_tables(const PlanFile& file, Findings& findings) {
  return TableCheck(file, findings).run();
}

}  // namespace penstock
