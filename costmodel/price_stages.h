// ModelProfile + ClusterSpec + Plan -> StagePrices. What they rest on: assumptions.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/per_rank.h"
#include "core/values/plan.h"
#include "core/values/plan_file.h"
#include "core/values/profile.h"
#include "core/values/stage_prices.h"
#include "costmodel/plan_wiring.h"

namespace penstock {

// One section at one key (device, T, samples, sequence length, recompute mode), interpolated.
struct SectionPrice {
  ComputePrice price;         // boundary: the section's output
  Duration traffic_time{};    // of F + B + R: collectives of tensor parallelism
  Duration at_torch_rate{};   // of it what goes at TorchRing::kMostPerDevice
  bool extrapolated = false;  // outside the measured range of micro-batch size or sequence length
  // Compute time (F + B + R) by where it comes from, for intervals.
  Duration assumed_time{};        // times that are assumed, not measured
  Duration assumed_split_time{};  // measured B whose division into I and W is assumed
  Duration extrapolated_time{};
  bool launch_bound = false;  // a time was lowered to that of a larger micro-batch
};

// Something that the price of every section of one type rests on and that was not measured.
struct SectionNote {
  // Of a plan that recomputes in some sections and not in others: which of the type's it is about.
  enum class About { kAll, kRecomputed, kKept };
  int type = 0;              // index into ModelProfile::section_types
  std::string text;          // equal texts of several types are merged
  Duration touched{};        // compute time (F + B + R) of one section that it touches
  bool about_split = false;  // matters only to schedules that divide B into I and W
  About about = About::kAll;
};

// Whether there is a price. The two others are different questions: one asks for a measurement, the
// other for a smaller micro-batch.
enum class ShapeStatus { kKnown, kUntried, kOutOfMemory };

// Prices of all sections for one key, or the reason there are none.
struct SectionTable {
  ShapeStatus status = ShapeStatus::kKnown;  // unless why_not is set
  std::vector<SectionPrice> sections;  // one per section of the model; empty when why_not is set
  std::string why_not;                 // "no measurement of 'layer' for tensor degree 8 on a100"
  std::vector<SectionNote> notes;      // by type
  int traffic_level = -1;  // the outermost level that those collectives and rings use; -1: none
};

bool has_experts(const ModelProfile& profile);

// Collectives of tensor, context and expert parallelism that the profile gives apart are priced on
// the links of the cluster. A decoder length is wanted where sections know one, and refused where
// none does.
SectionTable price_sections(const ModelProfile& profile, const ClusterSpec& cluster,
                            const std::string& device, int tensor_degree, int samples,
                            int sequence_length, const std::string& recompute,
                            int decoder_length = 0, const OtherDegrees& others = {});

// The values that occur in the profile for a device, for enumeration.
std::vector<int> measured_tensor_degrees(const ModelProfile& profile, const std::string& device);
std::vector<std::string> measured_recompute_modes(const ModelProfile& profile,
                                                  const std::string& device);
// 1, and others that sections have rows for.
std::vector<int> measured_context_degrees(const ModelProfile& profile, const std::string& device);
// EP and ETP that sections with experts have rows for, with this T; of a model without: {1, 0}.
std::vector<std::pair<int, int>> measured_expert_degrees(const ModelProfile& profile,
                                                         const std::string& device,
                                                         int tensor_degree);
// Micro-batch sizes measured for every section at this (device, T, C, mode) around
// `sequence_length`.
std::vector<int> measured_micro_batch_sizes(const ModelProfile& profile, const std::string& device,
                                            int tensor_degree, int sequence_length,
                                            const std::string& recompute,
                                            const OtherDegrees& others = {});
// The longest sequence length measured; 0 when the model has no such dimension.
int default_sequence_length(const ModelProfile& profile, const std::string& device);

// A plan's stages, priced, and the links that they use.
struct StagePricing {
  StagePrices prices;
  std::vector<PlanTie> ties;        // one per entry of prices.tied_reduce
  std::vector<int> boundary_level;  // per stage boundary s -> s + 1; -1: nothing is sent
  std::vector<bool> level_used;     // per level of the cluster: by any transfer or collective
};

// The section tables of a plan's listed ranks, by their device types: one per micro-batch shape of
// the rank's kind of replicas, in the order of micro_batch_shapes(plan), each without why_not.
using RankTables = PerRank<std::vector<const SectionTable*>>;

// Prices of every stage of `plan` (its cuts are set), on the devices of `cluster` that are of its
// types. `splits_backward`: the plan's schedule divides B into I and W.
StagePricing price_stages(const ModelProfile& profile, const ClusterSpec& cluster, const Plan& plan,
                          const RankTables& tables, bool splits_backward = false);

// The same with the wiring of an equal plan, whatever its cuts, schedule and micro-batches.
StagePricing price_stages(const ModelProfile& profile, const PlanWiring& wiring, const Plan& plan,
                          const RankTables& tables, bool splits_backward = false);

}  // namespace penstock
