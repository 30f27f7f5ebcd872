// Links say how fast bytes can go; what PyTorch's exchange reached of them is a figure fitted to
// runs, and the slower of the two counts, so that no faster link makes a step longer.
#include "costmodel/torch_ring.h"

#include <algorithm>

#include "core/values/term_names.h"

namespace penstock {

bool passes_gradients_on(const Measurement& measured) {
  return std::any_of(measured.terms.begin(), measured.terms.end(),
                     [](const TimeTerm& term) { return term.name == kGradientsPassedOn; });
}

Duration TorchRing::least(Bytes sent) const {
  return ranks_.steps() > 1 ? transfer_time(sent, kMostPerDevice) : Duration{};
}

Duration TorchRing::step_time(Bytes bytes) const {
  return std::max(ranks_.step_time(bytes), least(bytes));
}

Duration TorchRing::gather_time(Bytes bytes) const {
  return std::max(ranks_.gather_time(bytes), least(bytes * ranks_.steps()));
}

Duration TorchRing::shown_steps(Bytes bytes, Duration beside) const {
  return ranks_.steps() * std::max(step_time(bytes) - beside, Duration{});
}

Duration TorchRing::shown_gather(Bytes bytes, Duration beside) const {
  return std::max(gather_time(bytes) - beside, Duration{});
}

}  // namespace penstock
