// What matrix products of a shape lose against large ones: they are cut into tiles, and tiles are
// given to the processors of a device in whole rounds.
#pragma once

#include "estimator/count_operations.h"

namespace penstock {

// At least 1: how much longer a product takes than its operations at the rate of large ones.
// `processors` 0: not known, shapes make no difference.
double shape_factor(const Product& product, int processors);

}  // namespace penstock
