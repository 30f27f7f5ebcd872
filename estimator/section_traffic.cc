#include "estimator/section_traffic.h"

namespace penstock {

// Tensor parallelism with sequence parallelism (arXiv 2205.05198): a layer gathers its tokens
// before attention and perceptron and scatters the sums behind them; the backward does the same the
// other way, and gathers the inputs of the first products once more for their weight gradients.
// Megatron hides these behind I and the scatters behind W; what runs show is one of them
// (docs/estimates.md).
std::vector<TensorTraffic> traffic_of_layer(Bytes tokens_bytes, bool sequence_parallel) {
  if (!sequence_parallel) {  // sums of whole tokens; the backward's run beside W
    TensorTraffic sum{.kind = CollectiveKind::kAllReduce, .bytes = tokens_bytes};
    sum.forward = sum.recompute = 2;
    sum.beside_weight_gradient = 2;
    return {sum};
  }
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.forward = gather.recompute = 2;
  gather.input_gradient = 2;
  gather.beside_input_gradient = 2;
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.forward = scatter.recompute = 2;
  scatter.input_gradient = 1;
  scatter.beside_weight_gradient = 1;
  return {gather, scatter};
}

// In the backward of a divided product its input's gradient is summed at once
// (torch/distributed/tensor/parallel/style.py, ColwiseParallel).
std::vector<TensorTraffic> traffic_of_torch_sums(Bytes tokens_bytes) {
  TensorTraffic sum{.kind = CollectiveKind::kAllReduce, .bytes = tokens_bytes};
  sum.forward = sum.recompute = 2;
  sum.input_gradient = 2;
  return {sum};
}

std::vector<TensorTraffic> traffic_of_torch_layer(Bytes tokens_bytes) {
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.forward = gather.recompute = 2;
  gather.input_gradient = 2;
  TensorTraffic scatter = gather;
  scatter.kind = CollectiveKind::kReduceScatter;
  return {gather, scatter};
}

// The embedding's rows are divided: what the ranks looked up is summed, each rank keeping its own
// tokens.
std::vector<TensorTraffic> traffic_of_embedding(Bytes tokens_bytes) {
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.forward = 1;
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.input_gradient = 1;
  return {scatter, gather};
}

// The head gathers its input; the loss over divided logits takes the largest, the sum and the
// target's logit of every token over all ranks.
std::vector<TensorTraffic> traffic_of_head(Bytes tokens_bytes, Bytes loss_bytes) {
  TensorTraffic gather{.kind = CollectiveKind::kAllGather, .bytes = tokens_bytes};
  gather.forward = 1;
  gather.beside_input_gradient = 1;
  TensorTraffic scatter{.kind = CollectiveKind::kReduceScatter, .bytes = tokens_bytes};
  scatter.beside_weight_gradient = 1;
  TensorTraffic loss{.kind = CollectiveKind::kAllReduce, .bytes = loss_bytes};
  loss.forward = 3;
  return {gather, scatter, loss};
}

// Without sequence parallelism the input is whole; its gradient is summed, by Megatron beside W.
std::vector<TensorTraffic> traffic_of_whole_head(Bytes tokens_bytes, Bytes loss_bytes,
                                                 bool is_torch) {
  TensorTraffic sum{.kind = CollectiveKind::kAllReduce, .bytes = tokens_bytes};
  (is_torch ? sum.input_gradient : sum.beside_weight_gradient) = 1;
  return {sum, traffic_of_head(tokens_bytes, loss_bytes).back()};
}

std::vector<TensorTraffic> traffic_of_torch_head(Bytes tokens_bytes, Bytes loss_bytes) {
  std::vector<TensorTraffic> traffic = traffic_of_head(tokens_bytes, loss_bytes);
  traffic[0].beside_input_gradient = 0;
  traffic[1].beside_weight_gradient = 0;
  traffic[1].input_gradient = 1;
  return traffic;
}

}  // namespace penstock
