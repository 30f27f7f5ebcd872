#include "training/model_from_config.h"

#include <doctest/doctest.h>

#include "tests/core/messages.h"

namespace penstock {
namespace {

ConfiguredModel read(const std::string& text) {
  return model_from_config(parse_json(text, "config.json"), "config.json");
}
std::string refusal(const std::string& text) {
  return tests::message_of([&] { (void)read(text); });
}

TEST_CASE("GPT-2's config: its own names, a feed-forward width of four times the hidden one") {
  const ConfiguredModel gpt2 = read(R"({
    "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
    "attn_pdrop": 0.1, "embd_pdrop": 0.0, "n_ctx": 1024, "n_embd": 768, "n_head": 12,
    "n_inner": null, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257})");
  ModelDescription expected;
  expected.layers = 12;
  expected.hidden = 768;
  expected.heads = 12;
  expected.feed_forward = 3072;
  expected.vocabulary = 50257;
  expected.positions = 1024;
  expected.tied_embedding = true;
  CHECK(gpt2.description == expected);
  CHECK(gpt2.differences ==
        std::vector<std::string>{"activation gelu_new; built in is gelu", "dropout (attn_pdrop)"});
}

TEST_CASE("a Llama config: what the built-in family has not is listed") {
  const ConfiguredModel llama = read(R"({
    "model_type": "llama", "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
    "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rope_scaling": null, "tie_word_embeddings": false,
    "torch_dtype": "bfloat16", "vocab_size": 128256})");
  CHECK(llama.description.layers == 32);
  CHECK(llama.description.feed_forward == 14336);
  CHECK(llama.description.precision == Precision::kBFloat16);
  CHECK_FALSE(llama.description.tied_embedding);
  CHECK(llama.differences ==
        std::vector<std::string>{"rotary positions (rope); built in are learned ones",
                                 "a gated perceptron of three matrices; built in is one of two",
                                 "RMS norms without biases; built in are layer norms",
                                 "activation silu; built in is gelu",
                                 "8 key-value heads for 32 heads (num_key_value_heads)"});
}

TEST_CASE("BERT's config is of the family that attends both ways") {
  const ConfiguredModel bert = read(R"({
    "model_type": "bert", "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072,
    "max_position_embeddings": 512, "num_attention_heads": 12, "num_hidden_layers": 12,
    "type_vocab_size": 2, "vocab_size": 30522})");
  CHECK(bert.description.family == ModelFamily::kBert);
  CHECK(bert.description.tied_embedding);
  CHECK(bert.differences ==
        std::vector<std::string>{"norms behind attention and perceptron, not before them",
                                 "token types (type_vocab_size)"});
}

TEST_CASE("an architecture that is not known is named, and so is what is missing") {
  CHECK(refusal(R"({"model_type": "mamba"})")
            .find("config.json:1: /model_type: architecture \"mamba\" is not known; known are "
                  "gpt2, ") == 0);
  CHECK(refusal("{}").find("no model_type") != std::string::npos);
  CHECK(refusal(R"({"model_type": "gpt2"})")
            .find("expected num_hidden_layers or n_layer or num_layers") != std::string::npos);
  CHECK(refusal(R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 10, "n_head": 3,
                    "vocab_size": 300, "n_positions": 8})")
            .find("3 attention heads do not divide a width of 10") != std::string::npos);
  CHECK(refusal(R"({"model_type": "gpt2", "n_layer": -2})").find("/n_layer") != std::string::npos);
}

}  // namespace
}  // namespace penstock
