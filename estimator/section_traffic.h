// The collectives of tensor parallelism that the sections of a transformer need, over a group of
// more than one rank. Private to estimator/.
#pragma once

#include <vector>

#include "core/values/profile.h"
#include "core/values/units.h"

namespace penstock {

// `tokens_bytes`: the tokens of a rank's samples, of the whole width.
std::vector<TensorTraffic> traffic_of_layer(Bytes tokens_bytes, bool sequence_parallel);
// With sequence parallelism, as PyTorch has it: nothing waits behind other work, and nothing is
// gathered twice, since gathered tokens are kept.
std::vector<TensorTraffic> traffic_of_torch_layer(Bytes tokens_bytes);
// The same without sequence parallelism.
std::vector<TensorTraffic> traffic_of_torch_sums(Bytes tokens_bytes);
std::vector<TensorTraffic> traffic_of_embedding(Bytes tokens_bytes);
// `loss_bytes`: one number per token, as the loss sums them.
std::vector<TensorTraffic> traffic_of_head(Bytes tokens_bytes, Bytes loss_bytes);
std::vector<TensorTraffic> traffic_of_whole_head(Bytes tokens_bytes, Bytes loss_bytes,
                                                 bool is_torch);
std::vector<TensorTraffic> traffic_of_torch_head(Bytes tokens_bytes, Bytes loss_bytes);

}  // namespace penstock
