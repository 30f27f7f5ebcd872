// A profile as a calibrated machine runs it. A time t(b) of a section is a line through its
// measured micro-batch size and the next larger one: what grows with b is compute, what is there at
// b = 0 are launches (small kernels). Each part is scaled by its own factor; activations by theirs.
#pragma once

#include "core/values/calibration.h"
#include "core/values/cluster.h"
#include "core/values/profile.h"

namespace penstock {

// Only measurements on the calibration's device change.
ModelProfile calibrated_profile(const ModelProfile& profile, const Calibration& calibration);

// The cluster with this calibration, and with the reserve that was found on its device.
ClusterSpec calibrated_cluster(ClusterSpec cluster, const Calibration& calibration);

}  // namespace penstock
