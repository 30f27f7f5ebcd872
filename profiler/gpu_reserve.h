// What a rank's GPU holds besides the tensors of the model, as named parts of a cluster's reserve.
// Only the context is measured; the others are assumptions, each with where it comes from, until
// somebody has compared them with a GPU.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

struct ReservePart {
  std::string name;  // "CUDA context"
  Bytes bytes;
  bool is_measured = false;
  std::string source;  // where an assumption comes from
};

// `taken`: on the device before the model was there. `gpus` that the machine has: one alone does
// not communicate.
std::vector<ReservePart> gpu_reserve(Bytes taken, int gpus);

Bytes sum_of(const std::vector<ReservePart>& parts);
// "CUDA context 0.5 GiB (measured), cuBLAS workspace 32.0 MiB (assumed: ...)"
std::string in_words(const std::vector<ReservePart>& parts);

}  // namespace penstock
