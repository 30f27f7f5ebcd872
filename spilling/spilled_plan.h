// A plan for a model that does not fit its device: one device, its shards on the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/plan_file.h"
#include "costmodel/host_updates.h"
#include "search/evaluate.h"
#include "spilling/best_shards.h"
#include "spilling/shards.h"
#include "spilling/spilled_program.h"

namespace penstock {

// What the host does behind the copy of a gradient, in picoseconds per parameter.
struct HostOptimizer {
  double update = kHostUpdatePsPerParameter;
  double norm = 0.0;  // squares, where gradients are clipped; 0: beside the copies at no cost
};

struct SpillQuestion {
  PlanInputs inputs;
  std::string device;  // a type of the cluster
  HostOfNode host;
  HostOptimizer optimizer{};
  int global_batch = 1;
  int sequence_length = 0;
  std::optional<int> micro_batch_size;  // else every measured one that divides the batch
  // Whether gradients are to be clipped by their norm over all of them: then they are updated on
  // the host, behind the last copy back.
  bool clips = false;
  std::vector<int> last_sections;  // of the shards, as the user lists them; empty: searched
};

// Where the optimizer runs and keeps its state.
enum class UpdatePlace {
  kHost,    // gradients travel there, and parameters come back
  kDevice,  // its state travels with the parameters
};

struct SpilledShard {
  int first = 0, end = 0;  // sections
  Bytes state;             // in its slot
  ShardTime time;          // of one pass
};

struct SpilledPlan {
  PlanFile file;  // complete but for what the program knows of itself and its inputs
  UpdatePlace update = UpdatePlace::kHost;
  std::string partitioner;  // "pilot", "best", "listed"
  int passes = 1;           // through the model in a step
  std::vector<SpilledShard> shards;
  Duration compute{};      // of a step
  Duration closed_form{};  // of a step, by closed_form()
  Duration loading{};      // all loads of a step, one after the other
  double hidden = 0.0;     // the share of `loading` during which the device computes
  Bytes host;              // what the shards take there
  Bytes loaded, stored;    // in a step

  [[nodiscard]] Duration step() const { return file.prediction.step_time; }
};

// The units of a step, in order: F(0), ..., F(S-2), forward and backward of the last shard in one
// unit, B(S-2), ..., B(0), in every pass.
struct SpilledUnit {
  int pass = 0, shard = 0;
  bool forward = false, backward = false;
  Bytes in;   // loaded for it; behind the last unit: for those of the next step
  Bytes out;  // copied back behind it
  Duration compute{};
};
std::vector<SpilledUnit> units_of_step(const SpilledPlan& plan);

// A step of the same shards, prices and executor with another use of the slots.
Duration step_with(const SpilledPlan& plan, Buffering buffering);

struct SpillAnswer {
  std::optional<SpilledPlan> plan;  // the fastest that was found
  std::string why_not;              // where there is none
  int tried = 0;                    // plans that were replayed
};

// Tries micro-batch sizes, passes and places of the optimizer; of each the greedy partition, and
// the best ones of as many shards and of up to three more. Everything is replayed.
SpillAnswer spill(const SpillQuestion& question);

}  // namespace penstock
