#include "core/files/expert_layers.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace penstock {
namespace {

using Layers = std::vector<int>;

std::optional<Layers> listed_layers(const ExpertFields& from, std::string_view name) {
  const auto listed = from.fields.present(name);
  if (!listed) return std::nullopt;
  Layers layers;
  for (const JsonReader& element : listed->elements()) {
    layers.push_back(static_cast<int>(element.integer(0, from.layers - 1)));
  }
  std::sort(layers.begin(), layers.end());
  return layers;
}

// So many shared experts, each as wide.
int width_of(const ExpertFields& from, int parts, int each) {
  const std::int64_t width = std::int64_t{parts} * each;
  if (width > std::numeric_limits<int>::max()) {
    from.fields.reader().fail(std::to_string(parts) + " times " + std::to_string(each) +
                              " is wider than any model; correct one of them");
  }
  return static_cast<int>(width);
}

// Counts of experts that make no sense are refused.
void check_visits(const ExpertFields& from, int count, const std::optional<int>& per_token) {
  if (!per_token) {
    from.fields.reader().fail("expected num_experts_per_tok, since there are " +
                              std::to_string(count) + " experts");
  }
  if (*per_token > count) {
    from.fields.reader().fail("a token cannot visit " + std::to_string(*per_token) + " of " +
                              std::to_string(count) + " experts; correct num_experts_per_tok");
  }
}

Layers dense_layers(const ExpertFields& from, Layers dense, const std::optional<Layers>& listed) {
  const int first_dense =
      from.fields.size({"first_k_dense_replace", "moe_layer_start_index"}, 0).value_or(0);
  const int every =
      from.fields.size({"interleave_moe_layer_step", "decoder_sparse_step", "moe_layer_interval"})
          .value_or(1);
  for (int layer = 0; layer < from.layers; ++layer) {
    const bool has_experts =
        listed ? std::count(listed->begin(), listed->end(), layer) > 0 : (layer + 1) % every == 0;
    if (layer < first_dense || !has_experts) dense.push_back(layer);
  }
  std::sort(dense.begin(), dense.end());
  dense.erase(std::unique(dense.begin(), dense.end()), dense.end());
  return dense;
}

}  // namespace

std::optional<ExpertLayers> read_expert_layers(const ExpertFields& from) {
  ConfigFields& fields = from.fields;
  const auto count = from.perceptron.size(kExpertNames);
  const auto per_token = from.perceptron.size(
      {"num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_k", "moe_topk"});
  const auto width = fields.size({"moe_intermediate_size"});
  const auto shared =
      fields.size({"n_shared_experts", "num_shared_expert", "moe_num_shared_experts"}, 0);
  const auto gated_width = fields.size({"shared_expert_intermediate_size"}, 0);
  const auto shared_width = fields.size({"shared_intermediate_size"}, 0);
  ExpertLayers out;
  out.dense_layers = dense_layers(from, listed_layers(from, "mlp_only_layers").value_or(Layers{}),
                                  listed_layers(from, "moe_layers"));
  if (!count || *count == 1) return std::nullopt;
  check_visits(from, *count, per_token);
  out.experts.count = *count;
  out.experts.per_token = per_token.value_or(1);
  out.experts.width = width.value_or(from.usual_width);
  const int shared_experts = shared.value_or(from.family.name == "Llama4" ? 1 : 0);
  out.experts.shared_width = gated_width.value_or(
      shared_width.value_or(width_of(from, shared_experts, out.experts.width)));
  out.experts.shared_gate = gated_width.value_or(0) > 0;
  out.experts.router_bias = from.family.expert_biases;
  out.experts.groups = fields.size({"n_group"}, 0).value_or(0);
  out.experts.groups_per_token = fields.size({"topk_group"}, 0).value_or(out.experts.groups);
  return out;
}

}  // namespace penstock
