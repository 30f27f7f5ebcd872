// How much work stands between two checkpoints.
#pragma once

#include "core/values/units.h"

namespace penstock {

// Daly's higher-order rule (J. T. Daly, Future Generation Computer Systems 22, 2006): for a
// checkpoint that takes `write` and losses every `between_losses` on average,
// sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d where d < 2M, else M. Not less than one
// write.
Duration checkpoint_interval(Duration write, Duration between_losses);

}  // namespace penstock
