// Checks sizes, signs and magnitudes before any schedule adds them up: with every sum below 2^62
// the schedulers can add durations and bytes without looking at overflow. Products are estimated in
// doubles, whose rounding does not matter at such a distance. Errors name the stage and the value.
#include "simulator/schedules/automatic_input.h"

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

// Above what a 64-bit sum of a step may reach; a power of two, exact in a double.
constexpr double kMost = 4'611'686'018'427'387'904.0;  // 2^62

void check_sizes(const StageCosts& costs, std::size_t chunks, int micro_batches) {
  const std::size_t stages = costs.forward.size();
  bool same = stages > 0 && micro_batches > 0 && stages == costs.limit.size() * chunks;
  for (const auto* times : {&costs.input_gradient, &costs.weight_gradient}) {
    same = same && times->size() == stages;
  }
  for (const auto* times : {&costs.activation, &costs.gradient}) {
    same = same && times->size() + 1 == stages;
  }
  for (const auto* memory :
       {&costs.taken_by_forward, &costs.freed_by_input_gradient, &costs.freed_by_weight_gradient}) {
    same = same && memory->size() == stages;
  }
  if (!same) throw Error(ErrorKind::kInternal, "automatic schedule: costs of different sizes");
}

// `additions`: how often the sum of all durations may be added up.
void check_times(const StageCosts& costs, double additions) {
  double sum = 0;
  for (const auto* times : {&costs.forward, &costs.input_gradient, &costs.weight_gradient,
                            &costs.activation, &costs.gradient}) {
    for (const Duration time : *times) {
      if (time < Duration{0}) {
        throw_bad_input(
            fmt::format("automatic schedule: a duration of {} ns is negative; durations "
                        "must be at least 0",
                        time.count()));
      }
      sum += static_cast<double>(time.count());
    }
  }
  if (sum * additions < kMost) return;
  throw_bad_input(
      fmt::format("automatic schedule: {:.3g} ns for one micro-batch, {} times, could exceed what "
                  "64 bits hold; are the units right?",
                  sum, additions));
}

void check_memory(const StageCosts& costs, double additions) {
  for (std::size_t s = 0; s < costs.forward.size(); ++s) {
    const std::int64_t taken = costs.taken_by_forward[s];
    const std::int64_t by_input = costs.freed_by_input_gradient[s];
    const std::int64_t by_weight = costs.freed_by_weight_gradient[s];
    // Compared as a difference: a sum of wild values could overflow.
    if (taken < 0 || by_input < 0 || by_weight < 0 || taken - by_input != by_weight) {
      throw_bad_input(
          fmt::format("automatic schedule: stage {}: F takes {} of memory, I gives back {} "
                      "and W {}; they must be at least 0, and F must take what I and W "
                      "give back",
                      s, taken, by_input, by_weight));
    }
    if (static_cast<double>(taken) * additions >= kMost) {
      throw_bad_input(
          fmt::format("automatic schedule: stage {}: {} of memory, {} times, exceeds what "
                      "64 bits hold; are the units right?",
                      s, taken, additions));
    }
  }
}

}  // namespace

void check_costs(const StageCosts& costs, int chunks_per_rank, int micro_batches) {
  check_sizes(costs, static_cast<std::size_t>(chunks_per_rank), micro_batches);
  // On the V every stage is reckoned to cost as much as the most expensive one.
  const auto stages = static_cast<double>(costs.forward.size());
  check_times(costs, chunks_per_rank == 1 ? micro_batches : micro_batches * stages);
  check_memory(costs, 2 * (micro_batches + stages));
}

std::string why_no_forward_fits(const StageCosts& costs) {
  std::size_t worst = 0;
  double worst_lack = 0;  // a double, since a wild limit could overflow the difference
  for (std::size_t s = 0; s < costs.limit.size(); ++s) {
    const double lack =
        static_cast<double>(costs.taken_by_forward[s]) - static_cast<double>(costs.limit[s]);
    if (costs.taken_by_forward[s] > costs.limit[s] && lack > worst_lack) {
      worst = s;
      worst_lack = lack;
    }
  }
  if (worst_lack == 0) return "";
  return fmt::format(
      "stage {0} needs {1} for the activation of one micro-batch, and the limit of rank {0} is "
      "{2}: "
      "a limit of {1} there would do, or smaller micro-batches",
      worst, costs.taken_by_forward[worst], costs.limit[worst]);
}

std::vector<PipelineStage> pipeline_stages(const StageCosts& costs) {
  std::vector<PipelineStage> stages(costs.forward.size());
  Duration beyond{0};  // from the end of F here to the start of I
  for (std::size_t s = stages.size(); s-- > 0;) {
    PipelineStage& stage = stages[s];
    stage.forward = costs.forward[s];
    stage.input_gradient = costs.input_gradient[s];
    stage.weight_gradient = costs.weight_gradient[s];
    if (s > 0) stage.activation = costs.activation[s - 1];
    if (s + 1 < stages.size()) stage.gradient = costs.gradient[s];
    stage.work = stage.forward + stage.input_gradient + stage.weight_gradient;
    stage.round_trip = stage.forward + beyond + stage.input_gradient;
    if (s > 0) beyond = costs.activation[s - 1] + stage.round_trip + costs.gradient[s - 1];
    stage.taken = costs.taken_by_forward[s];
    stage.freed_by_input = costs.freed_by_input_gradient[s];
    stage.freed_by_weight = costs.freed_by_weight_gradient[s];
  }
  return stages;
}

}  // namespace penstock
