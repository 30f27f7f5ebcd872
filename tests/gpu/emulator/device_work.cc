#include "tests/gpu/emulator/device_work.h"

#include <cstring>
#include <memory>

#include "tests/gpu/emulator/emulated_gpus.h"
#include "training/cuda/check_cuda.h"

namespace penstock::testing {
namespace {

EmulatedGpus& gpus() { return EmulatedGpus::instance(); }

}  // namespace

DeviceWork::DeviceWork(const RingModel& model, const RankProgram& program, const CudaStream& stream,
                       Device& device, const DeviceHabits& habits)
    : program_(program),
      stream_(stream),
      device_(device),
      habits_(habits),
      ring_(model, program.setup) {
  for (const RankAction& action : program.actions) {
    const Key key{action.stage, action.micro_batch};
    if (action.kind == ActionKind::kSendActivation) sends_activation_.insert(key);
    if (action.kind == ActionKind::kSendGradient) sends_gradient_.insert(key);
  }
}

void DeviceWork::launch(const std::string& kernel, std::function<void()> body) {
  gpus().launch(stream_.get(), kernel, std::move(body));
}

void DeviceWork::warm_up() {
  if (!habits_.warms_up) return;
  for (const char* kernel : {"zero", "forward", "backward", "recompute", "tied", "optimizer"}) {
    launch(kernel, [] {});
  }
}

void DeviceWork::begin_step(std::int64_t step) {
  launch("zero", [this, step] { ring_.begin_step(step); });
}

void DeviceWork::compute(ActionKind kind, int stage, int micro_batch) {
  // As LibTorch brings samples to a GPU: from memory that is not pinned, so the host waits.
  const bool is_forward = kind == ActionKind::kForward;
  for (const StageSetup& setup : program_.setup.stages) {
    const bool takes_samples = setup.takes_input || setup.ends_in_loss;
    if (!is_forward || setup.stage != stage || !takes_samples) continue;
    check_cuda(cudaStreamSynchronize(stream_.get()), "bring samples to the device");
  }
  const char* const name = is_forward                       ? "forward"
                           : kind == ActionKind::kRecompute ? "recompute"
                                                            : "backward";
  const Key key{stage, micro_batch};
  const auto samples = static_cast<std::size_t>(
      program_.setup.micro_batches[static_cast<std::size_t>(micro_batch)].samples);
  const bool makes_gradient =
      kind == ActionKind::kInputGradient || kind == ActionKind::kFusedBackward;
  const bool sends = (is_forward && sends_activation_.count(key) > 0) ||
                     (makes_gradient && sends_gradient_.count(key) > 0);
  Numbers* const out = !sends ? nullptr : is_forward ? &activations_[key] : &gradients_[key];
  if (out != nullptr) out->assign(samples, 0);
  launch(name, [this, kind, stage, micro_batch, out] {
    ring_.compute(kind, stage, micro_batch);
    if (out == nullptr) return;
    const bool of_forward = kind == ActionKind::kForward;
    const Buffer made = of_forward ? ring_.activation_to_send(stage, micro_batch)
                                   : ring_.gradient_to_send(stage, micro_batch);
    std::memcpy(out->data(), made.data, made.bytes());
    of_forward ? ring_.sent_activation(stage, micro_batch)
               : ring_.sent_gradient(stage, micro_batch);
  });
}

void DeviceWork::synchronize() {
  if (habits_.waits_for_stream_only) return device_.synchronize();
  check_cuda(cudaDeviceSynchronize(), "wait for the device");
}

Buffer DeviceWork::on_device(const std::function<Buffer()>& ask) const {
  Buffer buffer;
  gpus().exclusively([&] { buffer = ask(); });
  buffer.on_device = true;
  buffer.stream = stream_.get();
  return buffer;
}

std::vector<Buffer> DeviceWork::all_on_device(
    const std::function<std::vector<Buffer>()>& ask) const {
  std::vector<Buffer> buffers;
  gpus().exclusively([&] { buffers = ask(); });
  for (Buffer& buffer : buffers) {
    buffer.on_device = true;
    buffer.stream = stream_.get();
  }
  return buffers;
}

Buffer DeviceWork::outgoing(std::map<Key, Numbers>& numbers, Key key) {
  Numbers& values = numbers.at(key);
  return on_device([&] {
    return Buffer{reinterpret_cast<std::byte*>(values.data()), values.size(), ElementType::kInt64};
  });
}

Buffer DeviceWork::activation_to_receive(int stage, int micro_batch) {
  return on_device([&] { return ring_.activation_to_receive(stage, micro_batch); });
}
Buffer DeviceWork::gradient_to_receive(int stage, int micro_batch) {
  return on_device([&] { return ring_.gradient_to_receive(stage, micro_batch); });
}
Buffer DeviceWork::activation_to_send(int stage, int micro_batch) {
  return outgoing(activations_, {stage, micro_batch});
}
Buffer DeviceWork::gradient_to_send(int stage, int micro_batch) {
  return outgoing(gradients_, {stage, micro_batch});
}
// Memory that is free again may be overwritten at once.
void DeviceWork::sent_activation(int stage, int micro_batch) {
  gpus().exclusively([&] { activations_.erase({stage, micro_batch}); });
}
void DeviceWork::sent_gradient(int stage, int micro_batch) {
  gpus().exclusively([&] { gradients_.erase({stage, micro_batch}); });
}
void DeviceWork::hand_on_activation(int stage, int micro_batch) {
  launch("forward", [=, this] { ring_.hand_on_activation(stage, micro_batch); });
}
void DeviceWork::hand_on_gradient(int stage, int micro_batch) {
  launch("backward", [=, this] { ring_.hand_on_gradient(stage, micro_batch); });
}

std::vector<Buffer> DeviceWork::gradients(int stage) {
  return all_on_device([&] { return ring_.gradients(stage); });
}
Buffer DeviceWork::tied_gradient(int tie, int stage) {
  return on_device([&] { return ring_.tied_gradient(tie, stage); });
}
void DeviceWork::add_tied_gradient(int tie, int from_stage, int to_stage) {
  launch("tied", [=, this] { ring_.add_tied_gradient(tie, from_stage, to_stage); });
}
void DeviceWork::copy_tied_gradient(int tie, int from_stage, int to_stage) {
  launch("tied", [=, this] { ring_.copy_tied_gradient(tie, from_stage, to_stage); });
}

NormShare DeviceWork::norm_share() {
  check_cuda(cudaStreamSynchronize(stream_.get()), "read the loss");
  NormShare share;
  gpus().exclusively([&] { share = ring_.norm_share(); });
  return share;
}
void DeviceWork::set_global_norm(const NormShare& all) {
  gpus().exclusively([&] { ring_.set_global_norm(all); });
}
void DeviceWork::optimize(int stage) {
  launch("optimizer", [this, stage] { ring_.optimize(stage); });
}
std::vector<Buffer> DeviceWork::parameters_to_gather(int stage) {
  return all_on_device([&] { return ring_.parameters_to_gather(stage); });
}
void DeviceWork::gathered(int stage) {
  launch("optimizer", [this, stage] { ring_.gathered(stage); });
}

}  // namespace penstock::testing
