// What a rank needs of the device it is on. Of the pair rank_device_cpu.cc and rank_device_cuda.cc
// one is linked. Private to this folder.
#pragma once

#include <memory>
#include <string>

#include "runtime_bridge/checkpoint_snapshot.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/train_options.h"
#include "training/copy_engine.h"
#include "training/device.h"
#include "training/key_value_store.h"
#include "training/slot_link.h"
#include "training/throttled_link.h"
#include "training/transport.h"

namespace penstock {

// Error{kMissingResource} when there is no such device, or this build cannot use it.
void require_device(const std::string& name);
std::string words_of_device(const std::string& name);
std::unique_ptr<Device> make_rank_device(const std::string& name, int local_rank);
// To and from tensors of the device, for checkpoints.
BufferCopy make_rank_copy(const std::string& name);
// Of a rank whose model is spilled: no more than `limit` of memory on a CPU, where the device is
// only accounted for.
std::unique_ptr<Device> make_limited_device(const std::string& name, int local_rank, Bytes limit);
std::unique_ptr<SlotLink> make_slot_link(const std::string& name, int local_rank,
                                         const ThrottledLinkOptions& options);
// For ranks that are threads; nullptr: host memory.
std::unique_ptr<CopyEngine> make_rank_copies(const std::string& name);
// `transport` for tensors of the device: through pinned memory where it moves host memory only.
std::unique_ptr<Transport> staged(std::unique_ptr<Transport> transport, const std::string& name,
                                  int local_rank);
// `ways`: the directions in which this rank has messages under any plan of the run, ascending.
std::unique_ptr<Transport> make_nccl(const std::vector<std::pair<int, int>>& ways,
                                     const LaunchEnvironment& place, const TrainOptions& options,
                                     std::unique_ptr<KeyValueStore> store);

}  // namespace penstock
