#include "tests/search/all_axes.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/values/sharding.h"
#include "costmodel/plan_wiring.h"
#include "costmodel/step_prices.h"
#include "costmodel/transfer_prices.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "simulator/schedules/schedules.h"
#include "tests/search/models.h"

namespace penstock::testing {
namespace {

constexpr int kTokens = 32'768;  // from here on every degree of C that has rows is tried

struct Question {
  ModelProfile model;
  ClusterSpec cluster;
  SearchRequest request;
  ExecutorModel executor;
};

// Rows of two ranks that divide a sequence: half the times and bytes, and keys that go round.
void divide_sequences(SectionType& type, Random& random) {
  const std::vector<Measurement> whole = type.measurements;
  for (Measurement row : whole) {
    row.context_degree = 2;
    for (Timing* time : {&row.forward, &*row.fused_backward, &row.recompute_time}) {
      time->median /= 2;
    }
    for (Bytes* bytes : {&row.stash, &row.weight_stash, &row.working_peak, &row.boundary}) {
      bytes->count = (bytes->count + 1) / 2;
    }
    RingTraffic ring;
    ring.bytes = Bytes{random.between(0, 9) * row.micro_batch_size};
    ring.beside_forward = row.forward.median / random.between(2, 9);
    ring.beside_backward = ring.beside_forward * 2;
    ring.exchanged = Bytes{random.between(1, 9) * row.micro_batch_size};
    row.ring = ring;
    type.measurements.push_back(row);
  }
}

// Rows of ranks that have the experts of a layer between them.
void divide_experts(SectionType& type, Random& random) {
  type.expert_parameters = 8;
  const std::vector<Measurement> whole = type.measurements;
  for (const int ranks : {2, 4}) {
    for (const int of_one : {1, 2}) {
      for (Measurement row : whole) {
        if (row.tensor_degree < of_one) continue;
        row.expert_degree = ranks;
        row.expert_tensor_degree = of_one;
        ExpertTraffic traffic;
        traffic.dispatched = traffic.combined = Bytes{random.between(0, 9) * row.micro_batch_size};
        traffic.experts = 4;
        traffic.visited = random.between(1, 2);
        traffic.once = random.coin();
        traffic.imbalance = random.coin() ? 1.0 : 1.5;
        row.experts = traffic;
        type.measurements.push_back(row);
      }
    }
  }
}

ModelProfile rich_model(Random& random) {
  ModelProfile model = random_model(random, random.between(2, 5));
  TrainingState& training = model.training;
  if (random.coin()) training.bucket_parameters = random.between(10, 100);
  if (random.coin()) training.bytes_per_gradient = Bytes{4};
  const bool has_experts = random.coin(), is_divided = random.coin();
  for (SectionType& type : model.section_types) {
    for (Measurement& row : type.measurements) row.sequence_length = kTokens;
    if (is_divided) divide_sequences(type, random);
    if (has_experts && random.between(0, 3) > 0) divide_experts(type, random);
  }
  return model;
}

ExecutorModel random_executor(Random& random) {
  ExecutorModel executor;
  if (random.between(0, 2) > 0) return executor;
  executor.transfer = static_cast<TransferMode>(random.between(0, 2));
  executor.queues = static_cast<QueueLayout>(random.between(0, 3));
  executor.per_action = Duration{random.between(0, 2000)};
  if (random.coin()) executor.optimizer = OptimizerGate::kPostValidation;
  return executor;
}

Question question_of(std::uint64_t model, std::uint64_t property) {
  Random random(1'000'033 * (model + 1) + property);
  Question q;
  q.model = rich_model(random);
  q.cluster = random_cluster(random, random.between(1, 2), random.between(1, 2) * 2);
  q.cluster.node_types[0].host = HostOfNode{
      Bytes{random.between(200, 20'000)}, {1e6 * random.between(1, 1000)}, 2, random.coin(), 0};
  q.executor = random_executor(random);
  q.request.gpus = random.between(1, device_count(q.cluster));
  q.request.global_batch = random.between(1, 10);
  q.request.top = random.between(1, 5);
  q.request.pins.offload = std::nullopt;
  return q;
}

SearchResult answer(const Question& q) { return search(q.model, q.cluster, q.request, q.executor); }

std::string words_of(const RankedPlan& ranked) {
  const Plan& plan = ranked.plan;
  std::string words = plan.schedule;
  for (const auto& [name, value] : {std::pair{" P", plan.pipeline},
                                    {" V", plan.chunks},
                                    {" D", plan.data},
                                    {" T", plan.tensor},
                                    {" C", plan.context},
                                    {" EP", plan.expert},
                                    {" b", plan.micro_batch_size}}) {
    words += name + std::to_string(value);
  }
  words += " " + plan.recompute + (plan.recompute_sections.empty() ? " " : " in parts ") +
           sharding_words(plan) + ", cuts";
  for (const int cut : plan.cuts) words += " " + std::to_string(cut);
  return words + ", " + std::to_string(ranked.evaluation.step_time.count()) + " ns, " +
         std::to_string(ranked.evaluation.peak_memory().count) + " bytes";
}

std::string words_of(const SearchResult& result) {
  return result.best.empty() ? "no plan" : words_of(result.best.front());
}

// The first place at which two lists differ.
std::string difference(const std::vector<RankedPlan>& a, const std::vector<RankedPlan>& b) {
  const std::vector<Ranked> ones = all_of(a), others = all_of(b);
  const auto words = [](const std::vector<RankedPlan>& plans, std::size_t i) {
    return i < plans.size() ? words_of(plans[i]) : "none";
  };
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && ones[i] == others[i]) continue;
    return "at " + std::to_string(i) + " " + words(a, i) + ", every candidate " + words(b, i);
  }
  return "";
}

Duration step_of(const SearchResult& result) {
  return result.best.empty() ? Duration::max() : result.best.front().evaluation.step_time;
}

void pin_randomly(Pins& pins, Random& random) {
  switch (random.between(0, 7)) {
    case 0:
      pins.context = random.between(1, 2);
      break;
    case 1:
      pins.expert = 1 << random.between(0, 2);
      break;
    case 2:
      pins.offload = random.coin();
      break;
    case 3:
      pins.sharding = static_cast<Sharding>(random.between(0, 3));
      pins.zero1 = true;
      break;
    case 4:
      pins.zero1 = false;
      break;
    case 5:
      pins.tensor = random.between(1, 2);
      break;
    case 6:
      pins.pipeline = random.between(1, 3);
      break;
    default:
      pins.data = random.between(1, 4);
  }
}

void pin_to(Pins& pins, const Plan& plan, int which) {
  switch (which) {
    case 0:
      pins.context = plan.context;
      break;
    case 1:
      pins.expert = plan.expert;
      break;
    case 2:
      pins.offload = plan.offload_optimizer;
      break;
    case 3:
      pins.zero1 = plan.zero1;
      if (plan.zero1) pins.sharding = plan.sharding;
      if (plan.shard_group > 0) pins.shard_group = plan.shard_group;
      break;
    case 4:
      pins.pipeline = plan.pipeline;
      break;
    case 5:
      pins.schedules = {plan.schedule};
      break;
    default:
      pins.micro_batch_size = plan.micro_batch_size;
  }
}

// All times twice as long.
Question slowed(Question q) {
  const auto twice = [](Timing& time) { time.median *= 2; };
  for (SectionType& type : q.model.section_types) {
    for (Measurement& row : type.measurements) {
      twice(row.forward);
      twice(row.recompute_time);
      for (auto* time : {&row.input_gradient, &row.weight_gradient, &row.fused_backward}) {
        if (*time) twice(**time);
      }
      if (!row.ring) continue;
      row.ring->beside_forward *= 2;
      row.ring->beside_backward *= 2;
      if (row.ring->beside_recompute) *row.ring->beside_recompute *= 2;
    }
  }
  TrainingState& training = q.model.training;
  if (training.optimizer_ps_per_parameter) *training.optimizer_ps_per_parameter *= 2;
  training.norm_ps_per_parameter *= 2;
  for (DeviceType& device : q.cluster.device_types) device.memory_bandwidth.value /= 2;
  for (LinkLevel& level : q.cluster.levels) {
    level.bandwidth.value /= 2;
    level.shared_bandwidth.value /= 2;
    level.latency *= 2;
  }
  for (NodeType& node : q.cluster.node_types) node.host->bandwidth.value /= 2;
  q.executor.per_action *= 2;
  q.executor.per_transfer *= 2;
  q.executor.per_step *= 2;
  return q;
}

std::optional<Duration> step_of(const Question& q, const Plan& plan) {
  const EvaluatedPlan result = evaluate({&q.model, &q.cluster, q.executor, std::nullopt}, plan);
  if (result.why_not) return {};
  return result.evaluation.step_time;
}

bool is_static(const Plan& plan) {
  const ScheduleKind* kind = find_schedule(plan.schedule);
  return !kind->is_automatic() && kind->rule == RunTimeRule::kNone;
}

bool pins_fsdp_on_host(const Pins& pins) {
  return pins.offload == true && pins.sharding == Sharding::kFsdp;
}

}  // namespace

namespace {

// Of the first stage, whose end bounds a step before the others are wired and priced; and of the
// transfers, where they are known by then.
bool ends_as_priced(const Question& q, const Plan& plan) {
  const PlanInputs inputs{&q.model, &q.cluster, q.executor, std::nullopt};
  const StagePrices prices = evaluate(inputs, plan).prices;
  const StepPrice& step = prices.step.front();
  const PlanWiring first(q.cluster, plan, WiredStages::kFirst);
  const FirstStageEnd end = first_stage_end(q.model, first, plan);
  std::vector<std::int64_t> boundary(q.model.sections.size(), 0);
  for (int s = 0; s < plan.stages(); ++s) {
    boundary[static_cast<std::size_t>(plan.end_section(s)) - 1] =
        prices.compute_of(s, 0).boundary.count;
  }
  const std::vector<BoundaryTimes> sent = transfer_prices(first, plan, boundary);
  for (std::size_t s = 0; s < sent.size(); ++s) {
    const TransferPrice& priced = prices.transfer_of(static_cast<int>(s), 0);
    if (sent[s].there != priced.activation.duration || sent[s].back != priced.gradient.duration) {
      return false;
    }
  }
  const bool has_others = plan.stages() > plan.pipeline;
  const Duration gather = has_others ? Duration{} : step.unshard.duration;
  return end.reduce <= step.reduce_gradient.duration &&
         end.after_norm <= step.optimizer.duration + gather &&
         first.weight_groups(0) == PlanWiring(q.cluster, plan).weight_groups(0);
}

}  // namespace

std::vector<std::string> bounds_change_the_answer(std::uint64_t model) {
  Question q = question_of(model, 1);
  q.request.threads = 2;
  const SearchResult bounded = answer(q);
  q.request.threads = 1;
  q.request.bounds = false;
  const SearchResult plain = answer(q);
  std::vector<std::string> wrong;
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) wrong.push_back("axes of model " + std::to_string(model) + ": " + what);
  };
  const std::string of_best = difference(bounded.best, plain.best);
  const std::string of_front = difference(bounded.pareto, plain.pareto);
  require(of_best.empty(), "plans with bounds, " + of_best);
  require(of_front.empty(), "front with bounds, " + of_front);
  require(bounded.candidates == plain.candidates, "other counts");
  for (const RankedPlan& ranked : bounded.best) {
    require(ends_as_priced(q, ranked.plan), "the first stage ends later than it is priced");
  }
  require(plain.candidates == plain.evaluated + rejected_in_all(plain), "not all accounted for");
  return wrong;
}

std::vector<std::string> beaten_by_pinned_axes(std::uint64_t model) {
  const Question q = question_of(model, 2);
  const SearchResult free = answer(q);
  Random random(1'000'033 * (model + 1) + 3);
  std::vector<std::string> wrong;
  for (int j = 0; j < 3; ++j) {
    Question other = q;
    for (int pins = random.between(1, 2); pins > 0; --pins) {
      pin_randomly(other.request.pins, random);
    }
    if (pins_fsdp_on_host(other.request.pins)) continue;
    if (other.request.pins.expert.value_or(1) > 1 && !has_experts(q.model)) continue;
    const SearchResult pinned = answer(other);
    if (step_of(free) <= step_of(pinned)) continue;
    wrong.push_back("axes of model " + std::to_string(model) + ": free search " + words_of(free) +
                    ", beaten by " + words_of(pinned));
  }
  if (free.best.empty()) return wrong;
  Question again = q;
  for (int which = 0; which < 7; ++which) {
    if (random.coin()) pin_to(again.request.pins, free.best.front().plan, which);
  }
  const SearchResult found = answer(again);
  if (found.best.empty() || found.best.front().plan != free.best.front().plan) {
    wrong.push_back("axes of model " + std::to_string(model) + ": " + words_of(free) +
                    ", pinned to its own values " + words_of(found));
  }
  return wrong;
}

std::vector<std::string> not_in_step_with_inputs(std::uint64_t model) {
  const Question q = question_of(model, 4);
  std::vector<Question> slower;
  for (std::size_t level = 0; level < q.cluster.levels.size(); ++level) {
    slower.push_back(q);
    LinkLevel& link = slower.back().cluster.levels[level];
    link.bandwidth.value /= 2;
    link.shared_bandwidth.value /= 2;
    slower.push_back(q);
    slower.back().cluster.levels[level].latency *= 2;
  }
  slower.push_back(q);
  slower.back().cluster.node_types[0].host->bandwidth.value /= 2;
  const Question twice = slowed(q);
  std::vector<std::string> wrong;
  for (const RankedPlan& ranked : answer(q).best) {
    if (!is_static(ranked.plan)) continue;
    const Duration step = ranked.evaluation.step_time;
    const std::string what = "axes of model " + std::to_string(model) + ": " +
                             ranked.plan.schedule + " of " + std::to_string(step.count()) + " ns";
    for (std::size_t i = 0; i < slower.size(); ++i) {
      const auto other = step_of(slower[i], ranked.plan);
      if (other && *other >= step) continue;
      wrong.push_back(what + ", with slower link " + std::to_string(i) + " " +
                      (other ? std::to_string(other->count()) : "none"));
    }
    if (ranked.plan.offload_optimizer) continue;  // what a host's cores do is no input
    // A nanosecond for each price of each action that may lie on the longest chain.
    const std::int64_t actions =
        std::int64_t{8} * ranked.plan.stages() * (first_load(ranked.plan).micro_batches + 4);
    const auto other = step_of(twice, ranked.plan);
    const std::int64_t off = other ? (*other - 2 * step).count() : actions + 1;
    if (std::abs(off) > actions) {
      wrong.push_back(what + ", twice as slow off by " + std::to_string(off) + " ns");
    }
  }
  return wrong;
}

}  // namespace penstock::testing
