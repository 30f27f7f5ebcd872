// The tensors of a boundary as one message. Private to training/torch.
#pragma once

#include <optional>
#include <vector>

#include "training/torch/model.h"

namespace penstock {

// `tensors` are views into `message`, once there is one; a single tensor is its own message.
struct Parcel {
  Tensors tensors;  // undefined: not sent, because it has no gradient
  at::Tensor message;
};

// Of a boundary: which of its tensors a message carries, and how.
using ParcelList = std::vector<std::optional<BoundaryTensor>>;
ParcelList all_of(const Boundary& boundary);
ParcelList those_with_gradient(const Boundary& boundary);

// To be received.
Parcel empty_parcel(const ParcelList& list, at::Device device);
// Makes the message. What is undefined counts as zero. Error{kBadInput} for a tensor of another
// shape than the list says.
void pack(const ParcelList& list, at::Device device, Parcel& parcel);

}  // namespace penstock
