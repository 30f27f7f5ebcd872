// A slot is one block of bytes; a stage that is brought there has its segments one after the other
// in it, and is bound to these places. Tensors are made of bare addresses and not of views, since
// views of one block share autograd's count of changes: a gradient that is added would look like a
// changed weight.
//
// Which slot a LOAD takes follows from the list alone: the one that was let go first. Gradients of
// several passes add up in host memory, in the order of the passes; with one micro-batch per pass
// these are the sums of a run without slots, bit for bit. Where updates wait for the norm, squares
// are taken beside the copies back and added in the order of the segments, as StageState does.
#include "training/torch/spilled_work.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "core/values/error.h"
#include "training/torch/element_types.h"
#include "training/torch/section_store.h"
#include "training/torch/torch_work.h"

namespace penstock {
namespace {

constexpr std::size_t kSlotAlignment = 64;

std::size_t held_bytes(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::size_t>(tensor.nbytes()) : 0;
}

// Where in a slot each tensor of a segment lies.
struct SegmentInSlot {
  std::size_t weights = 0, gradient = 0;
  std::vector<std::size_t> kept;
};
struct StageInSlot {
  std::vector<SegmentInSlot> segments;
  std::size_t bytes = 0;
};

StageInSlot place_in_slot(const StageState& stage, bool with_kept) {
  StageInSlot placed;
  const auto place = [&](const at::Tensor& tensor) {
    const std::size_t at = placed.bytes;
    placed.bytes += (held_bytes(tensor) + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
    return at;
  };
  for (const auto& flat : stage.flats()) {
    SegmentInSlot segment;
    segment.weights = place(flat->weights);
    segment.gradient = place(flat->gradient);
    if (with_kept) {
      for (const at::Tensor& kept : flat->kept) segment.kept.push_back(place(kept));
    }
    placed.segments.push_back(std::move(segment));
  }
  return placed;
}

}  // namespace

class SpilledWork::Impl {
 public:
  Impl(const RankSetup& setup, SpilledState& state, TorchWork& work, SlotSchedule schedule)
      : setup_(state.with_ties(setup)),
        state_(state),
        link_(state.link()),
        schedule_(std::move(schedule)),
        updates_on_host_(schedule_.updates_on_host()),
        passes_(schedule_.passes()),
        has_norm_(schedule_.has_norm()),
        work_(work) {
    work_.keep_last_stage_only();
    check_ties();
    place_stages();
    bring_residents();
  }
  // Copies that are under way when something has failed use slots.
  ~Impl() {
    link_.settle();
    for (auto& [number, stage] : device_store().stages()) device_store().drop(number);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] SpilledMemory memory() const { return memory_; }
  [[nodiscard]] bool updates_on_host() const { return updates_on_host_; }

  void begin_step() {
    plan_slots();
    stores_.clear();
    updates_.clear();
    arrived_.clear();
  }

  std::unique_ptr<SlotCopy> copy(ActionKind kind, int stage,
                                 const std::vector<const SlotCopy*>& after) {
    if (kind == ActionKind::kLoad) return load(stage, after);
    if (kind == ActionKind::kStore) return store(stage, after);
    device_store().drop(stage);
    return link_.join(after);
  }

  double squared_norm() {
    double sum = 0.0;
    if (!has_norm_) return sum;
    on_host([&] {
      for (std::size_t tie = 0; tie < setup_.ties.size(); ++tie) join_tie(tie);
      at::Tensor all = at::zeros({}, at::kDouble);
      for (const auto& [number, stage] : host_store().stages()) {
        for (std::size_t i = 0; i < stage.segments().size(); ++i) {
          for (const at::Tensor& square : squares_of(number, i)) all.add_(square);
        }
      }
      sum = all.item<double>();
    });
    return sum;
  }

  // What goes to the host now is what the first pass of the next step adds to.
  void keep_adding(int stage) {
    if (passes_ > 1) device_store().stage(stage).zero_gradients();
  }

  void optimize(int stage) {
    const std::optional<OptimizerStep> step = work_.next_update();
    if (!step) return;
    if (!has_norm_) {
      updates_[stage] = *step;
    } else {
      on_host([&] { host_store().stage(stage).optimize(*step); });
    }
  }

 private:
  SectionStore& device_store() { return state_.on_device().store(); }
  SectionStore& host_store() { return state_.on_host(); }
  [[nodiscard]] const StageSetup& setup_of(int stage) const {
    return *std::ranges::find(setup_.stages, stage, &StageSetup::stage);
  }

  // What stage 1 shares with stage 0 would be loaded for the next step before its gradient is
  // whole.
  void check_ties() const {
    if (has_norm_ || !updates_on_host_) return;
    for (const TieSetup& tie : setup_.ties) {
      if (tie.stages[0] != 0 || tie.stages[1] != 1) continue;
      throw_bad_input("shards 0 and 1 share the weights \"" + tie.name +
                      "\" and are both on the device when a step ends\nhelp: plan with --clipping, "
                      "or with other shards (--shards)");
    }
  }

  void place_stages() {
    std::size_t gradients = 0;  // of the largest stage
    for (const auto& [number, stage] : host_store().stages()) {
      StageInSlot& placed = placed_[number];
      placed = place_in_slot(stage, !updates_on_host_);
      memory_.slot = std::max(memory_.slot, placed.bytes);
      std::size_t own = 0;
      for (const auto& flat : stage.flats()) own += held_bytes(flat->gradient);
      gradients = std::max(gradients, own);
    }
    const auto on_device = at::TensorOptions(at::Device(device_store().device().name()));
    for (int i = 0; i < schedule_.slots; ++i) {
      slots_.push_back(
          at::empty({static_cast<std::int64_t>(memory_.slot)}, on_device.dtype(at::kByte)));
    }
    if (passes_ > 1 && updates_on_host_) {
      arriving_ = state_.zeros_on_host(static_cast<std::int64_t>(gradients), at::kByte);
    }
    memory_.host = state_.host_bytes();
  }

  void bring_residents() {
    const std::vector<int> there = schedule_.residents();
    for (std::size_t i = 0; i < there.size(); ++i) {
      slot_of_[there[i]] = static_cast<int>(i);
      to_take_[there[i]].push_back(static_cast<int>(i));
      load(there[i], {})->wait();
    }
    for (int i = static_cast<int>(there.size()); i < schedule_.slots; ++i) free_.push_back(i);
  }

  void plan_slots() {
    to_take_.clear();
    for (const SlotAction& action : schedule_.actions) {
      if (action.kind == ActionKind::kReshard) free_.push_back(slot_of_.at(action.stage));
      if (action.kind != ActionKind::kLoad) continue;
      slot_of_[action.stage] = free_.front();
      to_take_[action.stage].push_back(free_.front());
      free_.pop_front();
    }
  }

  at::Tensor in_slot(int slot, std::size_t offset, const at::Tensor& like) {
    if (!like.defined()) return {};
    auto* data = static_cast<std::byte*>(slots_[static_cast<std::size_t>(slot)].data_ptr());
    return at::from_blob(
        data + offset, like.sizes(),
        at::TensorOptions(at::Device(device_store().device().name())).dtype(like.scalar_type()));
  }

  std::shared_ptr<FlatWeights> flat_in_slot(int slot, const SegmentInSlot& placed,
                                            const FlatWeights& host) {
    auto flat = std::make_shared<FlatWeights>();
    flat->at = host.at;
    flat->owned_offset = host.owned_offset;
    flat->weights = in_slot(slot, placed.weights, host.weights);
    flat->gradient = in_slot(slot, placed.gradient, host.gradient);
    for (std::size_t k = 0; k < placed.kept.size(); ++k) {
      flat->kept.push_back(in_slot(slot, placed.kept[k], host.kept[k]));
      const bool is_master = k == 0 && host.master.defined();
      if (is_master) flat->master = flat->kept.back();
      if (!is_master) flat->moments.push_back(flat->kept.back());
    }
    return flat;
  }

  Buffer host_buffer(const at::Tensor& tensor) { return buffer_of(tensor, host_store().device()); }
  Buffer device_buffer(const at::Tensor& tensor) {
    return buffer_of(tensor, device_store().device());
  }

  std::unique_ptr<SlotCopy> load(int stage, const std::vector<const SlotCopy*>& after) {
    const int slot = to_take_.at(stage).front();
    to_take_.at(stage).pop_front();
    const StageState& host = host_store().stage(stage);
    std::vector<std::shared_ptr<FlatWeights>> flats;
    SlotTransfer transfer;
    const auto bring = [&](const at::Tensor& from, const at::Tensor& to) {
      transfer.pieces.push_back({host_buffer(from), device_buffer(to)});
    };
    for (std::size_t i = 0; i < host.flats().size(); ++i) {
      const FlatWeights& from = *host.flats()[i];
      flats.push_back(flat_in_slot(slot, placed_.at(stage).segments[i], from));
      const FlatWeights& to = *flats.back();
      bring(from.weights, to.weights);
      for (std::size_t k = 0; k < to.kept.size(); ++k) bring(from.kept[k], to.kept[k]);
      if (!to.gradient.defined()) continue;
      if (!updates_on_host_ && passes_ > 1) {
        bring(from.gradient, to.gradient);
      } else {
        transfer.cleared.push_back(device_buffer(to.gradient));
      }
    }
    device_store().bring(setup_of(stage), host.segments(), std::move(flats));
    return link_.copy(std::move(transfer), after);
  }

  std::unique_ptr<SlotCopy> store(int stage, const std::vector<const SlotCopy*>& after) {
    SlotTransfer transfer;
    transfer.to_host = true;
    if (updates_on_host_) {
      take_gradients(stage, transfer);
    } else {
      take_state(stage, transfer);
    }
    return link_.copy(std::move(transfer), after);
  }

  void take_state(int stage, SlotTransfer& transfer) {
    const StageState &device = device_store().stage(stage), &host = host_store().stage(stage);
    const auto take = [&](const at::Tensor& from, const at::Tensor& to) {
      transfer.pieces.push_back({device_buffer(from), host_buffer(to)});
    };
    for (std::size_t i = 0; i < host.flats().size(); ++i) {
      const FlatWeights &from = *device.flats()[i], &to = *host.flats()[i];
      if (!to.gradient.defined()) continue;  // frozen
      take(from.weights, to.weights);
      for (std::size_t k = 0; k < to.kept.size(); ++k) take(from.kept[k], to.kept[k]);
      if (passes_ > 1) take(from.gradient, to.gradient);
    }
  }

  void take_gradients(int stage, SlotTransfer& transfer) {
    const StageState &device = device_store().stage(stage), &host = host_store().stage(stage);
    const int before = stores_[stage]++;
    const bool is_last = before + 1 == passes_;
    std::optional<OptimizerStep> update;
    if (const auto found = updates_.find(stage); found != updates_.end()) update = found->second;
    std::size_t arriving = 0;
    for (std::size_t i = 0; i < host.flats().size(); ++i) {
      const at::Tensor& from = device.flats()[i]->gradient;
      const at::Tensor& sum = host.flats()[i]->gradient;
      if (!sum.defined()) continue;
      at::Tensor to = sum;
      if (before > 0) {
        to = at::from_blob(static_cast<std::byte*>(arriving_.data_ptr()) + arriving, sum.sizes(),
                           sum.options());
        arriving += held_bytes(sum);
      }
      transfer.pieces.push_back({device_buffer(from), host_buffer(to), [=, this] {
                                   if (before > 0) sum.add_(to);
                                   if (is_last) is_whole(stage, i, update);
                                 }});
      if (passes_ > 1) transfer.cleared.push_back(device_buffer(from));
    }
  }

  // The host has a segment's gradient. On the lane of copies back.
  void is_whole(int stage, std::size_t segment, const std::optional<OptimizerStep>& update) {
    StageState& host = host_store().stage(stage);
    const int tie = host.segments()[segment].tie;
    if (has_norm_) {
      if (tie < 0) squares_[{stage, segment}] = host.squares(segment);
    } else if (update && tie < 0) {
      host.optimize(segment, *update);
    } else if (update &&
               ++arrived_[tie] ==
                   static_cast<int>(setup_.ties[static_cast<std::size_t>(tie)].stages.size())) {
      join_tie(static_cast<std::size_t>(tie));
      for (const auto& [number, of_stage] : segments_of_tie(tie)) {
        host_store().stage(number).optimize(of_stage, *update);
      }
    }
  }

  // All parts of what stages share get the sum of their gradients.
  void join_tie(std::size_t tie) {
    at::Tensor sum;
    const auto parts = segments_of_tie(static_cast<int>(tie));
    for (const auto& [stage, segment] : parts) {
      const at::Tensor& gradient = host_store().stage(stage).flats()[segment]->gradient;
      sum = sum.defined() ? sum.add_(gradient) : gradient.clone();
    }
    for (const auto& [stage, segment] : parts) {
      host_store().stage(stage).flats()[segment]->gradient.copy_(sum);
    }
  }
  std::vector<std::pair<int, std::size_t>> segments_of_tie(int tie) {
    std::vector<std::pair<int, std::size_t>> parts;
    for (const auto& [number, stage] : host_store().stages()) {
      for (std::size_t i = 0; i < stage.segments().size(); ++i) {
        if (stage.segments()[i].tie == tie) parts.emplace_back(number, i);
      }
    }
    return parts;
  }

  Tensors squares_of(int stage, std::size_t segment) {
    const StageState& host = host_store().stage(stage);
    return host.segments()[segment].tie < 0 ? squares_[{stage, segment}] : host.squares(segment);
  }

  // On the lane of copies back, whose thread is the host's and not the rank's.
  void on_host(const std::function<void()>& work) {
    SlotTransfer transfer;
    transfer.to_host = true;
    transfer.pieces.push_back({{}, {}, work});
    link_.copy(std::move(transfer), {})->wait();
  }

  const RankSetup setup_;
  SpilledState& state_;
  SlotLink& link_;
  const SlotSchedule schedule_;
  const bool updates_on_host_;
  const int passes_;
  const bool has_norm_;
  SpilledMemory memory_;
  std::map<int, StageInSlot> placed_;
  Tensors slots_;
  at::Tensor arriving_;  // gradients of later passes, before they are added
  TorchWork& work_;

  std::map<int, int> slot_of_;              // by stage, when the list has been gone through
  std::deque<int> free_;                    // slots, in the order in which they are taken
  std::map<int, std::deque<int>> to_take_;  // by stage, of this step's LOADs
  // Of this step.
  std::map<int, int> stores_;
  std::map<int, OptimizerStep> updates_;  // that a STORE is to do
  std::map<int, int> arrived_;            // by tie, parts of it
  std::map<std::pair<int, std::size_t>, Tensors> squares_;
};

SpilledWork::SpilledWork(const RankSetup& setup, SpilledState& state, const TokenSource& data,
                         SlotSchedule schedule)
    : TorchWork(setup, state.on_device(), data),
      impl_(std::make_unique<Impl>(setup, state, *this, std::move(schedule))) {}
SpilledWork::~SpilledWork() = default;

SpilledMemory SpilledWork::memory() const { return impl_->memory(); }

void SpilledWork::begin_step(std::int64_t step) {
  impl_->begin_step();
  TorchWork::begin_step(step);
}
NormShare SpilledWork::norm_share() { return norm_share_of(impl_->squared_norm()); }
void SpilledWork::optimize(int stage) {
  if (impl_->updates_on_host()) return impl_->optimize(stage);
  TorchWork::optimize(stage);
  impl_->keep_adding(stage);
}
std::unique_ptr<SlotCopy> SpilledWork::copy(ActionKind kind, int stage, SteadyTime /*ready*/,
                                            const std::vector<const SlotCopy*>& after) {
  return impl_->copy(kind, stage, after);
}

}  // namespace penstock
