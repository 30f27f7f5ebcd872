// The sections of an encoder and a decoder. Private to training/torch.
#pragma once

#include <memory>

#include "training/torch/section_module.h"

namespace penstock {

// With weights that are yet to be bound.
std::unique_ptr<SectionModule> t5_section(const ModelDescription& description,
                                          const SectionOutline& outline);

}  // namespace penstock
