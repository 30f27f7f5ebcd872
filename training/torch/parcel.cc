// A tensor alone travels as it is; several are laid one after the other into one message of 64-bit
// words, each at a multiple of 64 bytes. Sender and receiver work out the same places from the
// boundary, so the message has no header.
#include "training/torch/parcel.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "core/values/error.h"

namespace penstock {
namespace {

// Every tensor begins on a boundary that suits any of its readers.
constexpr std::int64_t kAlignment = 64;  // bytes
constexpr std::int64_t kWord = 8;        // of a message of several tensors: int64

std::int64_t bytes_of(const BoundaryTensor& tensor) {
  std::int64_t bytes = static_cast<std::int64_t>(c10::elementSize(tensor.type));
  for (const std::int64_t size : tensor.shape) bytes *= size;
  return bytes;
}
std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<BoundaryTensor> sent(const ParcelList& list) {
  std::vector<BoundaryTensor> tensors;
  for (const auto& tensor : list) {
    if (tensor) tensors.push_back(*tensor);
  }
  return tensors;
}

// One that transports know the type of is sent as it is.
bool is_message(const std::vector<BoundaryTensor>& tensors) {
  if (tensors.size() != 1 || bytes_of(tensors[0]) == 0) return false;
  return c10::isFloatingType(tensors[0].type) || tensors[0].type == at::kLong;
}

}  // namespace

ParcelList all_of(const Boundary& boundary) { return {boundary.begin(), boundary.end()}; }
ParcelList those_with_gradient(const Boundary& boundary) {
  ParcelList list;
  for (const BoundaryTensor& tensor : boundary) {
    list.push_back(tensor.has_gradient ? std::optional(tensor) : std::nullopt);
  }
  return list;
}

Parcel empty_parcel(const ParcelList& list, at::Device device) {
  const std::vector<BoundaryTensor> tensors = sent(list);
  Parcel parcel;
  std::int64_t bytes = 0;
  for (const BoundaryTensor& tensor : tensors) bytes += aligned(bytes_of(tensor));
  const bool is_one = is_message(tensors);
  // Not empty, for a transport moves at least one element.
  parcel.message =
      is_one ? at::empty(tensors[0].shape, at::TensorOptions(device).dtype(tensors[0].type))
             : at::empty({std::max(bytes, kAlignment) / kWord},
                         at::TensorOptions(device).dtype(at::kLong));
  std::int64_t begin = 0;
  for (const auto& tensor : list) {
    if (!tensor) {
      parcel.tensors.emplace_back();
      continue;
    }
    if (is_one) {
      parcel.tensors.push_back(parcel.message);
      continue;
    }
    parcel.tensors.push_back(parcel.message.view(at::kByte)
                                 .narrow(0, begin, bytes_of(*tensor))
                                 .view(tensor->type)
                                 .view(tensor->shape));
    begin += aligned(bytes_of(*tensor));
  }
  return parcel;
}

void pack(const ParcelList& list, at::Device device, Parcel& parcel) {
  if (parcel.message.defined()) return;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i] || !parcel.tensors[i].defined()) continue;
    if (parcel.tensors[i].sizes() == at::IntArrayRef(list[i]->shape)) continue;
    throw_bad_input("a boundary between stages carries " + c10::str(parcel.tensors[i].sizes()) +
                    " where " + c10::str(list[i]->shape) +
                    " was expected: sizes follow from values there; choose other cutpoints");
  }
  const std::vector<BoundaryTensor> tensors = sent(list);
  if (is_message(tensors)) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i]) continue;
      at::Tensor& tensor = parcel.tensors[i];
      const auto options = at::TensorOptions(device).dtype(list[i]->type);
      tensor = tensor.defined() ? tensor.to(list[i]->type).contiguous()
                                : at::zeros(list[i]->shape, options);
      parcel.message = tensor;
    }
    return;
  }
  Parcel packed = empty_parcel(list, device);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i]) continue;
    if (parcel.tensors[i].defined()) {
      packed.tensors[i].copy_(parcel.tensors[i]);
    } else {
      packed.tensors[i].zero_();
    }
  }
  if (tensors.empty()) packed.message.zero_();
  parcel = std::move(packed);
}

}  // namespace penstock
