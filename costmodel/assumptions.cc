// Two parts. The first weighs, on the busiest rank, how much of its time rests on what was assumed
// (times from a roofline, a split of the backward, scaled sequences) and how far the medians of
// measurements are known; independent spreads add as squares and average out over micro-batches,
// errors of a median do not, since they are the same in every micro-batch. The second looks at
// links: levels without measurements, and messages larger than any that was measured.
//
// What a single assumption may be off is itself assumed, and said where its constant stands. A
// calibrated cluster replaces all of it by what its runs say (search/calibrated_interval.cc).
#include "costmodel/assumptions.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/values/durations.h"
#include "core/values/recompute_sections.h"
#include "costmodel/host_updates.h"
#include "costmodel/links.h"
#include "costmodel/sources.h"
#include "costmodel/step_prices.h"

namespace penstock {
namespace {

double ns(Duration duration) { return static_cast<double>(duration.count()); }

// Of a replica that the listed rank belongs to, the first of them.
int micro_batches(const Plan& plan, int rank) {
  const auto kind = static_cast<std::size_t>(rank / plan.pipeline);
  return std::max(replica_loads(plan)[kind].micro_batches, 1);
}

int first_shape_of(const Plan& plan, int rank) {
  return plan.has_unequal_replicas() ? shapes_of_kind(plan, rank / plan.pipeline).first : 0;
}

// How many micro-batches of every shape the listed rank takes, counted from its first shape.
std::vector<int> micro_batches_by_shape(const Plan& plan, int rank) {
  const int kind = rank / plan.pipeline, first = first_shape_of(plan, rank);
  const ShapeRange shapes = shapes_of_kind(plan, kind);
  std::vector<int> counts(static_cast<std::size_t>(shapes.end - shapes.first), 0);
  const Batch batch = batch_of(plan);
  for (const ShapeRun& run : batch.replicas[static_cast<std::size_t>(kind)].runs) {
    counts[static_cast<std::size_t>(run.shape - first)] += run.count;
  }
  return counts;
}

double rank_time(const StagePrices& prices, const Plan& plan, int rank, int shape) {
  double sum = 0.0;
  for (const int stage : plan.stages_of_rank(rank % plan.pipeline)) {
    for (const ActionKind kind :
         {ActionKind::kForward, ActionKind::kFusedBackward, ActionKind::kRecompute}) {
      sum += ns(price_alone(prices, kind, {stage, shape}));
    }
  }
  return sum;
}

// The shape that tells what the rank's times rest on: the full size; of a batch that is not even
// the one whose micro-batches take longest together.
int told_shape(const StagePrices& prices, const Plan& plan, int rank) {
  int told = first_shape_of(plan, rank);
  if (plan.has_even_batch()) return told;
  double most = 0.0;
  int shape = told;
  for (const int count : micro_batches_by_shape(plan, rank)) {
    const double time = count * rank_time(prices, plan, rank, shape);
    if (time > most) told = shape;
    most = std::max(most, time);
    ++shape;
  }
  return told;
}

// All micro-batches of a batch that is not even.
double whole_time(const StagePrices& prices, const Plan& plan, int rank) {
  double sum = 0.0;
  int shape = first_shape_of(plan, rank);
  for (const int count : micro_batches_by_shape(plan, rank)) {
    sum += count * rank_time(prices, plan, rank, shape++);
  }
  return sum;
}

// Of the listed ranks; of unequal replicas over all its micro-batches.
int busiest_rank(const StagePrices& prices, const Plan& plan) {
  const auto time = [&](int rank) {
    if (!plan.has_even_batch()) return whole_time(prices, plan, rank);
    const double one = rank_time(prices, plan, rank, first_shape_of(plan, rank));
    return plan.has_unequal_replicas() ? one * micro_batches(plan, rank) : one;
  };
  int busiest = 0;
  for (int rank = 1; rank < plan.listed_ranks(); ++rank) {
    if (time(rank) > time(busiest)) busiest = rank;
  }
  return busiest;
}

// Compute time of one full-size micro-batch on the busiest rank, and parts of it.
struct Weights {
  double total = 0.0, split = 0.0, extrapolated = 0.0;
  ErrorBand assumed_error;  // times its time
  double variance = 0.0;
  double median_error = 0.0;  // to which the times of its sections are known
  std::vector<int> recomputed_of_type, kept_of_type;  // sections

  [[nodiscard]] int sections_of(const SectionNote& note) const {
    const auto type = static_cast<std::size_t>(note.type);
    const int recomputed = note.about == SectionNote::About::kKept ? 0 : recomputed_of_type[type];
    return recomputed + (note.about == SectionNote::About::kRecomputed ? 0 : kept_of_type[type]);
  }
  [[nodiscard]] double share(double part) const {
    return total > 0.0 ? std::min(part / total, 1.0) : 0.0;
  }
};

// To which the medians of a type are known, relative to them: the error of a median of so many
// samples of a normal distribution, over all its rows. It is the same in every micro-batch.
double median_error(const SectionType& type) {
  double error = 0.0, time = 0.0;
  for (const Measurement& row : type.measurements) {
    if (row.count < 2) continue;  // not known
    const double of_one = 1.2533 / std::sqrt(static_cast<double>(row.count));
    const Timing backward = row.fused_backward.value_or(Timing{});
    error += of_one * (ns(row.forward.spread) + ns(backward.spread));
    time += ns(row.forward.median) + ns(backward.median);
  }
  return time > 0.0 ? error / time : 0.0;
}

void add_stage(const ModelProfile& profile, const SectionTable& table, const Plan& plan, int stage,
               Weights& weights) {
  const int first_kept = plan.first_section(stage) + recomputed_sections_of(plan, stage);
  for (int index = plan.first_section(stage); index < plan.end_section(stage); ++index) {
    const auto i = static_cast<std::size_t>(index);
    const SectionPrice& section = table.sections[i];
    const auto type = static_cast<std::size_t>(profile.sections[i].type);
    if (section.assumed_time > Duration{}) {
      const ErrorBand error = error_of_assumed_times(profile.section_types[type], profile.sources);
      weights.assumed_error.below += error.below * ns(section.assumed_time);
      weights.assumed_error.above += error.above * ns(section.assumed_time);
    }
    weights.split += ns(section.assumed_split_time);
    weights.extrapolated += ns(section.extrapolated_time);
    weights.median_error +=
        median_error(profile.section_types[type]) *
        ns(section.price.forward.duration + section.price.fused_backward.duration);
    ++(index < first_kept ? weights.recomputed_of_type : weights.kept_of_type)[type];
  }
}

Weights weigh_rank(const ModelProfile& profile, const SectionTable& table, const Plan& plan,
                   const StagePrices& prices, int rank) {
  Weights weights;
  const int shape = told_shape(prices, plan, rank);
  weights.total = rank_time(prices, plan, rank, shape);
  weights.recomputed_of_type.resize(profile.section_types.size());
  weights.kept_of_type.resize(profile.section_types.size());
  for (const int stage : plan.stages_of_rank(rank % plan.pipeline)) {
    add_stage(profile, table, plan, stage, weights);
    const ComputePrice& price = prices.compute_of(stage, shape);
    for (const Price& each : {price.forward, price.fused_backward, price.recompute}) {
      weights.variance += ns(each.spread) * ns(each.spread);
    }
  }
  return weights;
}

double assumed_part(const Weights& weights, double assumed_error) {
  return weights.total > 0.0 ? assumed_error / weights.total : 0.0;
}

double uncertainty_of(const Weights& weights, double assumed_error, const Plan& plan, int m,
                      double repeatability, bool splits_backward) {
  const double assumed = assumed_part(weights, assumed_error);
  const double extrapolated = kNotMeasured * weights.share(weights.extrapolated);
  // A wrong split leaves a rank's work as it is and moves only the bubble.
  const double bubble = static_cast<double>(plan.pipeline - 1) / (m + plan.pipeline - 1);
  const double split = splits_backward ? kNotMeasured * weights.share(weights.split) * bubble : 0.0;
  // The spreads of independent micro-batches average out: every stage takes M of them, or its
  // copy's share.
  const double of_stage = static_cast<double>(m) / plan.copies();
  const double measured =
      weights.total > 0.0 ? std::sqrt(weights.variance / of_stage) / weights.total : 0.0;
  const double known = weights.share(weights.median_error);
  return std::sqrt(repeatability * repeatability + assumed * assumed + extrapolated * extrapolated +
                   split * split + measured * measured + known * known);
}

void add(std::vector<Assumption>& all, std::string text, double share) {
  for (Assumption& one : all) {
    if (one.text != text) continue;
    one.share = std::min(one.share + share, 1.0);
    return;
  }
  all.push_back({std::move(text), std::min(share, 1.0)});
}

// What the values of a level for the plan's device types rest on.
void add_link(const ClusterSpec& cluster, const LinkLevel& level,
              const std::vector<std::string>& types, std::vector<Assumption>& all) {
  for (const std::string& name : types) {
    const DeviceType* type = find_device_type(cluster, name);
    const int index = type == nullptr ? -1 : static_cast<int>(type - cluster.device_types.data());
    const Source* source = unmeasured_source(cluster.sources, source_of(level, index));
    if (source == nullptr) continue;
    const bool has_curve = has_curve_for(level, index);
    add(all,
        "link " + level.name + ": " + (has_curve ? "curve " : "latency and bandwidth ") +
            origin_in_words(source->origin) + " (" + in_short(*source) + ")",
        0.0);
  }
}

void add_section_notes(const SectionTable& table, const Weights& weights, bool splits_backward,
                       double part_of_step, std::vector<Assumption>& all) {
  for (const SectionNote& note : table.notes) {
    if (note.about_split && !splits_backward) continue;
    const int sections = weights.sections_of(note);
    if (sections == 0 && note.about != SectionNote::About::kAll) continue;
    add(all, note.text, weights.share(sections * ns(note.touched)) * part_of_step);
  }
}

// Of messages larger than any that was measured: how far the time may be off, relative to it. A
// quarter for every time that the largest measured one doubles, which is assumed; a sweep that
// ended at 256 KiB was seen to be off by the whole of a reduction of 25 MB.
double beyond_error(Bytes bytes, Bytes measured) {
  double error = 0.0;
  for (double most = static_cast<double>(measured.count);
       most > 0.0 && most < static_cast<double>(bytes.count) && error < 1.0; most *= 2.0) {
    error += 0.25;
  }
  return std::min(error, 1.0);
}

std::string beyond_text(const std::string& what, Bytes bytes, Bytes measured) {
  return what + " of " + to_text(bytes) + ": measured up to " + to_text(measured) + " only";
}

std::string words_of(CollectiveKind kind) {
  if (kind == CollectiveKind::kReduceScatter) return "reduce-scatter";
  return kind == CollectiveKind::kAllGather ? "all-gather" : "all-reduce";
}

// What is sent beyond the ends of measured curves, as a part of a step whose compute takes
// `compute_ns`.
class BeyondCurves {
 public:
  BeyondCurves(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan,
               const StagePricing& pricing, double compute_ns, std::vector<Assumption>& all)
      : profile_(profile),
        cluster_(cluster),
        plan_(plan),
        pricing_(pricing),
        step_ns_(compute_ns),
        all_(all) {
    for (const StepPrice& step : pricing.prices.step) {
      longest_ = std::max({longest_, ns(step.reduce_gradient.duration + step.unshard.duration)});
    }
    step_ns_ += longest_;
  }

  // Relative to the step.
  double error() {
    if (step_ns_ <= 0.0) return 0.0;
    return reductions() + transfers();
  }

 private:
  double reductions() { return plan_.reduces_by_section() ? of_sections() : of_stages(); }

  // Each section's weights and gradients are a message of its own; what shows of them is in F and
  // B.
  double of_sections() {
    std::int64_t most = 0;
    for (const SectionType& type : profile_.section_types) {
      most = std::max(most, parameters_at(type.parameters, plan_.tensor).value_or(0));
    }
    const ComputePrice& price = pricing_.prices.compute.front();
    const int times = micro_batches(plan_, 0);
    double error =
        of_curve(CollectiveKind::kReduceScatter, profile_.training.bytes_per_gradient * most,
                 price.backward_sharded * times);
    if (plan_.gathers_by_section()) {
      error += of_curve(CollectiveKind::kAllGather, profile_.training.bytes_per_parameter * most,
                        price.forward_sharded * times);
    }
    return error;
  }

  double of_stages() {
    const StepPrice* largest = nullptr;
    for (const StepPrice& step : pricing_.prices.step) {
      if (largest == nullptr || largest->gradients < step.gradients) largest = &step;
    }
    if (plan_.weight_copies() < 2 || largest == nullptr) return 0.0;
    const CollectiveKind reduce =
        plan_.zero1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
    double error = of_curve(reduce, largest->gradients, largest->reduce_gradient.duration);
    if (plan_.zero1) {
      error += of_curve(CollectiveKind::kAllGather, largest->parameters, largest->unshard.duration);
    }
    return error;
  }

  double of_curve(CollectiveKind kind, Bytes bytes, Duration time) {
    for (const CollectiveCurve& curve : cluster_.collectives) {
      const int participants = plan_.zero1 ? plan_.shards() : plan_.weight_copies();
      if (curve.kind != kind || curve.participants != participants || curve.curve.empty()) {
        continue;
      }
      return of_message(words_of(kind), bytes, curve.curve.back().bytes, ns(time));
    }
    return 0.0;
  }

  double transfers() {
    Bytes largest;
    for (const ComputePrice& price : pricing_.prices.compute) {
      largest = std::max(largest, price.boundary);
    }
    if (plan_.stages() < 2) return 0.0;
    double longest = 0.0;
    for (const TransferPrice& price : pricing_.prices.transfer) {
      longest = std::max(longest, ns(price.activation.duration + price.gradient.duration));
    }
    double error = 0.0;
    for (std::size_t level = 0; level < cluster_.levels.size(); ++level) {
      const std::vector<CurvePoint>& curve = cluster_.levels[level].curve;
      if (!pricing_.level_used[level] || curve.empty()) continue;
      error =
          std::max(error, of_message("transfers by link " + cluster_.levels[level].name, largest,
                                     curve.back().bytes, longest * micro_batches(plan_, 0)));
    }
    return error;
  }

  double of_message(const std::string& what, Bytes bytes, Bytes measured, double time) {
    const double off = beyond_error(bytes, measured);
    if (off <= 0.0) return 0.0;
    const double share = std::min(time / step_ns_, 1.0);
    add(all_, beyond_text(what, bytes, measured), share);
    return off * share;
  }

  const ModelProfile& profile_;
  const ClusterSpec& cluster_;
  const Plan& plan_;
  const StagePricing& pricing_;
  double step_ns_, longest_ = 0.0;
  std::vector<Assumption>& all_;
};

const Calibration* calibration_of(const ClusterSpec& cluster, const Plan& plan) {
  const auto& calibration = cluster.calibration;
  if (!calibration) return nullptr;
  const std::vector<std::string> types = plan.device_types();
  const bool used = std::find(types.begin(), types.end(), calibration->device) != types.end();
  return used ? &*calibration : nullptr;
}

std::string calibration_text(const Calibration& calibration) {
  const auto permille = static_cast<int>(std::floor(1000.0 * calibration.error + 0.5));
  return "calibrated on " + std::to_string(calibration.runs) +
         (calibration.runs == 1 ? " run of " : " runs of ") + calibration.profile +
         " (error of runs left out " + std::to_string(permille / 10) + "." +
         std::to_string(permille % 10) + " %)";
}

}  // namespace

PriceBasis weigh_assumptions(const ModelProfile& profile, const ClusterSpec& cluster,
                             const Plan& plan, const RankTables& tables,
                             const StagePricing& pricing, bool splits_backward) {
  const int busiest = busiest_rank(pricing.prices, plan);
  const std::vector<const SectionTable*>& shapes = tables[busiest];
  const int told = told_shape(pricing.prices, plan, busiest) - first_shape_of(plan, busiest);
  const Weights weights =
      weigh_rank(profile, *shapes[static_cast<std::size_t>(told)], plan, pricing.prices, busiest);
  const Calibration* calibration = calibration_of(cluster, plan);
  const int of_busiest = micro_batches(plan, busiest);
  PriceBasis basis;
  const double repeatability = calibration ? std::max(kRunToRun, calibration->error) : kRunToRun;
  const auto side = [&](double assumed_error) {
    return uncertainty_of(weights, assumed_error, plan, of_busiest, repeatability, splits_backward);
  };
  basis.interval = {std::min(side(weights.assumed_error.below), 1.0),
                    side(weights.assumed_error.above)};
  const double assumed = assumed_part(weights, weights.assumed_error.above);
  basis.before_calibration = std::sqrt(repeatability * repeatability + assumed * assumed);
  const std::vector<int> counts = micro_batches_by_shape(plan, busiest);
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    const bool all = plan.has_even_batch() && shape == 0;  // but for a short one
    const double part = all ? 1.0 : static_cast<double>(std::max(counts[shape], 1)) / of_busiest;
    add_section_notes(*shapes[shape], weights, splits_backward, part, basis.assumptions);
  }
  const double beyond =
      BeyondCurves(profile, cluster, plan, pricing, weights.total * of_busiest, basis.assumptions)
          .error();
  if (beyond > 0.0) {
    basis.interval.below =
        std::min(std::sqrt(basis.interval.below * basis.interval.below + beyond * beyond), 1.0);
    basis.interval.above = std::sqrt(basis.interval.above * basis.interval.above + beyond * beyond);
  }
  if (calibration) add(basis.assumptions, calibration_text(*calibration), 0.0);
  const bool is_on_host = plan.offload_optimizer && plan.device != kCpuDevice;
  if (is_on_host) {
    add(basis.assumptions,
        "the host of a node updates a billion parameters in 0.22 s, as ZeRO-Offload's Adam does, "
        "for all its ranks together",
        0.0);
  }
  if (!profile.training.optimizer_ps_per_parameter && !is_on_host) {
    add(basis.assumptions, "optimizer priced from memory bandwidth", 0.0);
  }
  if (const Source* source = unmeasured_source(profile.sources, profile.training.source)) {
    add(basis.assumptions,
        "training state per parameter " + origin_in_words(source->origin) + " (" +
            in_short(*source) + ")",
        0.0);
  }
  const std::vector<std::string> types = plan.device_types();
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    if (!pricing.level_used[level]) continue;
    add_link(cluster, cluster.levels[level], types, basis.assumptions);
  }
  return basis;
}

}  // namespace penstock
