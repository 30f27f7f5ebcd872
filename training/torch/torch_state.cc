#include "training/torch/torch_state.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/torch/section_store.h"

namespace penstock {

TorchState::TorchState(const ModelDescription& model, const TrainingOptions& options,
                       Device& device, std::size_t bucket_bytes)
    : TorchState(model, options, device, bucket_bytes, StoreParts{}) {}
TorchState::TorchState(const ModelDescription& model, const TrainingOptions& options,
                       Device& device, std::size_t bucket_bytes, const StoreParts& parts)
    : precision_(model.precision),
      store_(std::make_unique<SectionStore>(model, options, device, bucket_bytes, parts)) {}
TorchState::~TorchState() = default;

std::vector<SectionState> TorchState::pieces_of(const RankSetup& setup) const {
  return store_->pieces_of(setup);
}
bool TorchState::changes_in_forward() const {
  const auto& sections = store_->model().outline().sections;
  return std::ranges::any_of(
      sections, [](const SectionOutline& section) { return !section.buffers.empty(); });
}
void TorchState::lay_out(const RankSetup& setup) { store_->lay_out(setup); }
void TorchState::let_go() { store_->let_go(); }
std::size_t TorchState::peak_bytes() const { return store_->peak_bytes(); }

void TorchState::copy(const Buffer& from, const Buffer& to) {
  if (from.bytes() != to.bytes()) {
    throw Error(ErrorKind::kInternal, "a copy of " + std::to_string(from.bytes()) + " bytes to " +
                                          std::to_string(to.bytes()));
  }
  const auto options = at::TensorOptions(at::Device(store_->device().name())).dtype(at::kByte);
  const auto bytes = static_cast<std::int64_t>(from.bytes());
  at::from_blob(to.data, {bytes}, options).copy_(at::from_blob(from.data, {bytes}, options));
}

std::vector<SectionState> TorchState::section_states() { return store_->section_states(); }

std::vector<std::pair<std::string, double>> TorchState::shared_numbers() {
  std::vector<std::pair<std::string, double>> numbers{
      {"optimizer_steps", static_cast<double>(store_->optimizer_steps)}};
  if (scales_loss()) {
    numbers.emplace_back("loss_scale", store_->scaler.scale());
    numbers.emplace_back("loss_scale_good_steps", static_cast<double>(store_->scaler.good_steps()));
  }
  return numbers;
}

void TorchState::state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) {
  const std::map<std::string, double> numbers(shared.begin(), shared.end());
  const auto number = [&](const std::string& name) {
    const auto found = numbers.find(name);
    if (found != numbers.end()) return found->second;
    throw_bad_input("checkpoint: holds no number \"" + name + "\", which this run needs");
  };
  store_->optimizer_steps = static_cast<std::int64_t>(number("optimizer_steps"));
  if (!scales_loss()) return;
  store_->scaler.restore(number("loss_scale"),
                         static_cast<std::int64_t>(number("loss_scale_good_steps")));
}

}  // namespace penstock
