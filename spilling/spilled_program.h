// The Program of one step of a spilled model on one rank: F through the shards, B back, every shard
// loaded before it is needed and copied back once it has changed.
#pragma once

#include "core/values/program.h"

namespace penstock {

// What a step makes of its slots. The first is what plans do, the others are what it is compared
// with.
enum class Buffering {
  kLoadMissing,  // two slots; loads what is in neither: 2S - 4 loads in a pass
  kReload,       // two slots; loads before every unit but F(0), as Hydra does: 2S - 2 loads
  kOne,          // no double buffering: a load waits for the unit before it: 2S - 2 loads
};

// How a step of a spilled model goes through its batch.
struct SpilledBatch {
  int passes = 1;         // there and back through the model; gradients add up on the host
  int micro_batches = 1;  // of one pass: all of them go through a shard before the next is loaded
  MicroBatch each;
  // Shards are updated on the host: those that are on the device when a step ends are loaded anew.
  bool reloads_updated = false;
  // With these: a norm over all gradients comes before every update, so that it can clip them.
  bool clips = false;
  Buffering buffering = Buffering::kLoadMissing;
};

// A step begins and ends with shards 0 and 1 on the device, in two slots (one shard: in one), and
// with shard 0 alone where Buffering is another. A
// shard is copied back in every pass, and updated behind its last gradient, or with `clips` behind
// the norm. Error{kInternal} where the lists wait for each other.
Program spilled_program(int shards, const SpilledBatch& batch);

}  // namespace penstock
