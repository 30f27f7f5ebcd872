// Candidates in a fixed order, of which the fastest counts, the first of equal ones. The largest
// slot and the largest activations may belong to different shards, so a size of the slots is chosen
// first: then each shard can be judged by itself. How many shards keep their input is guessed, and
// raised until the partition has no more.
#include "spilling/spilled_plan.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/values/durations.h"
#include "core/values/error.h"
#include "costmodel/price_stages.h"
#include "simulator/simulate.h"
#include "spilling/spilled_prices.h"

namespace penstock {
namespace {

constexpr int kMoreShards = 3;
constexpr std::int64_t kFinerSlots = 10;
constexpr std::size_t kMostPasses = 6;  // numbers of passes that are tried
constexpr int kMostMicroBatches = 4096;

class Spill {
 public:
  explicit Spill(const SpillQuestion& question) : question_(question) {}

  SpillAnswer run() {
    for (const int size : sizes()) {
      if (question_.global_batch % size != 0 || question_.global_batch / size > kMostMicroBatches) {
        continue;
      }
      const SpillPrices prices(question_, size);
      if (!prices.why_not().empty()) {
        say(prices.why_not());
        continue;
      }
      try_size(prices, size);
    }
    if (answer_.plan) answer_.why_not.clear();
    if (!answer_.plan && answer_.why_not.empty()) {
      answer_.why_not = fmt::format("no measured micro-batch size divides the batch of {}",
                                    question_.global_batch);
    }
    return std::move(answer_);
  }

 private:
  std::vector<int> sizes() const {
    if (question_.micro_batch_size) return {*question_.micro_batch_size};
    return measured_micro_batch_sizes(*question_.inputs.profile, question_.device, 1,
                                      question_.sequence_length, "none");
  }

  void try_size(const SpillPrices& prices, int size) {
    const int micro_batches = question_.global_batch / size;
    std::size_t tried = 0;
    for (int passes = 1; passes <= micro_batches && tried < kMostPasses; ++passes) {
      if (micro_batches % passes != 0) continue;
      SpillChoice choice{size, micro_batches / passes, passes, UpdatePlace::kHost};
      bool fits = try_choice(prices, choice);
      if (question_.inputs.profile->tied_weights.empty() && !question_.clips) {
        choice.update = UpdatePlace::kDevice;
        fits |= try_choice(prices, choice);
      }
      if (fits) ++tried;
    }
  }

  // Whether some partition fits.
  bool try_choice(const SpillPrices& prices, const SpillChoice& choice) {
    if (!question_.last_sections.empty()) {
      const ShardCuts cuts = preset_shards(question_.last_sections, prices.sections());
      return offer(prices.work_out(choice, cuts), "listed", cuts);
    }
    bool fits = false;
    for (const std::int64_t slot : slot_sizes(prices, choice)) {
      fits |= try_slot(prices, choice, slot);
    }
    if (!fits && choice.update == UpdatePlace::kHost) say_why_not(prices, choice);
    return fits;
  }

  // From the largest section alone to half of the device, each a tenth larger than the one before.
  static std::vector<std::int64_t> slot_sizes(const SpillPrices& prices,
                                              const SpillChoice& choice) {
    std::int64_t size = 1;
    for (int i = 0; i < prices.sections(); ++i) {
      size = std::max(size, prices.slot_of(choice, i, i + 1));
    }
    std::vector<std::int64_t> sizes;
    for (; 2 * size <= prices.capacity(); size += size / kFinerSlots + 1) sizes.push_back(size);
    return sizes;
  }

  bool try_slot(const SpillPrices& prices, const SpillChoice& choice, std::int64_t slot) {
    int shards = 1;
    while (true) {
      const PilotShards pilot =
          pilot_shards(prices.sections(), limit(prices, choice, slot, shards));
      if (pilot.too_large) return false;
      const int found = static_cast<int>(pilot.cuts.size()) - 1;
      if (found <= shards) break;
      shards = found;  // more inputs are kept than was thought
    }
    const PilotShards pilot = pilot_shards(prices.sections(), limit(prices, choice, slot, shards));
    if (!offer(prices.work_out(choice, pilot.cuts), "pilot", pilot.cuts)) return false;
    const TimeOfShard time = [&](int first, int end) { return prices.time_of(choice, first, end); };
    const int most = std::min(shards + kMoreShards, prices.sections());
    for (; shards <= most; ++shards) {
      const ShardCuts cuts =
          best_shards(prices.sections(), shards, limit(prices, choice, slot, shards), time);
      if (!cuts.empty()) offer(prices.work_out(choice, cuts), "best", cuts);
    }
    return true;
  }

  static FitsShard limit(const SpillPrices& prices, const SpillChoice& choice, std::int64_t slot,
                         int shards) {
    const std::int64_t room = prices.capacity() - prices.boundaries(choice, shards) - 2 * slot;
    return [&prices, choice, slot, room](int first, int end) {
      return prices.slot_of(choice, first, end) <= slot &&
             prices.activations_of(first, end) <= room;
    };
  }

  // Keeps it where it fits and is the fastest so far. Whether it fits.
  bool offer(SpillPrices::Worked worked, const char* partitioner, const ShardCuts& cuts) {
    ++answer_.tried;
    if (worked.over > 0) {
      say(fmt::format("{} shards need {} more than {} has", cuts.size() - 1,
                      to_text(Bytes{worked.over}), question_.device));
      return false;
    }
    if (worked.plan.host > question_.host.memory) {
      say(fmt::format("its shards take {} on the host, which has {}", to_text(worked.plan.host),
                      to_text(question_.host.memory)));
      lacks_host_ = true;
      return false;
    }
    worked.plan.partitioner = partitioner;
    if (!answer_.plan || worked.plan.step() < answer_.plan->step()) {
      answer_.plan = std::move(worked.plan);
    }
    return true;
  }

  // The last reason counts, since more passes need less; but of what would fit the device, that it
  // does not fit the host.
  void say(std::string why_not) {
    if (!lacks_host_) answer_.why_not = std::move(why_not);
  }

  // The section that needs most by itself.
  void say_why_not(const SpillPrices& prices, const SpillChoice& choice) {
    int worst = 0;
    std::int64_t most = 0, slot = 0;
    for (int i = 0; i < prices.sections(); ++i) {
      slot = std::max(slot, prices.slot_of(choice, i, i + 1));
    }
    for (int i = 0; i < prices.sections(); ++i) {
      const std::int64_t need =
          2 * slot + prices.activations_of(i, i + 1) + prices.boundaries(choice, prices.sections());
      if (need <= most) continue;
      most = need;
      worst = i;
    }
    say(fmt::format(
        "section {} needs {}: two slots of {} for the largest section, and its activations; {} has "
        "{} beyond its reserve",
        question_.inputs.profile->sections[static_cast<std::size_t>(worst)].name,
        to_text(Bytes{most}), to_text(Bytes{slot}), question_.device,
        to_text(Bytes{prices.capacity()})));
  }

  const SpillQuestion& question_;
  SpillAnswer answer_;
  bool lacks_host_ = false;
};

}  // namespace

std::vector<SpilledUnit> units_of_step(const SpilledPlan& plan) {
  const PlanFile& file = plan.file;
  const auto per_pass = file.program.micro_batches.size() / static_cast<std::size_t>(plan.passes);
  std::vector<SpilledUnit> units;
  std::vector<Bytes> loaded(plan.shards.size());
  for (const Action& action : file.program.actions) {
    const int shard = action.stage.value;
    const ActionRule& rule = rule_of(action.kind);
    const PricedPlace place = priced_place(file.program, action);
    if (rule.lane == Lane::kCopyIn) {
      loaded[static_cast<std::size_t>(shard)] += payload_of(file.prices, action.kind, place);
    } else if (rule.lane == Lane::kCopyOut) {
      const auto of_shard =
          std::find_if(units.rbegin(), units.rend(),
                       [&](const SpilledUnit& unit) { return unit.shard == shard; });
      of_shard->out += payload_of(file.prices, action.kind, place);
    } else if (action.micro_batch != kNoMicroBatch) {
      const int pass = static_cast<int>(action.micro_batch.value / per_pass);
      if (units.empty() || units.back().shard != shard || units.back().pass != pass) {
        SpilledUnit& begun = units.emplace_back();
        begun.pass = pass;
        begun.shard = shard;
        begun.in = std::exchange(loaded[static_cast<std::size_t>(shard)], Bytes{});
      }
      SpilledUnit& unit = units.back();
      unit.compute += price_alone(file.prices, action.kind, place);
      (action.kind == ActionKind::kForward ? unit.forward : unit.backward) = true;
    }
  }
  // What a step loads at its end is for the first units of the next one.
  for (SpilledUnit& unit : units) {
    unit.in += std::exchange(loaded[static_cast<std::size_t>(unit.shard)], Bytes{});
  }
  return units;
}

Duration step_with(const SpilledPlan& plan, Buffering buffering) {
  const PlanFile& file = plan.file;
  const auto micro_batches = static_cast<int>(file.program.micro_batches.size());
  SpilledBatch batch{plan.passes, micro_batches / plan.passes, file.program.micro_batches.front()};
  batch.reloads_updated = plan.update == UpdatePlace::kHost;
  batch.clips = file.executor.optimizer == OptimizerGate::kGlobalBarrier;
  batch.buffering = buffering;
  const Program program = spilled_program(static_cast<int>(plan.shards.size()), batch);
  return simulate(program, file.prices, file.executor).step_end - SimTime{};
}

SpillAnswer spill(const SpillQuestion& question) { return Spill(question).run(); }

}  // namespace penstock
