// What sections of the built-in families have in common. Private to training/torch.
#pragma once

#include <cstddef>

#include "training/torch/section_module.h"

namespace penstock {

// Its weights are bound from outside: it allocates nothing that lasts.
class BuiltInSection : public SectionModule {
 public:
  BuiltInSection(const ModelDescription& description, std::size_t parameters)
      : description_(description) {
    weights_.resize(parameters);
  }
  void bind(std::size_t parameter, const at::Tensor& storage) override {
    weights_[parameter] = storage.detach().set_requires_grad(true);
  }

 protected:
  const ModelDescription description_;
};

}  // namespace penstock
