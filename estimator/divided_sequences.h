// What ranks that divide sequences between them send and hold (context parallelism).
#pragma once

#include "core/values/architecture.h"
#include "core/values/units.h"
#include "estimator/count_operations.h"

namespace penstock {

bool torch_divides_sequences(const CountKey& key);

// Whether gradients of keys and values go on in 32 bits where those have 16, and whether attention
// waits for everything that is sent.
bool widens_passed_gradients(const CountKey& key);
bool waits_for_ring(const CountKey& key);

// Keys and values of a rank's own tokens, which go around.
Bytes ring_bytes(const Architecture& model, const CountKey& key);

// What PyTorch's kernels move around the parts, of one layer.
double merged_bytes(const Architecture& model, const CountKey& key, bool backward);

// What of keys and values is there while a layer works, in those of a rank's own tokens.
double ring_copies(const CountKey& key);

// What goes to other ranks where they divide heads during attention.
Bytes exchanged_bytes(const Architecture& model, const CountKey& key);

}  // namespace penstock
