// How much work stands between two checkpoints.
#pragma once

#include "core/values/availability.h"
#include "core/values/units.h"

namespace penstock {

// Daly's higher-order rule (J. T. Daly, Future Generation Computer Systems 22, 2006): for a
// checkpoint that takes `write` and losses every `between_losses` on average,
// sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d where d < 2M, else M. Not less than one
// write.
Duration checkpoint_interval(Duration write, Duration between_losses);

// The same in the background, where a checkpoint costs only what it makes the job stand still
// (`stall`), and the next one does not begin before it is written.
Duration background_interval(Duration stall, Duration write, Duration between_losses);

// Between losses of a recording that take work with them: those announced early enough for a
// checkpoint (by `notice`, where the recording does not say) take none.
Duration mean_between_silent_losses(const Availability& recording, Duration notice, Duration write);

}  // namespace penstock
