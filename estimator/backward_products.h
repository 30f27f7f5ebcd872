// The products of a backward, and the gradients of weights that they add to those of the
// micro-batches before. Private to estimator/.
#pragma once

#include <vector>

#include "estimator/count_operations.h"

namespace penstock {

// Of each product of a forward two: the gradient of its input and of its weights.
std::vector<Product> backward_of(const std::vector<Product>& products, const CountKey& key);

// Bytes of sums of gradients that are kernels apart.
double summed_apart(const std::vector<Product>& forward, const CountKey& key);

}  // namespace penstock
