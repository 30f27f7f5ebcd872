// Names of GPUs and numbers that stand without their options: "config.json h100 64 512".
#pragma once

#include <optional>
#include <string>

#include "cli/answers/options/option_readings.h"

namespace penstock {

// The words as options of the verb, in the order of what people say: the GPU, how many, the batch.
// Nothing where one of them is something else, or the verb takes it no more; `given`: what stands
// beside them.
std::optional<Arguments> words_as_options(const Arguments& words, const Arguments& given,
                                          const Asked& asked);

}  // namespace penstock
