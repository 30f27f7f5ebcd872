// A slow rank scales all compute prices of its stages, a slow link the transfers of every boundary
// between its two ranks, in both directions; factors round up. Prices are by stage, so with
// replicas the scenario holds for that rank of every replica. What the pipeline does not have is
// refused by name.
#include "simulator/scenario.h"

#include <fmt/format.h>

#include "core/values/durations.h"
#include "core/values/error.h"

namespace penstock {
namespace {

void slow(Price& price, Factor factor) {
  price.duration = scaled(price.duration, factor);
  price.spread = scaled(price.spread, factor);
}

// Where the stages of every pipeline sit, by its own ranks: all pipelines share it.
class Placed {
 public:
  explicit Placed(const Program& program) : pipeline_(program.pipelines.at(0)), program_(program) {}

  [[nodiscard]] int ranks() const { return pipeline_.ranks; }
  [[nodiscard]] int stages() const { return pipeline_.stages; }
  [[nodiscard]] int rank_of(int stage) const {
    return stage_at(stage).rank.value - pipeline_.first_rank;
  }
  // Whether a transfer from `stage` to its next crosses this link.
  [[nodiscard]] bool crosses(int stage, const SlowLink& link) const {
    const StageId next = stage_at(stage).next;
    if (next == kNoStage) return false;
    const int from = rank_of(stage), to = rank_of(next.value - pipeline_.first_stage);
    return (from == link.one && to == link.other) || (from == link.other && to == link.one);
  }

 private:
  [[nodiscard]] const Stage& stage_at(int stage) const {
    return program_.stages.at(static_cast<std::size_t>(pipeline_.first_stage) +
                              static_cast<std::size_t>(stage));
  }
  const Pipeline& pipeline_;
  const Program& program_;
};

std::string why_no_rank(int rank, const Placed& placed) {
  if (rank >= 0 && rank < placed.ranks()) return "";
  return fmt::format("slow rank {}: the pipeline has ranks 0 to {}", rank, placed.ranks() - 1);
}

std::string why_no_link(const SlowLink& link, const Placed& placed) {
  for (const int rank : {link.one, link.other}) {
    if (auto why = why_no_rank(rank, placed); !why.empty()) return why;
  }
  if (link.one != link.other) {
    for (int stage = 0; stage < placed.stages(); ++stage) {
      if (placed.crosses(stage, link)) return "";
    }
  }
  return fmt::format("slow link {}-{}: no stage of one rank sends to a stage of the other",
                     link.one, link.other);
}

// Whether the micro-batches of a pipeline have this shape.
bool has_shape(const Program& program, int pipeline, int shape) {
  const Pipeline& of = program.pipelines[static_cast<std::size_t>(pipeline)];
  for (std::uint32_t m = 0; m < of.micro_batches; ++m) {
    if (program.micro_batches[of.first_micro_batch + m].shape == shape) return true;
  }
  return false;
}

// By shape: whether the scenario is about it. Of a pipeline that shares one: Error{kInternal}.
std::vector<bool> slowed_shapes(const Program& program, const SlowRank& slow_rank, int shapes) {
  std::vector<bool> slowed(static_cast<std::size_t>(shapes), true);
  if (!slow_rank.pipeline) return slowed;
  for (int shape = 0; shape < shapes; ++shape) {
    slowed[static_cast<std::size_t>(shape)] = has_shape(program, *slow_rank.pipeline, shape);
    for (std::size_t other = 0; other < program.pipelines.size(); ++other) {
      if (static_cast<int>(other) == *slow_rank.pipeline) continue;
      if (slowed[static_cast<std::size_t>(shape)] &&
          has_shape(program, static_cast<int>(other), shape)) {
        throw Error(ErrorKind::kInternal, "a pipeline is slowed that shares its prices");
      }
    }
  }
  return slowed;
}

void slow_stage(StagePrices& prices, int stage, Factor factor, const std::vector<bool>& slowed) {
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  const auto first = static_cast<std::size_t>(stage) * shapes;
  for (std::size_t i = first; i < first + shapes; ++i) {
    if (!slowed[i - first]) continue;
    for (const ComputeTime time : kComputeTimes) slow(prices.compute.at(i).*time, factor);
    prices.compute[i].overlap_gain = scaled(prices.compute[i].overlap_gain, factor);
  }
  slow(prices.step.at(static_cast<std::size_t>(stage)).optimizer, factor);
}

void slow_boundary(StagePrices& prices, int stage, Factor factor) {
  const auto shapes = static_cast<std::size_t>(prices.shapes);
  const auto first = static_cast<std::size_t>(stage) * shapes;
  for (std::size_t i = first; i < first + shapes; ++i) {
    slow(prices.transfer.at(i).activation, factor);
    slow(prices.transfer[i].gradient, factor);
  }
}

}  // namespace

std::string why_not_slowed(const Program& program, const Scenario& scenario) {
  const Placed placed(program);
  for (const SlowRank& slow_rank : scenario.ranks) {
    if (auto why = why_no_rank(slow_rank.rank, placed); !why.empty()) return why;
  }
  for (const SlowLink& link : scenario.links) {
    if (auto why = why_no_link(link, placed); !why.empty()) return why;
  }
  return "";
}

StagePrices slowed(StagePrices prices, const Program& program, const Scenario& scenario) {
  if (const auto why = why_not_slowed(program, scenario); !why.empty()) throw_bad_input(why);
  const Placed placed(program);
  for (const SlowRank& slow_rank : scenario.ranks) {
    const std::vector<bool> shapes = slowed_shapes(program, slow_rank, prices.shapes);
    for (int stage = 0; stage < prices.stages; ++stage) {
      if (placed.rank_of(stage) == slow_rank.rank) {
        slow_stage(prices, stage, slow_rank.factor, shapes);
      }
    }
  }
  for (const SlowLink& link : scenario.links) {
    for (int stage = 0; stage < prices.stages; ++stage) {
      if (placed.crosses(stage, link)) slow_boundary(prices, stage, link.factor);
    }
  }
  return prices;
}

}  // namespace penstock
