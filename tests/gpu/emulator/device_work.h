// A RingWork on an emulated GPU: every piece of compute is a kernel on the rank's stream, which
// runs when the device comes to it. What it hands out lies in memory of the device, so a message
// that overtakes the kernel that makes it, or is overwritten before it is sent, shows in the
// weights.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime_bridge/rank_program.h"
#include "tests/runtime_bridge/ring_work.h"
#include "training/cuda/cuda_stream.h"
#include "training/device.h"
#include "training/rank_work.h"

namespace penstock::testing {

struct DeviceHabits {
  bool warms_up = true;
  // The device's synchronize(), which waits for the rank's stream. False: waits for all streams.
  bool waits_for_stream_only = true;
};

class DeviceWork : public RankWork {
 public:
  DeviceWork(const RingModel& model, const RankProgram& program, const CudaStream& stream,
             Device& device, const DeviceHabits& habits);
  [[nodiscard]] const RingWork& ring() const { return ring_; }

  void warm_up() override;
  void begin_step(std::int64_t step) override;
  void compute(ActionKind kind, int stage, int micro_batch) override;
  void synchronize() override;
  Buffer activation_to_receive(int stage, int micro_batch) override;
  Buffer gradient_to_receive(int stage, int micro_batch) override;
  Buffer activation_to_send(int stage, int micro_batch) override;
  Buffer gradient_to_send(int stage, int micro_batch) override;
  void sent_activation(int stage, int micro_batch) override;
  void sent_gradient(int stage, int micro_batch) override;
  void hand_on_activation(int stage, int micro_batch) override;
  void hand_on_gradient(int stage, int micro_batch) override;
  std::vector<Buffer> gradients(int stage) override;
  Buffer tied_gradient(int tie, int stage) override;
  void add_tied_gradient(int tie, int from_stage, int to_stage) override;
  void copy_tied_gradient(int tie, int from_stage, int to_stage) override;
  NormShare norm_share() override;
  void set_global_norm(const NormShare& all) override;
  void optimize(int stage) override;
  std::vector<Buffer> parameters_to_gather(int stage) override;
  void gathered(int stage) override;

 private:
  using Key = std::pair<int, int>;  // stage and micro-batch

  void launch(const std::string& kernel, std::function<void()> body);
  // What `ask` returns, as memory of the device; at once.
  Buffer on_device(const std::function<Buffer()>& ask) const;
  std::vector<Buffer> all_on_device(const std::function<std::vector<Buffer>()>& ask) const;
  [[nodiscard]] Buffer outgoing(std::map<Key, Numbers>& numbers, Key key);

  const RankProgram& program_;
  const CudaStream& stream_;
  Device& device_;
  DeviceHabits habits_;
  RingWork ring_;
  std::map<Key, Numbers> activations_, gradients_;  // that are sent
  std::set<Key> sends_activation_, sends_gradient_;
};

}  // namespace penstock::testing
