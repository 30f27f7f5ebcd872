// Numbered samples, as files hold them. In which order a run takes them, ordered_samples.h says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/values/model_description.h"
#include "training/token_source.h"

namespace penstock {

class SampleSet {
 public:
  virtual ~SampleSet() = default;
  [[nodiscard]] virtual std::int64_t samples() const = 0;
  // Sample `number` of the set as `model` learns from it, named `id` in the run. Error{kBadInput}
  // with file, place and value for what no model can learn.
  [[nodiscard]] virtual TokenSample sample(const ModelDescription& model, const SampleId& id,
                                           std::int64_t number) const = 0;
  // Looks at so many bytes of all files before a run begins, evenly spread where they are more;
  // the same Error.
  virtual void check(std::size_t most_bytes) const = 0;
};

}  // namespace penstock
