// Collectives of tensor parallelism carry the tokens of a layer, those of expert parallelism the
// copies that go to experts and back.
#include "estimator/layer_traffic.h"

#include "estimator/count_of_rank.h"
#include "estimator/layer_shapes.h"
#include "estimator/section_traffic.h"

namespace penstock {

// PyTorch gathers and scatters along the first dimension; sequences are the second, so that what
// arrives or leaves is copied (torch/distributed/_functional_collectives.py, all_gather_tensor and
// reduce_scatter_tensor).
bool torch_gathers(const CountKey& key) {
  return key.torch_collectives && key.sequence_parallel && key.tensor_degree > 1;
}

double torch_copies(const Architecture& model, const CountKey& key, int collectives) {
  const double once = 2.0 * tokens(key) * model.hidden * key.element_bytes;
  return torch_gathers(key) ? collectives * once : 0.0;
}

// Two all-reduces of the layer's output in each direction, as rings: 2 (T - 1) / T of it per rank.
double reduced_bytes(const Architecture& model, const CountKey& key) {
  if (key.tensor_degree == 1) return 0.0;
  const double ring = 2.0 * (key.tensor_degree - 1) / key.tensor_degree;
  return 2.0 * ring * tokens(key) * model.hidden * key.element_bytes;
}

// Of the busiest rank over the mean: tokens that are sent to experts, where they are.
double sent(const CountKey& key) { return key.expert_degree > 1 ? key.imbalance : 1.0; }
// Over how many ranks a layer divides copies of tokens: experts that T ranks divide see whole ones.
double divided_copies(const CountKey& key) {
  const bool gathered = key.expert_degree > 1 && !key.whole_experts;
  return gathered ? 1.0 : divided(key);
}

// One copy of a rank's own tokens each way, 8 bits where products take them so. The gradients go
// the same ways.
std::optional<ExpertTraffic> dispatched(const Architecture& model, LayerKind kind,
                                        const CountKey& key) {
  if (kind == LayerKind::kDense || key.expert_degree == 1) return std::nullopt;
  const Experts& experts = *model.experts;
  ExpertTraffic traffic;
  const double own = tokens(key) / key.tensor_degree * model.hidden;
  traffic.dispatched = whole(own * key.element_bytes);
  traffic.combined = whole(own * key.element_bytes);
  traffic.experts = experts.count;
  traffic.visited = experts.per_token;
  if (experts.groups_per_token < experts.groups) traffic.most_nodes = experts.groups_per_token;
  traffic.imbalance = key.imbalance;
  return traffic;
}

// What the collectives of a section carry; nothing where no tensors are divided.
Bytes tokens_bytes(const Architecture& model, const CountKey& key) {
  return whole(tokens(key) * model.hidden * key.element_bytes);
}

// With sequence parallelism each rank hands on its own tokens.
Bytes boundary_of(const Architecture& model, const CountKey& key) {
  return whole(tokens(key) * model.hidden * key.element_bytes / divided(key));
}

// Of a layer whose experts lie on ranks of their own only attention, and what every token visits,
// gathers and scatters over the T ranks; experts that those divide gather and scatter what arrives.
std::vector<TensorTraffic> layer_traffic(const Architecture& model, LayerKind kind,
                                         const CountKey& key) {
  const Bytes bytes = tokens_bytes(model, key);
  std::vector<TensorTraffic> traffic = torch_gathers(key) ? traffic_of_torch_layer(bytes)
                                       : key.torch_collectives && !key.sequence_parallel
                                           ? traffic_of_torch_sums(bytes)
                                           : traffic_of_layer(bytes, key.sequence_parallel);
  if (kind == LayerKind::kDense || (key.expert_degree == 1 && !key.whole_experts)) return traffic;
  std::vector<TensorTraffic> all;
  const auto add = [&](Bytes of, int half) {
    for (TensorTraffic each : traffic) {
      each.bytes = of;
      for (int* count : {&each.forward, &each.input_gradient, &each.recompute,
                         &each.beside_input_gradient, &each.beside_weight_gradient}) {
        // Attention has the larger half of what is odd.
        *count = half == 0 ? (*count + 1) / 2 : *count / 2;
      }
      all.push_back(each);
    }
  };
  add(bytes, 0);
  if (model.experts->shared_width > 0) add(bytes, 1);
  if (!key.whole_experts) {
    add(whole(real(bytes.count) * model.experts->per_token * sent(key)), 1);
  }
  return all;
}

}  // namespace penstock
