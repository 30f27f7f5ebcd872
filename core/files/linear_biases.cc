#include "core/files/linear_biases.h"

namespace penstock {
namespace {

// One switch for all, in the words of Falcon, StarCoder 2, ChatGLM and MPT.
std::optional<bool> switch_for_all(ConfigFields& fields, const KnownFamily& family) {
  const auto usual = fields.boolean(family.name == "Falcon" ? "bias" : "use_bias");
  if (family.name == "ChatGLM") return fields.boolean("add_bias_linear");
  if (family.name == "MPT") return !fields.boolean("no_bias").value_or(true);
  return usual;
}

}  // namespace

LinearBiases read_linear_biases(ConfigFields& fields, const KnownFamily& family) {
  const auto all = switch_for_all(fields, family);
  const auto attention = fields.boolean("attention_bias");
  // InternLM's bias is that of attention.
  const auto query = family.name == "Falcon"
                         ? std::nullopt
                         : fields.boolean(family.name == "InternLM2" ? "bias" : "use_qkv_bias");
  const auto added = fields.boolean("add_qkv_bias");
  LinearBiases biases;
  biases.query_key_value =
      all.value_or(false) ||
      added.value_or(query.value_or(attention.value_or(all.value_or(family.query_key_value_bias))));
  // GLM's attention_bias is that of queries, keys and values alone.
  biases.output = all.value_or(family.output_bias);
  if (!family.name.starts_with("Glm")) {
    const auto& output = family.name == "InternLM2" ? query : attention;
    biases.output = output.value_or(biases.output);
  }
  if (const auto output = fields.boolean("attention_out_bias")) biases.output = *output;  // Seed
  biases.perceptron = fields.boolean("mlp_bias").value_or(all.value_or(family.perceptron_bias));
  if (family.name == "MPT") biases.norm = all;
  return biases;
}

}  // namespace penstock
