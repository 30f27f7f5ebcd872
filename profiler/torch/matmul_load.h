// What keeps a processor busy while links are measured under load: products of matrices, as in the
// sections of a model.
#pragma once

#include "profiler/measure_links.h"

namespace penstock {

// start() begins on a thread of its own, on the processors of the calling thread; stop() ends it.
LinkLoad matmul_load();

}  // namespace penstock
