#include "tests/search/free_search.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "costmodel/price_stages.h"
#include "search/best_plans.h"
#include "tests/search/models.h"
#include "trainers/trainer_table.h"

namespace penstock::testing {
namespace {

struct Question {
  ModelProfile model;
  ClusterSpec cluster;
  SearchRequest request;
};

Question random_question(Random& random, ModelSize size) {
  const bool large = size == ModelSize::kLarge;
  Question q;
  q.model = random_model(random, random.between(1, large ? 16 : 6));
  const int nodes = random.between(1, large ? 4 : 3);
  const int per_node = random.between(1, 2) * 2;
  q.cluster = random_cluster(random, nodes, per_node);
  if (random.between(0, 3) == 0) {
    q.model = also_on(q.model, "old", random.between(1, 3));
    add_nodes(q.cluster, "old", 1, 2, random.between(800, 5000));
  }
  q.request.gpus = random.between(1, std::min(large ? 16 : 8, device_count(q.cluster)));
  q.request.global_batch = random.between(1, large ? 64 : 16);
  q.request.top = random.between(1, 6);
  return q;
}

std::string words_of(const RankedPlan& best) {
  const Plan& plan = best.plan;
  std::string words = plan.schedule + " P" + std::to_string(plan.pipeline) + " V" +
                      std::to_string(plan.chunks) + " D" + std::to_string(plan.data) + " T" +
                      std::to_string(plan.tensor) + " b" + std::to_string(plan.micro_batch_size) +
                      " " + plan.recompute + (plan.zero1 ? " " + sharding_words(plan) : "") +
                      " cuts";
  for (const int cut : plan.cuts) words += " " + std::to_string(cut);
  for (const std::string& device : plan.rank_devices) words += " " + device;
  return words + ", " + std::to_string(best.evaluation.step_time.count()) + " ns";
}

ExecutorModel executor_for(const Question& q) {
  return q.request.trainer != nullptr ? q.request.trainer->executor : ExecutorModel();
}
SearchResult answer(const Question& q) {
  return search(q.model, q.cluster, q.request, executor_for(q));
}

struct Best {
  Duration step_time = Duration::max();
  std::string words = "no plan";
};
Best best_of(const Question& q) {
  const SearchResult result = answer(q);
  if (result.best.empty()) return {};
  const RankedPlan& best = result.best[0];
  return {best.evaluation.step_time, words_of(best)};
}

constexpr int kPins = 10;
void pin_to(Pins& pins, const Plan& plan, int which) {
  switch (which) {
    case 0:
      pins.pipeline = plan.pipeline;
      break;
    case 1:
      pins.chunks = plan.chunks;
      break;
    case 2:
      pins.data = plan.data;
      break;
    case 3:
      pins.tensor = plan.tensor;
      break;
    case 4:
      pins.micro_batch_size = plan.micro_batch_size;
      break;
    case 5:
      pins.schedules = {plan.schedule};
      break;
    case 6:
      pins.recompute = plan.recompute;
      pins.recompute_as_needed = recompute_is_divided(plan);
      break;
    case 7:
      pins.zero1 = plan.zero1;
      if (plan.zero1) pins.sharding = plan.sharding;
      if (plan.shard_group > 0) pins.shard_group = plan.shard_group;
      break;
    case 8:
      pins.placement = plan.placement;
      break;
    default:
      if (!plan.is_mixed()) pins.device = plan.device;
  }
}

// A question with less to choose from, or (the last) with another number of plans to show.
constexpr int kLessers = 14;
Question lesser(Random& random, Question q, int which) {
  Pins& pins = q.request.pins;
  switch (which) {
    case 0:
      pins.pipeline = random.between(1, 4);
      break;
    case 1:
      pins.chunks = random.between(1, 3);
      break;
    case 2:
      pins.data = random.between(1, 6);
      break;
    case 3:
      pins.tensor = random.between(1, 2);
      break;
    case 4:
      pins.micro_batch_size = random.between(1, 4);
      break;
    case 5: {
      std::vector<std::string> names;
      for (const ScheduleKind& kind : schedule_kinds()) {
        if (!kind.only_when_named && !kind.has_slices) names.emplace_back(kind.name);
      }
      const int last = static_cast<int>(names.size()) - 1;
      pins.schedules = {names[static_cast<std::size_t>(random.between(0, last))]};
      break;
    }
    case 6:
      pins.recompute = random.coin() ? "none" : "full";
      break;
    case 7:
      pins.zero1 = random.coin();
      break;
    case 8:
      pins.placement = random.coin() ? Placement::kDataInner : Placement::kPipelineInner;
      break;
    case 9:
      q.request.gpus = random.between(1, q.request.gpus);
      break;
    case 10:
      for (DeviceType& device : q.cluster.device_types)
        device.memory.count = device.memory.count * random.between(5, 10) / 10;
      break;
    case 11:
      for (LinkLevel& level : q.cluster.levels) {
        level.bandwidth.value /= random.between(1, 4);
        level.latency *= random.between(1, 3);
      }
      break;
    case 12:
      pins.device = "gpu";
      break;
    default:
      q.request.top = random.between(1, 12);
  }
  return q;
}

Random of_model(std::uint64_t model, std::uint64_t property) {
  return Random(1'000'003 * (model + 1) + property);
}

// `model` in words, for a message.
std::vector<std::string> beaten(const std::string& model, const Question& q, Random& random) {
  const Best free = best_of(q);
  std::vector<std::string> wrong;
  Question less = q;
  for (int j = 0; j < 3; ++j) {
    const int which = random.between(0, kLessers - 1);
    less = lesser(random, j < 2 ? q : less, which);  // the last has two things less
    const Best other = best_of(less);
    const bool same_space = j < 2 && which == kLessers - 1;
    if (same_space ? free.step_time == other.step_time : free.step_time <= other.step_time) {
      continue;
    }
    wrong.push_back(model + ": free search " + free.words + ", lesser question " +
                    std::to_string(j) + " (restriction " + std::to_string(which) + ") " +
                    other.words);
  }
  return wrong;
}

std::vector<std::string> not_found_again(const std::string& model, Question q, Random& random) {
  const SearchResult result = answer(q);
  if (result.best.empty()) return {};
  const RankedPlan& winner = result.best[0];
  std::vector<std::string> wrong;
  const std::string what = model + ": " + words_of(winner);
  if (result.least_possible > winner.evaluation.step_time) {
    wrong.push_back(what + " is below the certificate " +
                    std::to_string(result.least_possible.count()));
  }
  std::string pinned;
  for (int which = 0; which < kPins; ++which) {
    if (!random.coin()) continue;
    pin_to(q.request.pins, winner.plan, which);
    pinned += " " + std::to_string(which);
  }
  const SearchResult again = answer(q);
  if (again.best.empty()) {
    wrong.push_back(what + ", pinned" + pinned + ": nothing fits");
  } else if (again.best[0].plan != winner.plan ||
             again.best[0].evaluation.step_time != winner.evaluation.step_time) {
    wrong.push_back(what + ", pinned" + pinned + ": " + words_of(again.best[0]));
  }
  return wrong;
}

// Gradients in buckets, state of mixed precision, a third of the section types with experts.
void enrich(ModelProfile& model, Random& random) {
  TrainingState& training = model.training;
  if (random.coin()) training.bucket_parameters = random.between(10, 100);
  if (random.coin()) training.bytes_per_gradient = Bytes{4};
  const bool has_experts = random.between(0, 2) == 0;
  for (SectionType& type : model.section_types) {
    if (!has_experts || random.between(0, 2) == 0) continue;
    type.expert_parameters = 8;
    const std::vector<Measurement> rows = type.measurements;
    for (const int ranks : {2, 4}) {
      for (Measurement row : rows) {
        row.expert_degree = ranks;
        ExpertTraffic traffic;
        traffic.dispatched = traffic.combined = Bytes{random.between(0, 9) * row.micro_batch_size};
        traffic.experts = 4;
        traffic.visited = 2;
        row.experts = traffic;
        type.measurements.push_back(row);
      }
    }
  }
}

// What few pin: a way to shard, a trainer, ranks of experts.
constexpr int kRarePins = 4;
Question rarely_pinned(Random& random, Question q, int which) {
  constexpr std::array kShardings{Sharding::kState, Sharding::kGradients, Sharding::kParameters,
                                  Sharding::kFsdp};
  constexpr std::array kTrainers{"pytorch",         "torchtitan", "torchtitan@0.1", "megatron",
                                 "megatron-bridge", "deepspeed",  "penstock"};
  Pins& pins = q.request.pins;
  switch (which) {
    case 0:
      pins.sharding = kShardings[static_cast<std::size_t>(random.between(0, 3))];
      pins.zero1 = true;
      if (*pins.sharding >= Sharding::kParameters && random.coin()) {
        pins.shard_group = random.between(2, 4);
      }
      break;
    case 1:
      pins.expert = 1 << random.between(0, 2);
      break;
    case 2:
      pins.expert = 1 << random.between(1, 2);
      pins.expert_tensor = random.between(1, 2);
      break;
    default:
      q.request.trainer = find_trainer(kTrainers[static_cast<std::size_t>(random.between(0, 6))]);
  }
  return q;
}

// One or two sections before the layers, none to two behind them.
void name_layers(ModelProfile& model, Random& random) {
  const int sections = static_cast<int>(model.sections.size());
  const int front = std::min(random.between(0, 2), sections - 1);
  const int back = std::min(random.between(0, 2), sections - 1 - front);
  for (int s = front; s < sections - back; ++s) {
    model.sections[static_cast<std::size_t>(s)].name = "layer." + std::to_string(s - front);
  }
}

std::vector<std::string> not_run(const std::string& model, const Question& q) {
  std::vector<std::string> wrong;
  std::vector<std::string> names;
  for (const Section& section : q.model.sections) names.push_back(section.name);
  for (const RankedPlan& ranked : answer(q).best) {
    const std::string why = verdict_of(*q.request.trainer, ranked.plan, names).why_not;
    if (why.empty()) continue;
    std::string text = model;
    wrong.push_back(text.append(": ").append(words_of(ranked)).append(": ").append(why));
  }
  return wrong;
}

}  // namespace

std::vector<std::string> beaten_by_lesser_questions(std::uint64_t model, ModelSize size) {
  Random random = of_model(model, 1);
  const Question q = random_question(random, size);
  return beaten("model " + std::to_string(model), q, random);
}

std::vector<std::string> winner_not_found_again(std::uint64_t model, ModelSize size) {
  Random random = of_model(model, 2);
  const Question q = random_question(random, size);
  return not_found_again("model " + std::to_string(model), q, random);
}

std::vector<std::string> not_found_as_faster(std::uint64_t model, ModelSize size) {
  Random random = of_model(model, 5);
  Question q = random_question(random, size);
  const SearchResult free = answer(q);
  if (free.best.empty()) return {};
  const Duration step = free.best[0].evaluation.step_time;
  const std::string what = "model " + std::to_string(model) + ": " + words_of(free.best[0]);
  std::vector<std::string> wrong;
  // What it takes, a nanosecond more, and 2 and 10 % more.
  for (const Duration more : {Duration{0}, Duration{1}, step / 50, step / 10}) {
    q.request.faster_than = step + more;
    const SearchResult faster = answer(q);
    const std::string asked = what + ", faster than " + std::to_string((step + more).count());
    if (faster.best.empty() != (more == Duration{0})) {
      wrong.push_back(asked +
                      (faster.best.empty() ? ": nothing" : ": " + words_of(faster.best[0])));
    } else if (!faster.best.empty() && faster.best[0].plan != free.best[0].plan) {
      wrong.push_back(asked + ": " + words_of(faster.best[0]));
    }
  }
  return wrong;
}

std::vector<std::string> beaten_by_rare_pins(std::uint64_t model, ModelSize size) {
  Random random = of_model(model, 4);
  Question q = random_question(random, size);
  enrich(q.model, random);
  name_layers(q.model, random);
  const Best free = best_of(q);
  std::vector<std::string> wrong;
  for (int which = 0; which < kRarePins; ++which) {
    const bool pins_experts = which == 1 || which == 2;
    if (pins_experts && !has_experts(q.model)) continue;
    Question other = rarely_pinned(random, q, which);
    if (random.coin()) other = lesser(random, other, random.between(0, kLessers - 1));
    const Best best = best_of(other);
    if (free.step_time <= best.step_time) continue;
    wrong.push_back(
        "model " + std::to_string(model) + ", rare pin " + std::to_string(which) +
        (other.request.trainer != nullptr ? " for " + other.request.trainer->name : "") +
        ": free search " + free.words + ", beaten by " + best.words);
  }
  for (std::string& one : not_found_again("rich model " + std::to_string(model), q, random)) {
    wrong.push_back(std::move(one));
  }
  return wrong;
}

std::vector<std::string> wrong_for_a_trainer(std::uint64_t model, ModelSize size) {
  constexpr std::array kTrainers{"pytorch",  "torchtitan", "torchtitan@0.1",
                                 "megatron", "megatron",   "deepspeed"};
  Random random = of_model(model, 3);
  Question q = random_question(random, size);
  name_layers(q.model, random);
  q.request.trainer = find_trainer(kTrainers[static_cast<std::size_t>(
      random.between(0, static_cast<int>(kTrainers.size()) - 1))]);
  const std::string what = "model " + std::to_string(model) + " for " + q.request.trainer->name;
  std::vector<std::string> wrong = beaten(what, q, random);
  for (std::string& one : not_found_again(what, q, random)) wrong.push_back(std::move(one));
  for (std::string& one : not_run(what, q)) wrong.push_back(std::move(one));
  return wrong;
}

}  // namespace penstock::testing
