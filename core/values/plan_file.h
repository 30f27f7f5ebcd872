// penstock.plan/2: a Plan with everything needed to replay, check and run it without the profile
// and the cluster it came from: stages by section names, prices, the lowered Program, memory,
// prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/values/calibration.h"
#include "core/values/evaluation.h"
#include "core/values/executor_model.h"
#include "core/values/json.h"
#include "core/values/model_description.h"
#include "core/values/model_flops.h"
#include "core/values/plan.h"
#include "core/values/profile.h"
#include "core/values/program.h"
#include "core/values/stage_prices.h"

namespace penstock {

struct InputFile {
  std::string path;  // as given on the command line
  std::string hash;  // content_hash()
  bool operator==(const InputFile&) const = default;
};

// What a plan file says of one device type.
struct PlanDevice {
  std::string name;
  Bytes memory;
  Bytes reserve;
  double usd_per_hour = 0.0;  // 0: unknown
  int per_node = 1;           // devices of the smallest node
  bool operator==(const PlanDevice&) const = default;
};

// The part of the cluster that a plan uses.
struct PlanCluster {
  std::string name;
  std::string device;
  Bytes memory_per_device;
  Bytes reserve;
  double usd_per_hour = 0.0;
  int devices_per_node = 1;
  std::vector<PlanDevice> other_devices;  // of a mixed plan: its other types, by first rank
  std::vector<std::string> levels;        // names, innermost first
  std::vector<int> boundary_level;  // per stage s: level of the link from s to s + 1 (-1: nothing
                                    // is sent, from one rank to itself or from one copy of the
                                    // weights to the next); S - 1 entries
  // Of a node, for stages that live in slots; 0: not known, or there are none.
  Bytes host_memory{};
  // What a device has, where the plan was to take only memory_per_device of it; 0: all.
  Bytes limited_from{};
  bool operator==(const PlanCluster&) const = default;
};

// Tied weights whose sections lie on several stages of this plan; one per entry of
// StagePrices::tied_reduce, same order.
struct PlanTie {
  std::string name;
  std::vector<int> stages;  // ascending, at least two
  bool operator==(const PlanTie&) const = default;
};

struct EstimateOption {
  std::string name, value;  // "expert-imbalance", "1.25"
  bool operator==(const EstimateOption&) const = default;
};

struct PlanFile {
  std::string model;
  std::vector<std::string> section_names;
  std::string tool_version;
  InputFile profile, cluster_file;
  Plan plan;
  PlanCluster cluster;
  std::vector<PlanTie> ties;
  ExecutorModel executor;
  StagePrices prices;
  Program program;
  Evaluation prediction;
  std::vector<std::string> not_searched;
  std::optional<ModelDescription> description{};  // of the profile, if it has one
  // What prices were calibrated with when the plan was asked for (--measured), instead of what the
  // cluster's file has.
  std::optional<Calibration> calibration{};
  std::optional<ModelFlops> flops{};  // of a model that has tokens
  // Of a plan that was made from a config.json: how the estimate was asked for, but for what is
  // usual. Names are those of the options without their dashes.
  std::vector<EstimateOption> estimate_options{};
  bool operator==(const PlanFile&) const = default;
};

// What `file` says of the devices of a pipeline rank. The rank's type must be among those of the
// cluster part.
PlanDevice device_of_rank(const PlanFile& file, int rank);

// The Program is written per rank as blocks "repeat n times, micro-batches advance by k": warm-up,
// period and drain show, and a million micro-batches take a few lines (docs/file_formats.md).
Json write_plan(const PlanFile& file);
// What stands under "plan" there, the decisions, and under "memory" and "time" of its ranks.
Json write_decisions(const Plan& plan);
Json write_memory(const MemoryUse& memory);
Json write_rank_time(const RankTime& time);
// No file stands for more actions than this: 1 GiB of them, and several times that while reading.
inline constexpr std::uint64_t kMostActions = std::uint64_t{1} << 26;

// Error{kBadInput} for anything malformed: unknown names, ids out of range, more than
// `most_actions` actions, a Program that cannot be ordered (with the cycle in action names).
PlanFile read_plan(const Json& json, const std::string& file,
                   std::uint64_t most_actions = kMostActions);

}  // namespace penstock
