// What the name of a family says without the file saying it: a config.json leaves out what equals
// the default of its class, and norms, biases and gates are mostly code. After the model code of
// Hugging Face's transformers, and of the makers where that has none.
#pragma once

#include <string_view>

namespace penstock {

// Of the queries and keys of a layer: weights per element of a head, or per element of all heads.
enum class QueryKeyNorm { kNone, kPerHead, kWhole };

struct KnownFamily {
  std::string_view name;        // of the class, without "ForCausalLM"
  std::string_view model_type;  // in the file
  bool gated = true;
  bool tied = false;
  int learned_positions = -1;  // rows more than positions; -1: no table
  bool query_key_value_bias = false, output_bias = false, perceptron_bias = false;
  int norms = 2;  // with weights, of a layer; 1: attention and perceptron side by side
  bool norm_bias = false;
  bool layer_norm = false;    // also where its norms have no bias; no: of root mean squares
  double rotary_share = 1.0;  // of a head, where there is no table and the file does not say
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  bool head_bias = false;
  bool embedding_norm = false;
  bool final_norm = true;      // with weights
  bool causal = true;          // no: an encoder with BERT's head
  bool multi_query = false;    // one key-value head where the file does not say
  bool expert_biases = false;  // of the router and of every expert
  bool attention_sinks = false;
  int token_types = 0;  // rows of an encoder's table of token types where the file does not say
  int whole_every = 0;  // attention has a window except in every such layer; 0: in all
};

// By the class (first of `architectures`, without its suffix) or by model_type; null: not known.
const KnownFamily* known_family(std::string_view class_name, std::string_view model_type);

// Sizes of a class, which transformers fills in where a text_config leaves them out. 0: none.
struct ClassSizes {
  std::string_view family;
  int layers = 0, hidden = 0, heads = 0, key_value_heads = 0, head_width = 0, feed_forward = 0,
      vocabulary = 0, positions = 0;
};
const ClassSizes* sizes_of_class(const KnownFamily& family);

// Why models of this type are no stack of equal attention layers; empty: nothing known against it.
std::string_view why_no_plain_stack(std::string_view model_type);

// A perceptron of three matrices: "silu", "swiglu", "geglu"; not "relu2", "gelu_new".
bool is_gated_activation(std::string_view activation);

// Fields of no weight for sizes and operations.
bool is_harmless_field(std::string_view name);
// Objects nested in a file: settings that say nothing about sizes, and parts for other kinds of
// input or output than text.
bool is_harmless_object(std::string_view name);
bool is_other_input(std::string_view name);

}  // namespace penstock
