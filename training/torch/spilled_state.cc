// Two stores of sections. That on the device has the modules, and only the stages that are in slots
// now; that on the host has all stages and modules that compute nothing. On a CPU both are the same
// memory, of which the link has the pools; what is on the way to them is on a thread without a
// device, so that it does not count as the device's (cpu_device.h).
#include "training/torch/spilled_state.h"

#include <algorithm>
#include <future>
#include <set>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/torch/element_types.h"
#include "training/torch/section_module.h"
#include "training/torch/section_store.h"

namespace penstock {
namespace {

// Holds weights for a section that computes elsewhere; what its forward changes is there.
class StoredSection : public SectionModule {
 public:
  StoredSection(std::size_t parameters, const SectionModule& computes) {
    weights_.resize(parameters);
    buffers_ = computes.buffers();
  }
  Tensors forward(const Tensors& /*handed*/, const Tensors& /*inputs*/,
                  std::optional<std::uint64_t> /*draw*/) override {
    throw Error(ErrorKind::kInternal, "a section in host memory computes nothing");
  }
  void bind(std::size_t parameter, const at::Tensor& storage) override {
    weights_[parameter] = storage;
  }
};

}  // namespace

// Where the pools are, and the optimizer of the host runs.
class SpilledState::HostMemory : public Device {
 public:
  std::string name() const override { return "cpu"; }
  bool is_gpu() const override { return false; }
  void* stream() const override { return nullptr; }
  void synchronize() override {}
  std::unique_ptr<Stopwatch> stopwatch() override {
    throw Error(ErrorKind::kInternal, "host memory computes nothing to measure");
  }
  Bytes held_memory() override { return {}; }
  Bytes peak_memory() override { return {}; }
  void reset_peak_memory() override {}
};

SpilledState::SpilledState(const ModelDescription& model, const TrainingOptions& options,
                           Device& device, SlotLink& link, std::size_t bucket_bytes)
    : device_(device),
      link_(link),
      memory_(std::make_unique<HostMemory>()),
      on_device_(std::make_unique<TorchState>(model, options, device, bucket_bytes)),
      on_host_(std::make_unique<TorchState>(
          model, options, *memory_, bucket_bytes,
          StoreParts{[this](int section) { return stored_section(section); },
                     [this](std::int64_t elements, at::ScalarType type) {
                       return zeros_on_host(elements, type);
                     }})) {}
SpilledState::~SpilledState() = default;

std::shared_ptr<SectionModule> SpilledState::stored_section(int section) {
  SectionStore& computes = on_device_->store();
  const SectionOutline& outline =
      computes.model().outline().sections[static_cast<std::size_t>(section)];
  return std::make_shared<StoredSection>(outline.parameters.size(), *computes.section(section));
}

at::Tensor SpilledState::zeros_on_host(std::int64_t elements, at::ScalarType type) {
  const auto bytes = static_cast<std::size_t>(elements) * c10::elementSize(type);
  host_bytes_ += bytes;
  return at::from_blob(link_.allocate(bytes), {elements}, at::TensorOptions().dtype(type));
}

SectionStore& SpilledState::on_host() { return on_host_->store(); }
TorchState& SpilledState::on_device() { return *on_device_; }

std::vector<SectionState> SpilledState::pieces_of(const RankSetup& setup) const {
  return on_host_->pieces_of(with_ties(setup));
}
bool SpilledState::changes_in_forward() const { return on_host_->changes_in_forward(); }

RankSetup SpilledState::with_ties(const RankSetup& setup) const {
  RankSetup tied = setup;
  tied.ties.clear();
  for (const TieOutline& tie : on_host_->store().model().outline().ties) {
    std::set<int> stages;
    for (const StageSetup& stage : setup.stages) {
      const bool has = std::ranges::any_of(tie.sections, [&](int section) {
        return stage.first_section <= section && section < stage.end_section;
      });
      if (has) stages.insert(stage.stage);
    }
    if (stages.size() > 1) tied.ties.push_back({tie.name, {stages.begin(), stages.end()}});
  }
  return tied;
}

void SpilledState::lay_out(const RankSetup& setup) {
  if (is_laid_out_) throw Error(ErrorKind::kInternal, "spilled stages are laid out once");
  is_laid_out_ = true;
  SectionStore& computes = on_device_->store();
  for (const StageSetup& stage : setup.stages) {
    for (int s = stage.first_section; s < stage.end_section; ++s) {
      const bool keeps = !computes.section(s)->buffers().empty();
      if (!keeps || !device_.is_gpu()) continue;
      throw_bad_input("section " +
                      computes.model().outline().sections[static_cast<std::size_t>(s)].name +
                      " changes buffers in its forward, which a spilled model cannot on a GPU; "
                      "train it on the CPU, or with all of it on GPUs");
    }
  }
  const RankSetup tied = with_ties(setup);
  std::async(std::launch::async, [&] { on_host_->lay_out(tied); }).get();
}

void SpilledState::copy(const Buffer& from, const Buffer& to) { on_host_->copy(from, to); }
void SpilledState::let_go() { on_host_->let_go(); }

std::vector<SectionState> SpilledState::section_states() { return on_host_->section_states(); }
std::vector<std::pair<std::string, double>> SpilledState::shared_numbers() {
  return on_device_->shared_numbers();
}
void SpilledState::state_was_loaded(const std::vector<std::pair<std::string, double>>& shared) {
  on_device_->state_was_loaded(shared);
}

}  // namespace penstock
