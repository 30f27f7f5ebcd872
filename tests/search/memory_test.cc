#include "search/memory.h"

#include <algorithm>
#include <optional>

#include <doctest/doctest.h>

#include "costmodel/price_stages.h"
#include "search/device_cluster.h"
#include "search/plan_program.h"
#include "tests/search/models.h"
#include "tests/watched.h"

namespace penstock {
namespace {

using testing::Costs;
using testing::model_of_sections;
using testing::Random;

// The largest figure of a stage over the shapes.
std::int64_t most(const StagePrices& prices, int stage, Bytes ComputePrice::*member) {
  std::int64_t value = 0;
  for (int shape = 0; shape < prices.shapes; ++shape) {
    value = std::max(value, (prices.compute_of(stage, shape).*member).count);
  }
  return value;
}

// What a rank of the first replica holds and what the same rank of the others holds: by walking
// their lists and counting bytes as they come and go, of every category the most. Receive and send
// buffers are counted apart, each at its own peak.
class RankWalk {
 public:
  RankWalk(const Program& program, const StagePrices& prices, int rank)
      : program_(program), prices_(prices), rank_(rank) {}

  MemoryUse walk() {
    const auto stages = static_cast<std::size_t>(prices_.stages);
    activations_.assign(stages, {});
    gradients_.assign(stages, {});
    std::optional<StageId> overlapping;  // of the first member of a pair
    for (const Action& action : program_.actions) {
      if (program_.rank_of(action).value % program_.pipelines[0].ranks != rank_) continue;
      const StageId stage{static_cast<std::uint16_t>(action.stage.value % prices_.stages)};
      if (overlapping) {
        use_.working_peak = std::max(use_.working_peak, working(*overlapping) + working(stage));
      }
      overlapping = action.overlaps_next ? std::optional(stage) : std::nullopt;
      step(action.kind, stage.value);
    }
    for (std::size_t s = 0; s < stages; ++s) {
      const int stage = static_cast<int>(s);
      if (program_.stages[s].rank.value != rank_) continue;
      use_.parameters += prices_.step[s].parameters;
      use_.gradients += prices_.step[s].gradients;
      use_.optimizer_state += prices_.step[s].optimizer_state;
      use_.working_peak =
          std::max(use_.working_peak, working(StageId{static_cast<std::uint16_t>(stage)}));
      use_.communication +=
          boundary(stage) * (gradients_[s].peak + (activations_[s].sends ? 1 : 0));
      if (s > 0) {
        use_.communication +=
            boundary(stage - 1) * (activations_[s].peak + (gradients_[s].sends ? 1 : 0));
      }
    }
    use_.stash = {peak_};
    return use_;
  }

 private:
  struct Buffers {
    std::int64_t now = 0, peak = 0;
    bool sends = false;
    void post() { peak = std::max(peak, ++now); }
    void consume() { now = std::max<std::int64_t>(0, now - 1); }
  };
  [[nodiscard]] Bytes boundary(int stage) const {
    return {most(prices_, stage, &ComputePrice::boundary)};
  }
  [[nodiscard]] Bytes working(StageId stage) const {
    return {most(prices_, stage.value, &ComputePrice::working_peak)};
  }
  void hold(std::int64_t bytes) { peak_ = std::max(peak_, held_ += bytes); }

  // At the end of a replica's list nothing is held, so that the next one follows.
  void step(ActionKind kind, int stage) {
    const std::int64_t stash = most(prices_, stage, &ComputePrice::stash);
    const std::int64_t weights = most(prices_, stage, &ComputePrice::weight_stash);
    Buffers& activations = activations_[static_cast<std::size_t>(stage)];
    Buffers& gradients = gradients_[static_cast<std::size_t>(stage)];
    switch (kind) {
      case ActionKind::kForward:
        hold(stash), activations.consume();
        break;
      case ActionKind::kFusedBackward:
        hold(-stash), gradients.consume();
        break;
      case ActionKind::kInputGradient:
        hold(weights - stash), gradients.consume();
        break;
      case ActionKind::kWeightGradient:
        hold(-weights);
        break;
      case ActionKind::kReceiveActivation:
        activations.post();
        break;
      case ActionKind::kReceiveGradient:
        gradients.post();
        break;
      case ActionKind::kSendActivation:
        activations.sends = true;
        break;
      case ActionKind::kSendGradient:
        gradients.sends = true;
        break;
      default:
        break;
    }
  }

  const Program& program_;
  const StagePrices& prices_;
  int rank_;
  MemoryUse use_;
  std::int64_t held_ = 0, peak_ = 0;
  std::vector<Buffers> activations_, gradients_;  // by stage: those it receives; whether it sends
};

// Any plan that has a Program; cuts are not set.
Plan random_plan(Random& random, int most_stages) {
  while (true) {
    Plan plan;
    testing::set_schedule(plan, testing::random_static_kind(random), random.between(2, 3));
    plan.pipeline = random.between(1, 5);
    plan.data = random.between(1, 3);
    plan.zero1 = random.coin();
    plan.micro_batch_size = random.between(1, 3);
    plan.global_batch = random.between(plan.data, 24);
    plan.device = "gpu";
    if (plan.stages() <= most_stages && why_no_program(plan).empty()) return plan;
  }
}

std::vector<int> random_cuts(Random& random, int sections, int stages) {
  std::vector<int> inner;
  for (int s = 1; s < sections; ++s) inner.push_back(s);
  while (static_cast<int>(inner.size()) > stages - 1) {
    inner.erase(inner.begin() + random.between(0, static_cast<int>(inner.size()) - 1));
  }
  inner.insert(inner.begin(), 0);
  inner.push_back(sections);
  return inner;
}

void set_random_bytes(Random& random, StagePrices& prices) {
  for (ComputePrice& price : prices.compute) {
    for (Bytes* bytes : {&price.stash, &price.weight_stash, &price.working_peak, &price.boundary}) {
      *bytes = {random.between(0, 50)};
    }
  }
  for (StepPrice& step : prices.step) {
    for (Bytes* bytes : {&step.parameters, &step.gradients, &step.optimizer_state}) {
      *bytes = {random.between(0, 50)};
    }
  }
}

TEST_CASE("memory of ranks is what a walk over their lists counts in bytes") {
  Random random(11);
  for (int i = 0; i < testing::draws(500); ++i) {
    const Plan plan = random_plan(random, 12);
    const int shapes = static_cast<int>(micro_batch_shapes(plan).size());
    StagePrices prices = testing::random_prices(random, plan.stages(), shapes);
    set_random_bytes(random, prices);
    const Program program = program_of(schedules_of(plan), lowering_of(plan, {}, false, {}));
    const auto use = memory_of_ranks(prices, liveness_of(plan), Bytes{7});
    REQUIRE(use.size() == static_cast<std::size_t>(plan.pipeline));
    for (int r = 0; r < plan.pipeline; ++r) {
      MemoryUse expected = RankWalk(program, prices, r).walk();
      expected.reserve = {7};
      CAPTURE(plan.schedule);
      REQUIRE(use[static_cast<std::size_t>(r)] == expected);
    }
  }
}

TEST_CASE("a stage and a rank weigh the same before and after their cuts are priced") {
  Random random(12);
  for (int i = 0; i < testing::draws(400); ++i) {
    const ModelProfile model = testing::random_model(random, random.between(4, 12));
    const int sections = static_cast<int>(model.sections.size());
    Plan plan = random_plan(random, sections);
    plan.cuts = random_cuts(random, sections, plan.stages_per_copy());
    const DeviceCluster cluster =
        device_cluster(testing::random_cluster(random, 8, 2), "gpu", std::nullopt);
    std::vector<SectionSums> sums;
    std::vector<const SectionTable*> tables;
    const auto shapes = micro_batch_shapes(plan);
    for (const MicroBatchShape& shape : shapes) {
      sums.push_back(sum_sections(model, cluster.spec, "gpu", 1, shape.samples, 0, "none"));
    }
    for (const SectionSums& each : sums) tables.push_back(&each.table);
    const auto pricing = price_stages(model, cluster.spec, plan, tables);
    const auto live = liveness_of(plan);
    const auto use = memory_of_ranks(pricing.prices, live, cluster.reserve);

    const TiedParameters ties(model, 1);
    const HeldCounts held(live);
    const StageMemory memory(sums[0], ties, {model.training, plan.zero1 ? plan.weight_copies() : 1},
                             held, cluster.reserve, cluster.device.memory);
    StageMemory remembering = memory;
    remembering.remember_states();
    // Bytes between measured points are random: a short micro-batch may hold more than a full one,
    // which only the prices know.
    const bool one_shape = shapes.size() == 1;
    for (int r = 0; r < plan.pipeline; ++r) {
      const auto rank = static_cast<std::size_t>(r);
      const Bytes total = memory.total_of_rank(rank, plan.cuts);
      CHECK((one_shape ? total == use[rank].total() : total <= use[rank].total()));
      CHECK(remembering.total_of_rank(rank, plan.cuts) == total);  // asked for, and
      CHECK(remembering.total_of_rank(rank, plan.cuts) == total);  // asked for again
      if (plan.chunks == 1) {
        CHECK(memory.total(r, plan.cuts[rank], plan.cuts[rank + 1]) == total);
      }
    }
  }
}

TEST_CASE("tied weights on one stage are stored once; ZeRO-1 divides the optimizer state") {
  ModelProfile model = model_of_sections({{1, 2, 100}, {1, 2, 10}, {1, 2, 100}});
  model.tied_weights = {{"embedding", {SectionId{0}, SectionId{2}}, {{1, 90}}}};
  const SectionSums sums = testing::sums_of(model);
  const TiedParameters ties(model, 1);
  const HeldCounts alone(liveness_of(Plan{}));
  // 210 - 90 parameters of 1 + 1 + 2 bytes.
  const StageMemory whole(sums, ties, {model.training, 1}, alone, Bytes{5}, Bytes{1000});
  CHECK(whole.total(0, 0, 3) == Bytes{120 * 4 + 5});
  // The optimizer's 240 bytes over 7 replicas: 35 each, rounded up.
  const StageMemory sharded(sums, ties, {model.training, 7}, alone, Bytes{5}, Bytes{1000});
  CHECK(sharded.total(0, 0, 3) == Bytes{120 * 2 + 35 + 5});
  Plan two;
  two.pipeline = 2;
  const HeldCounts apart(liveness_of(two));
  const StageMemory pair(sums, ties, {model.training, 1}, apart, Bytes{5}, Bytes{1000});
  CHECK(pair.total(0, 0, 1) == Bytes{100 * 4 + 5});
  CHECK(pair.total(1, 1, 3) == Bytes{110 * 4 + 5});
}

TEST_CASE("1F1B by hand: stash, working peak and buffers of three stages") {
  // Per section: stash 10, working peak 3, boundary 2; M = 4, so that ranks hold 3, 2 and 1.
  const ModelProfile model = model_of_sections(std::vector<Costs>(6, Costs{1, 2, 1, 10, 3, 2}));
  const SectionSums sums = testing::sums_of(model);
  const TiedParameters ties(model, 1);
  Plan plan;
  plan.pipeline = 3;
  plan.global_batch = 4;
  const HeldCounts held(liveness_of(plan));
  const StageMemory memory(sums, ties, {model.training, 1}, held, Bytes{0}, Bytes{1000});
  // State 4 per section. Buffers: rank 0 one to send and one to receive into; rank 1 both ways.
  CHECK(memory.total(0, 0, 2) == Bytes{8 + 3 * 20 + 3 + 2 * 2});
  CHECK(memory.total(1, 2, 4).count >= 8 + 2 * 20 + 3 + 4 * 2);
  CHECK(memory.total(2, 4, 6).count >= 8 + 1 * 20 + 3 + 2 * 2);
}

// A table of all runs would take 1.8 GB. A stage of 10,000 sections: state 4 each, all of them
// alike; and one boundary of 2 to send, one to receive.
TEST_CASE("what runs of thousands of sections hold is not remembered, and is the same") {
  const ModelProfile model = model_of_sections(std::vector<Costs>(15'000, Costs{1, 2, 1, 0, 0, 2}));
  const SectionSums sums = testing::sums_of(model);
  const TiedParameters ties(model, 1);
  Plan plan;
  plan.pipeline = 2;
  plan.global_batch = 1;
  const HeldCounts held(liveness_of(plan));
  StageMemory memory(sums, ties, {model.training, 1}, held, Bytes{0}, Bytes{1'000'000});
  memory.remember_states();
  CHECK(memory.total(0, 0, 10'000) == Bytes{40'000 + 2 * 2});
  CHECK(memory.total(1, 10'000, 15'000) == Bytes{20'000 + 2 * 2});
}

TEST_CASE("a limit that says it is monotone is; if every section fits, every one does") {
  Random random(13);
  int monotone = 0;
  int fitting = 0;
  int hopeless = 0;
  for (int i = 0; i < testing::draws(400); ++i) {
    ModelProfile model = testing::random_model(random, random.between(2, 9));
    const bool one_boundary = random.coin();  // as most models have
    for (SectionType& type : model.section_types) {
      const int wide = one_boundary ? 3 : 200 * random.between(0, 5);
      for (Measurement& m : type.measurements) m.boundary = {wide};
    }
    const int sections = static_cast<int>(model.sections.size());
    const Plan plan = random_plan(random, sections);
    const SectionSums sums = testing::sums_of(model);
    const TiedParameters ties(model, 1);
    const HeldCounts held(liveness_of(plan));
    const StageMemory memory(sums, ties, {model.training, plan.zero1 ? plan.weight_copies() : 1},
                             held, Bytes{0}, Bytes{random.between(100, 2500)});
    const int stages = plan.stages();
    // Stage s starts at section s at the earliest and leaves one for every stage behind it.
    const int of_copy = plan.stages_per_copy();
    const bool every = memory.every_section_fits(of_copy);
    fitting += every ? 1 : 0;
    int fewest = sections;  // of those that a stage could get, how many fit it
    for (int s = 0; s < of_copy; ++s) {
      int fits = 0;
      for (int at = s; at <= s + sections - of_copy; ++at) fits += memory.fits(s, at, at + 1);
      if (every) REQUIRE(fits == sections - of_copy + 1);
      fewest = std::min(fewest, fits);
    }
    if (memory.is_hopeless(of_copy)) {
      ++hopeless;
      REQUIRE(fewest == 0);
    }
    if (!memory.is_monotone()) continue;
    ++monotone;
    // Only the first stage starts at section 0, only the last ends with the model.
    for (int s = 0; s < stages; ++s) {
      for (int first = s == 0 ? 0 : 1; first <= (s == 0 ? 0 : sections - 1); ++first) {
        for (int end = first + 2; end <= (s + 1 == stages ? sections : sections - 1); ++end) {
          const Bytes total = memory.total(s, first, end);
          if (s + 1 < stages) REQUIRE(memory.total(s, first, end - 1) <= total);
          if (s > 0) REQUIRE(memory.total(s, first + 1, end) <= total);
        }
      }
    }
  }
  CHECK(monotone > testing::least(50));
  CHECK(fitting > testing::least(50));
  CHECK(hopeless > testing::least(50));
}

TEST_CASE("sections that differ in what they send are cut as the table cuts them") {
  // Stage 0 cannot hold the first section alone, whose output is wide, but both.
  const std::vector<Costs> sections{{4, 4, 1, 1, 1, 500}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}};
  const ModelProfile model = model_of_sections(sections);
  const SectionSums sums = testing::sums_of(model);
  const TiedParameters ties(model, 1);
  Plan plan;
  plan.pipeline = 2;
  const HeldCounts held(liveness_of(plan));
  const StageMemory memory(sums, ties, {model.training, 1}, held, Bytes{0}, Bytes{100});
  CHECK_FALSE(memory.fits(0, 0, 1));
  CHECK(memory.fits(0, 0, 2));
  const PartitionProblem problem{2, &sums.work, &sums.boundary, &memory};
  REQUIRE(partition_by_table(problem));
  CHECK(partition(problem) == partition_by_table(problem));

  Random random(14);
  for (int i = 0; i < testing::draws(500); ++i) {
    std::vector<Costs> costs;
    const int count = random.between(2, 9);
    for (int s = 0; s < count; ++s) {
      costs.push_back({random.between(1, 9), random.between(1, 9), random.between(0, 5),
                       random.between(0, 5), random.between(0, 5),
                       std::int64_t{random.between(0, 3)} * 20});
    }
    const ModelProfile any = model_of_sections(costs);
    const SectionSums any_sums = testing::sums_of(any);
    const TiedParameters none(any, 1);
    plan.pipeline = random.between(1, count);
    plan.global_batch = random.between(1, 6);
    const HeldCounts counts(liveness_of(plan));
    const StageMemory limit(any_sums, none, {any.training, 1}, counts, Bytes{0},
                            Bytes{random.between(20, 300)});
    const PartitionProblem each{plan.pipeline, &any_sums.work, &any_sums.boundary, &limit};
    REQUIRE(partition(each) == partition_by_table(each));
  }
}

}  // namespace
}  // namespace penstock
