// What a transformer is made of, read from a Hugging Face config.json: sizes only, nothing in the
// file is executed. What was filled in and what was not understood is listed, so that an estimate
// built on it can say what it rests on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/json.h"

namespace penstock {

// Perceptrons of which a token visits a few.
struct Experts {
  int count = 0;
  int per_token = 0;
  int width = 0;         // inner width of one expert
  int shared_width = 0;  // of what every token visits besides; 0: nothing
  bool shared_gate = false;
  bool router_bias = false;
  // A token's experts are of so many of the groups that experts are divided into, which lie on as
  // many nodes (DeepSeek-V3, arXiv 2412.19437); 0: of any.
  int groups = 0, groups_per_token = 0;
  bool operator==(const Experts&) const = default;
};

// Attention whose keys and values go through a narrow layer (DeepSeek-V2, arXiv 2405.04434).
struct LatentAttention {
  int query_rank = 0;      // 0: queries are projected in one step
  int key_value_rank = 0;  // width of what is kept per token
  int content_width = 0;   // per head, without positions
  int rotary_width = 0;    // per head, with positions; keys share one
  int value_width = 0;     // per head
  bool operator==(const LatentAttention&) const = default;
};

struct Architecture {
  std::string name;    // of the model, for people; empty when the file does not say
  std::string family;  // "Llama"; of an unknown one what the file says
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int key_value_heads = 0;
  int head_width = 0;
  int feed_forward = 0;  // inner width of a dense layer's perceptron
  int matrices = 2;      // of a perceptron: 2 plain, 3 gated
  int vocabulary = 0;
  int positions = 0;        // longest sequence; 0 when the file does not say
  int window = 0;           // attention reaches back this many tokens; 0: to the start
  int windowed_layers = 0;  // in so many layers; 0: in all, where there is a window
  bool causal = true;
  bool tied_head = false;
  std::optional<Experts> experts{};
  std::vector<int> dense_layers{};  // of a model with experts: the layers without, ascending
  std::optional<LatentAttention> latent{};
  // What only the parameter count shows.
  int position_rows = 0;        // learned positions; 0: none
  int token_types = 0;          // rows of BERT's table of token types
  bool embedding_norm = false;  // a norm behind the embedding
  bool final_norm = true;       // a norm before the head
  bool head_transform = false;  // BERT's layer before the head
  bool query_key_value_bias = false;
  bool output_bias = false;
  bool perceptron_bias = false;
  bool head_bias = false;
  int norms = 2;  // with weights, of a layer, each as wide as the model
  bool norm_bias = false;
  // What only kernels that are not fused show.
  bool rms_norm = false;         // norms are of root mean squares, not of mean and variance
  double rotary_share = 0.0;     // of a head's queries and keys that positions turn
  int query_key_norm = 0;        // weights of the norms of queries and keys in a layer
  bool attention_sinks = false;  // a weight per head
  // Fields that the file leaves out, "head width 128 (hidden / heads)", and fields that it has and
  // nobody here reads.
  std::vector<std::string> assumed{}, not_read{};
  bool operator==(const Architecture&) const = default;
};

// Error{kBadInput} with file, line, field and remedy: sizes that are missing or that no model has,
// state-space and encoder-decoder models, and nested objects that would hold sizes and are not
// known. A decoder of an unknown name is read as a Llama, with a perceptron as its activation says,
// and everything that is assumed of it is listed.
Architecture read_architecture(const Json& json, const std::string& file);

}  // namespace penstock
