// A stage is the sum of its sections: times and bytes add, independent spreads add as squares, the
// working peak is the largest of them, and its boundary is what its last section sends. What
// happens once per step is in step_prices.cc.
#include "costmodel/price_stages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/values/error.h"
#include "costmodel/hide_reductions.h"
#include "costmodel/interpolate.h"
#include "costmodel/links.h"
#include "costmodel/price_units.h"
#include "costmodel/step_prices.h"
#include "costmodel/transfer_prices.h"

namespace penstock {
namespace {

// Durations add; independent spreads add as squares.
class PriceSum {
 public:
  void add(const Price& price) {
    duration_ += price.duration;
    const auto spread = static_cast<double>(price.spread.count());
    variance_ += spread * spread;
  }
  [[nodiscard]] Price sum() const { return {duration_, whole_nanoseconds(std::sqrt(variance_))}; }

 private:
  Duration duration_{};
  double variance_ = 0.0;
};

ComputePrice stage_compute(const SectionTable& table, int first, int last) {
  PriceSum forward, input_gradient, weight_gradient, fused_backward, recompute;
  ComputePrice stage;
  for (int section = first; section < last; ++section) {
    const ComputePrice& price = table.sections[static_cast<std::size_t>(section)].price;
    forward.add(price.forward);
    input_gradient.add(price.input_gradient);
    weight_gradient.add(price.weight_gradient);
    fused_backward.add(price.fused_backward);
    recompute.add(price.recompute);
    stage.overlap_gain += price.overlap_gain;
    stage.forward_experts += price.forward_experts;
    stage.backward_experts += price.backward_experts;
    stage.recompute_experts += price.recompute_experts;
    stage.stash += price.stash;
    stage.weight_stash += price.weight_stash;
    stage.working_peak = std::max(stage.working_peak, price.working_peak);
  }
  stage.forward = forward.sum();
  stage.input_gradient = input_gradient.sum();
  stage.weight_gradient = weight_gradient.sum();
  stage.fused_backward = fused_backward.sum();
  stage.recompute = recompute.sum();
  // A stage without sections hands on what it was given.
  if (last > 0) stage.boundary = table.sections[static_cast<std::size_t>(last - 1)].price.boundary;
  return stage;
}

// The way from a stage to the next one, if there is a way: not at the end of a copy of the weights,
// not at the turn of a V.
RankLink boundary_link(const Plan& plan, const PlanWiring& wiring, int stage, int kind) {
  if (!plan.has_next(stage)) return {};
  const int from = plan.rank_of(stage), to = plan.rank_of(stage + 1);
  if (from == to) return {};
  if (to == (from + 1) % plan.pipeline) return wiring.link_behind(from, kind);
  RankLink link = wiring.link_behind(to, kind);  // the same wires, the other way
  std::swap(link.flows_there, link.flows_back);
  std::swap(link.from_type, link.to_type);
  return link;
}

TransferPrice transfer_price(const ClusterSpec& cluster, const RankLink& link, Bytes boundary,
                             double factor) {
  TransferPrice price;
  if (link.level < 0) return price;
  const Way there{link.level, link.from_type, link.to_type, link.flows_there, link.flows_back};
  const Way back{link.level, link.to_type, link.from_type, link.flows_back, link.flows_there};
  price.activation.duration = scaled(point_to_point_time(cluster, there, boundary), factor);
  price.gradient.duration = scaled(point_to_point_time(cluster, back, boundary), factor);
  return price;
}

// The slower of two types that were calibrated apart.
double transfer_factor(const ClusterSpec& cluster, const Plan& plan, int stage, int kind) {
  const auto factor = [&](int of) {
    const int rank = kind * plan.pipeline + plan.rank_of(of);
    return factors_for(cluster, plan.device_of_rank(rank)).transfer;
  };
  return plan.has_next(stage) ? std::max(factor(stage), factor(stage + 1)) : factor(stage);
}

// What a message takes of its two ranks' time; nothing where none was measured.
MessageCost message_cost(const ClusterSpec& cluster, Bytes bytes) {
  const auto& executor = cluster.measured_executor;
  return executor && executor->is_priced ? executor->message_of(bytes) : MessageCost{};
}

// Measured messages are one at a time between idle ranks, from before the one sends to after the
// other has it: what that takes of the ranks' own time is priced with their compute.
void leave_out_ranks(const MessageCost& message, TransferPrice& price) {
  const auto rest = [&](Price& of) {
    of.duration = std::max(of.duration - message.send - message.receive, Duration{});
  };
  rest(price.activation);
  rest(price.gradient);
}

// F takes in what arrives from the stage before and sends its activation on, a backward's input
// gradient the other way round; whatever of it runs beside another action makes that one longer.
void add_messages(const MessageCost& before, const MessageCost& behind, ComputePrice& price) {
  const Duration backward = behind.receive + before.send;
  price.forward.duration += before.receive + behind.send;
  price.input_gradient.duration += backward;
  price.fused_backward.duration += backward;
}

void require_priced(const Plan& plan, const RankTables& tables) {
  if (plan.cuts.size() != static_cast<std::size_t>(plan.stages_per_copy()) + 1) {
    throw Error(ErrorKind::kInternal,
                "price_stages: a model of " + std::to_string(plan.stages_per_copy()) +
                    " stages needs one cut more, found " + std::to_string(plan.cuts.size()));
  }
  if (tables[0].empty()) throw Error(ErrorKind::kInternal, "price_stages: no micro-batch shape");
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    const auto& of_rank = tables[rank];
    if (of_rank.size() != tables[rank / plan.pipeline * plan.pipeline].size()) {
      throw Error(ErrorKind::kInternal, "price_stages: the ranks differ in micro-batch shapes");
    }
    for (const SectionTable* table : of_rank) {
      if (!table->why_not.empty()) throw Error(ErrorKind::kInternal, table->why_not);
    }
  }
}

void price_micro_batches(const PlanWiring& wiring, const Plan& plan, const RankTables& tables,
                         StagePricing& pricing) {
  const ClusterSpec& cluster = wiring.cluster();
  std::size_t shapes = 0;
  for (int kind = 0; kind < plan.kinds(); ++kind) shapes += tables[kind * plan.pipeline].size();
  StagePrices& prices = pricing.prices;
  prices.stages = plan.stages();
  prices.shapes = static_cast<int>(shapes);
  prices.compute.reserve(static_cast<std::size_t>(prices.stages) * shapes);
  prices.transfer.reserve(prices.compute.capacity());
  std::vector<MessageCost> before(shapes), behind(shapes);  // by shape
  for (int stage = 0; stage < prices.stages; ++stage) {
    int worst_level = -1;
    std::size_t shape = 0;
    for (int kind = 0; kind < plan.kinds(); ++kind) {
      const RankLink link = boundary_link(plan, wiring, stage, kind);
      const double factor = transfer_factor(cluster, plan, stage, kind);
      worst_level = std::max(worst_level, link.level);
      for (const SectionTable* table : tables[kind * plan.pipeline + plan.rank_of(stage)]) {
        ComputePrice& compute = prices.compute.emplace_back(
            stage_compute(*table, plan.first_section(stage), plan.end_section(stage)));
        TransferPrice& transfer =
            prices.transfer.emplace_back(transfer_price(cluster, link, compute.boundary, factor));
        behind[shape] = link.level < 0 ? MessageCost{} : message_cost(cluster, compute.boundary);
        leave_out_ranks(behind[shape], transfer);
        add_messages(before[shape], behind[shape], compute);
        ++shape;
      }
    }
    before.swap(behind);
    if (stage + 1 < prices.stages) pricing.boundary_level.push_back(worst_level);
  }
}

// Where shapes differ any may be the first or the last.
OuterShapes outer_shapes(const Plan& plan, int shapes) {
  if (shapes == 1) return {{0}, {0}};
  OuterShapes outer;
  if (!plan.has_even_batch()) {
    for (int shape = 0; shape < shapes; ++shape) outer.first.push_back(shape);
    outer.last = outer.first;
    return outer;
  }
  for (const ReplicaBatch& replicas : batch_of(plan).replicas) {
    outer.first.push_back(replicas.runs.front().shape);
    outer.last.push_back(replicas.runs.back().shape);
  }
  return outer;
}

// Schedules on a loop take the micro-batches of a chunk P at a time, or all of them.
BucketRule bucket_rule(const Plan& plan, bool splits_backward) {
  BucketRule rule{splits_backward, plan.sharding != Sharding::kFsdp};
  if (plan.stage_map == StageMap::kLoop && plan.chunks > 1 && plan.has_even_batch()) {
    const std::int64_t of_replica = plan.global_batch / plan.micro_batch_size / plan.data;
    rule.beside_other_chunks = static_cast<int>(std::min<std::int64_t>(plan.pipeline, of_replica));
    rule.ranks = plan.pipeline;
  }
  rule.copies = plan.weight_copies();
  return rule;
}

}  // namespace

std::vector<BoundaryTimes> transfer_prices(const PlanWiring& wiring, const Plan& plan,
                                           const std::vector<std::int64_t>& boundary) {
  const ClusterSpec& cluster = wiring.cluster();
  const bool costs_ranks = cluster.measured_executor && cluster.measured_executor->is_priced;
  if (costs_ranks || plan.kinds() > 1 || !first_stage_knows_links(cluster)) return {};
  std::vector<BoundaryTimes> times;
  times.reserve(static_cast<std::size_t>(plan.stages()));
  for (int stage = 0; stage < plan.stages(); ++stage) {
    const auto last = static_cast<std::size_t>(plan.end_section(stage)) - 1;
    const TransferPrice price =
        transfer_price(cluster, boundary_link(plan, wiring, stage, 0), Bytes{boundary[last]},
                       transfer_factor(cluster, plan, stage, 0));
    times.push_back({price.activation.duration, price.gradient.duration});
  }
  return times;
}

StagePricing price_stages(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan,
                          const RankTables& tables, bool splits_backward) {
  return price_stages(profile, PlanWiring(cluster, plan), plan, tables, splits_backward);
}

StagePricing price_stages(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                          const RankTables& tables, bool splits_backward) {
  require_priced(plan, tables);
  StagePricing pricing;
  price_micro_batches(wiring, plan, tables, pricing);
  StepPrices steps = price_steps(profile, wiring, plan);
  pricing.prices.step = std::move(steps.step);
  pricing.prices.tied_reduce = std::move(steps.tied_reduce);
  pricing.prices.norm = steps.norm;
  price_units(profile, wiring, plan, tables, pricing.prices);
  if (profile.training.bucket_parameters > 0) {
    hide_reductions(profile.training, bucket_rule(plan, splits_backward),
                    outer_shapes(plan, pricing.prices.shapes), steps.parameters, pricing.prices);
  }
  pricing.ties = std::move(steps.ties);
  pricing.level_used = std::move(steps.level_used);
  for (const int level : pricing.boundary_level) {
    if (level >= 0) pricing.level_used[static_cast<std::size_t>(level)] = true;
  }
  for (int rank = 0; rank < plan.listed_ranks(); ++rank) {
    for (int level = 0; level <= tables[rank].front()->traffic_level; ++level) {
      pricing.level_used[static_cast<std::size_t>(level)] = true;
    }
  }
  return pricing;
}

}  // namespace penstock
