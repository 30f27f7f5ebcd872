// From what was said of a layout to a Plan: what is missing is filled in as trainers do (as many
// replicas as the GPUs allow, equal numbers of layers), and what contradicts itself is refused with
// the option's name and a remedy. A plan without cuts is one whose cuts are searched.
#include "cli/options/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "core/values/expert_grid.h"
#include "core/values/recompute_sections.h"
#include "core/values/sharding.h"
#include "search/choose_cuts.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

// The nearest numbers of replicas, and with which of them the batch is divided evenly.
std::string help_for_replicas(const Layout& layout, int gpus, std::int64_t replica,
                              int global_batch) {
  const std::int64_t below = gpus / replica, above = below + 1;
  const auto words = [replica](std::int64_t data) {
    return fmt::format("--gpus {} (DP {})", data * replica, data);
  };
  if (below == 0) return fmt::format("write {}, or a smaller PP or TP", words(above));
  const int size = layout.micro_batch_size.value_or(1);
  const auto is_even = [&](std::int64_t data) { return global_batch % (data * size) == 0; };
  std::string help = fmt::format("write {} or {}", words(below), words(above));
  if (global_batch > 0 && is_even(below) != is_even(above)) {
    help += fmt::format("; gbs = {} is divided evenly with DP {}", global_batch,
                        is_even(below) ? below : above);
  }
  return help;
}

int data_of(const Layout& layout, const Plan& plan, const LayoutDefaults& defaults,
            std::string_view option) {
  if (!layout.replicas.empty()) {
    const int replicas = replicas_in(layout.replicas);
    if (layout.data.value_or(replicas) == replicas) return replicas;
    bad_option(option, fmt::format("DP = {}, but replicas says {}", *layout.data, replicas),
               "leave out DP");
  }
  if (layout.data) return *layout.data;
  const std::int64_t replica = std::int64_t{plan.devices_per_rank()} * plan.pipeline;
  if (defaults.gpus == 0) {
    return std::max(least_replicas(layout), layout.shards.value_or(1) / plan.context);
  }
  if (defaults.gpus < replica || defaults.gpus % replica != 0) {
    bad_option(
        option,
        fmt::format("TP {}{} x PP {} does not divide {} GPUs: a replica takes {}", plan.tensor,
                    plan.context > 1 ? fmt::format(" x CP {}", plan.context) : "", plan.pipeline,
                    defaults.gpus, replica),
        help_for_replicas(layout, static_cast<int>(defaults.gpus), replica,
                          layout.global_batch.value_or(defaults.global_batch)));
  }
  return static_cast<int>(defaults.gpus / replica);
}

int parse_product(std::string_view option, int a, int b) {
  const std::int64_t product = std::int64_t{a} * b;
  if (product <= std::numeric_limits<int>::max()) return static_cast<int>(product);
  bad_option(option, fmt::format("M = {} is too large", a), "give fewer");
}

int batch_of(const Layout& layout, const Plan& plan, const LayoutDefaults& defaults,
             std::string_view option) {
  if (!layout.replicas.empty()) {
    std::optional<int> of_each;
    if (layout.micro_batches) {
      of_each = parse_product(option, *layout.micro_batches, plan.micro_batch_size);
    }
    const auto batch = batch_in(option, layout.replicas, of_each);
    if (batch && layout.global_batch.value_or(*batch) != *batch) {
      bad_option(option,
                 fmt::format("the shares of the replicas are {} samples, not gbs = {}", *batch,
                             *layout.global_batch),
                 "leave out gbs");
    }
    if (batch) return *batch;
  } else if (layout.micro_batches) {
    const std::int64_t batch =
        std::int64_t{*layout.micro_batches} * plan.micro_batch_size * plan.data;
    if (layout.global_batch && *layout.global_batch != batch) {
      bad_option(option,
                 fmt::format("M = {} is a batch of {}, not gbs = {}", *layout.micro_batches, batch,
                             *layout.global_batch),
                 "leave out M or gbs");
    }
    if (batch <= std::numeric_limits<int>::max()) return static_cast<int>(batch);
    bad_option(option, fmt::format("M = {} is too large", *layout.micro_batches), "give fewer");
  }
  if (layout.global_batch) return *layout.global_batch;
  if (defaults.global_batch > 0) return defaults.global_batch;
  bad_option(option, "gbs is missing",
             option == "--layout"
                 ? "add the samples of a step, for example --gbs 512 (within --layout gbs=512)"
                 : "add the samples of a step, for example gbs=512");
}

// Where experts lie on ranks of their own they are whole there, unless it is said.
void set_expert_tensor(const Layout& layout, Plan& plan) {
  const int within = layout.expert_tensor.value_or(plan.expert > 1 ? 1 : plan.tensor);
  plan.expert_tensor = within == plan.tensor ? 0 : within;
}

// What zero1, sharding and FSDP say, one of them. D is set.
void set_sharding(const Layout& layout, std::string_view option, Plan& plan) {
  const int said = (layout.zero1 ? 1 : 0) + (layout.sharding ? 1 : 0) + (layout.shards ? 1 : 0);
  if (said > 1) {
    bad_option(option, "it has more than one of zero1, sharding and FSDP",
               "keep the one that says most");
  }
  plan.zero1 = layout.zero1.value_or(false);
  if (layout.sharding) set_sharding(*layout.sharding, plan);
  if (layout.shards) set_sharding({true, Sharding::kFsdp, *layout.shards}, plan);
  if (plan.shard_group == plan.weight_copies()) plan.shard_group = 0;
  plan.offload_optimizer = layout.offload;
}

// Unless it is said, ranks that have experts between them are neighbours.
void set_expert_grid(const Layout& layout, std::string_view option, Plan& plan) {
  if (plan.context == 1 && layout.context_kind) {
    bad_option(option, "cp-kind, but CP is 1", "leave it out, or add CP");
  }
  if (!layout.placement && plan.has_expert_grid()) plan.placement = Placement::kDataInner;
  if (const std::string why = why_no_expert_grid(plan); !why.empty()) {
    bad_option(option, why, "change EP, ETP or DP");
  }
}

// One of device, devices and replicas.
void set_devices(const Layout& layout, std::string_view option, Plan& plan) {
  const int said = (layout.device ? 1 : 0) + (layout.devices.empty() ? 0 : 1) +
                   (layout.replicas.empty() ? 0 : 1);
  if (said > 1) {
    bad_option(option, "it has more than one of device, devices and replicas",
               "keep the one that says most");
  }
  if (!layout.replicas.empty()) plan.device = layout.replicas.front().ranks.front().device;
  if (!layout.devices.empty()) {
    set_ranks_on(fmt::format("{} devices", option), layout.devices, plan);
  }
}

void set_schedule(const Layout& layout, std::string_view option, Plan& plan) {
  plan.schedule = layout.schedule.value_or(layout.chunks.value_or(1) > 1 ? "interleaved" : "1f1b");
  const ScheduleKind& kind = *find_schedule(plan.schedule);
  plan.stage_map = kind.map;
  plan.chunks = layout.chunks.value_or(kind.fewest_chunks);
  const bool too_many = kind.most_chunks > 0 && plan.chunks > kind.most_chunks;
  if (plan.chunks >= kind.fewest_chunks && !too_many) return;
  bad_option(option, fmt::format("{} cannot have VP = {}", plan.schedule, plan.chunks),
             kind.most_chunks == kind.fewest_chunks
                 ? fmt::format("it has VP = {}", kind.fewest_chunks)
                 : fmt::format("it has VP of {} and more", kind.fewest_chunks));
}

// The largest VP, or where one chunk is too many already the largest PP.
std::string most_stages_text(const Plan& plan, int stages, int sections) {
  const int of_one_chunk = stages / plan.chunks;
  return of_one_chunk <= sections
             ? fmt::format("VP = {} is the most with PP = {}", sections / of_one_chunk,
                           plan.pipeline)
             : fmt::format("PP = {} is the most, one section on each rank", sections);
}

void set_cuts(const Layout& layout, const ModelProfile& profile, std::string_view option,
              Plan& plan) {
  const auto sections = static_cast<int>(profile.sections.size());
  const int stages = plan.stages_per_copy();
  if (stages > sections) {
    bad_option(option,
               fmt::format("PP x VP = {} stages, but {} has {} sections", plan.stages(),
                           profile.name, sections),
               most_stages_text(plan, stages, sections));
  }
  if (!layout.cuts.empty()) {
    plan.cuts = layout.cuts;
    const bool whole = plan.cuts.front() == 0 && plan.cuts.back() == sections;
    if (whole && static_cast<int>(plan.cuts.size()) == stages + 1) return;
    bad_option(option,
               fmt::format("cuts has {} numbers from {} to {}", plan.cuts.size(), plan.cuts.front(),
                           plan.cuts.back()),
               fmt::format("{} has {} sections in {} stages: give {} numbers from 0 to {}",
                           profile.name, sections, stages, stages + 1, sections));
  }
  if (layout.default_cuts == DefaultCuts::kEqualLayers) {
    plan.cuts = equal_layer_cuts(profile, stages);
  }
}

// The plan's cuts are set, unless they are to be searched.
void set_recompute(const Layout& layout, std::string_view option, Plan& plan) {
  const std::vector<int>& counts = layout.recompute_sections;
  if (counts.empty()) return;
  if (plan.recompute == "none") {
    bad_option(option, "recompute-sections without a recompute mode",
               "add for example "
               "recompute=full");
  }
  if (plan.cuts.empty()) {
    bad_option(option, "recompute-sections counts sections of stages that are yet to be cut",
               "give the cuts as well, or leave it out");
  }
  if (counts.size() + 1 != plan.cuts.size()) {
    bad_option(option,
               fmt::format("recompute-sections has {} numbers, and there are {} stages",
                           counts.size(), plan.cuts.size() - 1),
               "give one for each stage");
  }
  for (std::size_t s = 0; s < counts.size(); ++s) {
    const int all = plan.cuts[s + 1] - plan.cuts[s];
    if (counts[s] <= all) continue;
    bad_option(option, fmt::format("stage {} has {} sections, not {}", s, all, counts[s]),
               "recompute-sections counts those that recompute");
  }
  set_recompute_sections(plan, counts);
}

}  // namespace

int least_replicas(const Layout& layout) {
  const int tensor = layout.tensor.value_or(1);
  const OtherDegrees others(layout.context.value_or(1), layout.expert.value_or(1),
                            layout.expert_tensor.value_or(layout.expert ? 1 : tensor));
  return replicas_multiple(others, tensor);
}

Plan plan_of(const Layout& layout, const ModelProfile& profile, const LayoutDefaults& defaults,
             std::string_view option) {
  Plan plan;
  plan.tensor = layout.tensor.value_or(1);
  plan.context = layout.context.value_or(1);
  plan.pipeline = layout.pipeline.value_or(1);
  plan.expert = layout.expert.value_or(1);
  plan.context_kind = layout.context_kind.value_or(ContextKind::kRing);
  set_expert_tensor(layout, plan);
  plan.data = data_of(layout, plan, defaults, option);
  plan.micro_batch_size = layout.micro_batch_size.value_or(1);
  plan.global_batch = batch_of(layout, plan, defaults, option);
  plan.sequence_length = layout.sequence_length.value_or(defaults.sequence_length);
  plan.recompute = layout.recompute.value_or("none");
  set_sharding(layout, option, plan);
  plan.placement = layout.placement.value_or(Placement::kPipelineInner);
  plan.device = layout.device.value_or(defaults.device);
  set_devices(layout, option, plan);
  if (plan.device.empty()) {
    bad_option(option, "device is missing", "the cluster has several types: add device=NAME");
  }
  if (plan.global_batch < plan.data) {
    bad_option(option,
               fmt::format("gbs = {} is less than one sample per replica", plan.global_batch),
               fmt::format("give at least {}", plan.data));
  }
  if (!layout.replicas.empty()) {
    set_replicas_on(fmt::format("{} replicas", option), layout.replicas, plan);
  }
  set_expert_grid(layout, option, plan);
  set_schedule(layout, option, plan);
  set_cuts(layout, profile, option, plan);
  set_recompute(layout, option, plan);
  return plan;
}

std::vector<int> equal_layer_cuts(const ModelProfile& profile, int stages) {
  const std::vector<Section>& sections = profile.sections;
  std::vector<int> uses(profile.section_types.size());
  for (const Section& section : sections) ++uses[static_cast<std::size_t>(section.type)];
  const auto repeats = [&](std::size_t i) {
    return uses[static_cast<std::size_t>(sections[i].type)] > 1;
  };
  std::size_t first = 0, end = sections.size();
  while (first < end && !repeats(first)) ++first;
  while (end > first && !repeats(end - 1)) --end;
  const int layers = static_cast<int>(end - first);
  if (layers < stages) return equal_cuts(static_cast<int>(sections.size()), stages);
  std::vector<int> cuts = equal_cuts(layers, stages);
  for (int& cut : cuts) cut += static_cast<int>(first);
  cuts.front() = 0;
  cuts.back() = static_cast<int>(sections.size());
  return cuts;
}

}  // namespace penstock
