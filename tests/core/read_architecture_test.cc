#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "core/values/architecture.h"
#include "core/values/device_sheet.h"
#include "tests/core/messages.h"

namespace penstock {
namespace {

Architecture read(const std::string& text) {
  return read_architecture(parse_json(text, "config.json"), "config.json");
}
std::string refused(const std::string& text) {
  return tests::message_of([&] { static_cast<void>(read(text)); });
}
constexpr const char* kSizes =
    R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000)";
Architecture with(const std::string& more) { return read("{" + std::string(kSizes) + more + "}"); }

TEST_CASE("GPT-2's own names, and what its class says without saying it") {
  const Architecture gpt2 = read(R"({"architectures": ["GPT2LMHeadModel"], "n_layer": 12,
      "n_embd": 768, "n_head": 12, "n_inner": null, "n_positions": 1024, "vocab_size": 50257})");
  CHECK(gpt2.layers == 12);
  CHECK(gpt2.feed_forward == 3072);
  CHECK(gpt2.matrices == 2);
  CHECK(gpt2.head_width == 64);
  CHECK(gpt2.tied_head);
  CHECK(gpt2.position_rows == 1024);
  CHECK(gpt2.norm_bias);
  CHECK(gpt2.assumed ==
        std::vector<std::string>{"head tied to the embedding (default of the class)"});
  CHECK(gpt2.not_read.empty());
}

TEST_CASE("latent attention, experts and dense layers of DeepSeek") {
  const Architecture model = with(R"(, "model_type": "deepseek_v3", "intermediate_size": 256,
      "q_lora_rank": 32, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
      "v_head_dim": 8, "n_routed_experts": 8, "n_shared_experts": 2, "num_experts_per_tok": 3,
      "moe_intermediate_size": 32, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
      "head_dim": 77)");
  REQUIRE(model.latent);
  CHECK(*model.latent == LatentAttention{32, 16, 8, 4, 8});
  CHECK(model.head_width == 12);
  REQUIRE(model.experts);
  CHECK(*model.experts == Experts{8, 3, 32, 64, false});
  CHECK(model.dense_layers == std::vector<int>{0});
  REQUIRE(model.not_read.size() == 1);
  CHECK(model.not_read[0].starts_with("1 extra prediction layer"));
}

// Every family has its own way to say in which of 12 layers attention reaches 16 tokens back.
TEST_CASE("a window in some of the layers is read, and said") {
  const auto said = [](const std::string& fields) {
    const Architecture model = read(
        R"({"num_hidden_layers": 12, "hidden_size": 64, "num_attention_heads": 4,
            "intermediate_size": 128, "vocab_size": 1000, "sliding_window": 16, )" +
        fields + "}");
    CHECK(model.window == 16);
    for (const std::string& text : model.assumed) {
      const std::string begin = "attention reaches back 16 tokens in ";
      if (text.starts_with(begin)) return text.substr(begin.size(), text.find(';') - begin.size());
    }
    return std::string("all");
  };
  CHECK(said(R"("model_type": "mistral")") == "all");
  CHECK(said(R"("model_type": "exaone4", "sliding_window_pattern": "LLLG")") == "9 of 12 layers");
  CHECK(said(R"("model_type": "gemma3_text", "sliding_window_pattern": 6)") == "10 of 12 layers");
  CHECK(said(R"("model_type": "mistral", "layer_types": ["full_attention", "sliding_attention",
      "sliding_attention"])") == "2 of 12 layers");
  CHECK(said(R"("model_type": "qwen2", "use_sliding_window": true, "max_window_layers": 8)") ==
        "4 of 12 layers");
  const auto without =
      read("{" + std::string(kSizes) +
           R"(, "model_type": "qwen2", "intermediate_size": 128, "sliding_window": 16})");
  CHECK(without.window == 0);
}

// Of two layers every second one reaches to the start, or (every third) none does.
TEST_CASE("a window of an encoder counts for nothing, and is said") {
  const auto is_said = [](const std::string& every, const std::string& where) {
    const Architecture model = with(R"(, "model_type": "modernbert", "intermediate_size": 128,
      "local_attention": 16, "global_attn_every_n_layers": )" +
                                    every);
    CHECK(model.window == 0);
    return std::any_of(model.assumed.begin(), model.assumed.end(), [&](const std::string& text) {
      return text.starts_with("attention reaches over the whole sequence, where in " + where +
                              " layers it reaches 16 tokens");
    });
  };
  CHECK(is_said("2", "some"));
  CHECK(is_said("3", "all"));
}

TEST_CASE("fields that nobody reads are named, and harmless ones are not") {
  const Architecture model = with(R"(, "model_type": "llama", "rms_norm_eps": 1e-5,
      "torch_dtype": "bfloat16", "attention_bias": true, "frobnicate": 3, "tie_word_embeddings": false,
      "intermediate_size": 256)");
  CHECK(model.not_read == std::vector<std::string>{"frobnicate"});
  CHECK(model.query_key_value_bias);
  CHECK(model.assumed.empty());
}

TEST_CASE("an unknown decoder is read like a Llama, and says so") {
  const Architecture model = with(R"(, "architectures": ["WombatForCausalLM"])");
  CHECK(model.family == "Wombat");
  CHECK(model.matrices == 3);
  REQUIRE(model.assumed.size() == 3);
  CHECK(model.assumed[0].starts_with("a decoder like Llama"));
}

TEST_CASE("the language model of a multimodal file is taken") {
  const Architecture model = read(R"({"model_type": "both", "vision_config": {"hidden_size": 7},
      "text_config": {"model_type": "llama", )" +
                                  std::string(kSizes) + "}}");
  CHECK(model.hidden == 64);
  REQUIRE(model.not_read.size() == 1);
  CHECK(model.not_read[0].starts_with("vision_config: another kind of input"));
}

TEST_CASE("a text_config without sizes has those of its class, and says so") {
  const Architecture model =
      read(R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064},
               "tie_word_embeddings": true})");
  CHECK(model.layers == 32);
  CHECK(model.hidden == 4096);
  CHECK(model.feed_forward == 11008);
  CHECK(model.key_value_heads == 32);
  CHECK(model.tied_head);
  CHECK(model.assumed[0] == "num_hidden_layers 32 (default of the class)");
  // At the top of a file a size is not guessed, nor for a class whose defaults are not known.
  CHECK(refused(R"({"model_type": "llama", "vocab_size": 32064})")
            .starts_with("config.json:1: expected num_hidden_layers"));
  CHECK(refused(R"({"text_config": {"model_type": "wombat", "vocab_size": 9}})")
            .starts_with("config.json:1: /text_config: expected num_hidden_layers"));
}

TEST_CASE("an activation without a gate makes two matrices, unless the family is known for three") {
  const auto matrices = [](const std::string& type, const std::string& activation) {
    return with(R"(, "model_type": ")" + type + R"(", "hidden_act": ")" + activation + "\"")
        .matrices;
  };
  for (const char* plain : {"relu", "relu2", "gelu", "gelu_new", "squared_relu", "quick_gelu"}) {
    CHECK(matrices("wombat", plain) == 2);
  }
  for (const char* gated : {"silu", "swish", "swiglu", "geglu"}) {
    CHECK(matrices("wombat", gated) == 3);
  }
  CHECK(matrices("gemma", "gelu") == 3);
  CHECK(matrices("gpt_neox", "silu") == 2);
  CHECK(
      with(R"(, "model_type": "wombat", "hidden_act": "relu2")")
          .assumed[0]
          .starts_with("a decoder like Llama: perceptron of two matrices (activation \"relu2\")"));
  CHECK(with(R"(, "model_type": "wombat", "layer_norm_eps": 1e-5)").norm_bias);
  CHECK_FALSE(with(R"(, "model_type": "wombat", "rms_norm_eps": 1e-5)").norm_bias);
}

TEST_CASE("a nested object whose sizes nobody reads is refused, one without sizes is not") {
  CHECK(refused("{" + std::string(kSizes) + R"(, "model_type": "wombat",
                    "ffn_config": {"ffn_hidden_size": 512}})")
            .find("/ffn_config: \"ffn_config\" is nested and its sizes are not known here; write "
                  "what it says of the language model at the top of the file") !=
        std::string::npos);
  CHECK(refused(R"({"text_config": {"model_type": "llama", )" + std::string(kSizes) +
                R"(, "moe_config": {"experts": 8}}})")
            .find("/text_config/moe_config") != std::string::npos);
  CHECK(with(R"(, "model_type": "llama", "quantization_config": {"bits": 4}, "tie_word_embeddings":
                 true, "intermediate_size": 256)")
            .not_read.empty());
}

TEST_CASE("attention and perceptron of MPT and DBRX are nested") {
  const Architecture mpt = read(R"({"model_type": "mpt", "d_model": 64, "n_heads": 4, "n_layers": 2,
      "vocab_size": 100, "max_seq_len": 32, "expansion_ratio": 2.5,
      "attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 2, "alibi": false},
      "ffn_config": {"ffn_type": "mptglu"}})");
  CHECK(mpt.feed_forward == 160);
  CHECK(mpt.matrices == 3);
  CHECK(mpt.key_value_heads == 2);
  CHECK(mpt.position_rows == 32);
  CHECK(mpt.tied_head);
  const Architecture dbrx = read(R"({"model_type": "dbrx", "d_model": 64, "n_heads": 4,
      "n_layers": 2, "vocab_size": 100, "attn_config": {"kv_n_heads": 2},
      "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 16, "moe_top_k": 4}})");
  REQUIRE(dbrx.experts);
  CHECK(*dbrx.experts == Experts{16, 4, 48, 0, false, false});
  CHECK(dbrx.key_value_heads == 2);
  CHECK(refused(R"({"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2,
                    "vocab_size": 100})")
            .find("expected attn_config and ffn_config") != std::string::npos);
}

TEST_CASE("what is missing, impossible or of another kind is refused") {
  CHECK(refused("{}").find("config.json:1: expected num_hidden_layers or n_layer") == 0);
  CHECK(refused(R"({"num_hidden_layers": 0})").find("/num_hidden_layers") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": 10, "num_attention_heads": 3,
                    "vocab_size": 9})")
            .find("3 attention heads do not divide a width of 10") != std::string::npos);
  CHECK(refused(R"({"model_type": "mamba"})").find("measure it instead") != std::string::npos);
  CHECK(refused(R"({"model_type": "x", "is_encoder_decoder": true})")
            .find("encoder-decoder models are not estimated") != std::string::npos);
  CHECK(refused(R"({"model_type": "nemotron_h"})")
            .find("\"nemotron_h\" is a state-space or hybrid") != std::string::npos);
  CHECK(refused(R"({"model_type": "jamba"})").find("is a state-space or hybrid") !=
        std::string::npos);
  CHECK(refused(R"({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"})")
            .find("\"T5\" is an encoder-decoder model") != std::string::npos);
  CHECK(refused(R"({"architectures": ["T5ForConditionalGeneration"]})")
            .find("\"T5\" is an encoder-decoder model") != std::string::npos);
  CHECK(refused(R"({"model_type": "albert"})").find("layers share their weights") !=
        std::string::npos);
  CHECK(refused("{" + std::string(kSizes) +
                R"(, "layer_types": ["full_attention", "linear_attention"]})")
            .find("is a hybrid model") != std::string::npos);
  CHECK(refused("{" + std::string(kSizes) + R"(, "num_experts": 8})")
            .find("expected num_experts_per_tok, since there are 8 experts") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 100000, "hidden_size": 16777216,
                    "num_attention_heads": 1, "vocab_size": 9})")
            .find("more than 10^15 parameters") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": 65536, "num_attention_heads": 1,
                    "vocab_size": 8388608, "intermediate_size": 16})")
            .find("embeddings of more than 5 x 10^11 parameters") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": 2097152, "num_attention_heads": 2,
                    "vocab_size": 9, "intermediate_size": 2097152})")
            .find("a layer of more than 5 x 10^11 parameters") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 2, "hidden_size": 16777217})").find("/hidden_size") !=
        std::string::npos);
  CHECK(refused("{" + std::string(kSizes) + R"(, "num_experts": 8, "num_experts_per_tok": 2,
                    "moe_intermediate_size": 16777216, "n_shared_experts": 16777216})")
            .find("16777216 times 16777216 is wider than any model") != std::string::npos);
  CHECK(refused("{" + std::string(kSizes) + R"(, "num_key_value_heads": 3})")
            .find("3 key-value heads do not divide 4 heads") != std::string::npos);
}

constexpr const char* kSheet = R"({
  "format": "penstock.device/1", "name": "box", "aliases": ["Box-1"], "generation": "new",
  "sources": [{"id": "s", "origin": "datasheet", "text": "sheet"}],
  "peaks": [{"arithmetic": "bf16", "flops_per_s": 1e14, "source": "s"}],
  "memory_bytes": 1000, "memory_source": "s",
  "memory_bandwidth_bytes_per_s": 1e12, "memory_bandwidth_source": "s",
  "node": {"devices": 4, "link": "wire", "bandwidth_bytes_per_s": 1e9, "source": "s"}})";

DeviceSheet sheet(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return read_device_sheet(parse_json(text, "box.json"), "box.json");
}

TEST_CASE("a datasheet is found by name or alias, not by a part of it") {
  const DeviceSheet box = sheet(kSheet);
  CHECK(box.is_called("box"));
  CHECK(box.is_called("BOX-1"));
  CHECK_FALSE(box.is_called("bo"));
  CHECK_FALSE(box.is_called("box-12"));
  REQUIRE(box.peak(Arithmetic::kBFloat16) != nullptr);
  CHECK(box.peak(Arithmetic::kBFloat16)->flops_per_s == 1e14);
  CHECK(box.peak(Arithmetic::kFloat32) == nullptr);
  CHECK(box.node.devices == 4);
}

TEST_CASE("a datasheet without a source, a rate or sense is refused") {
  const auto why = [](const std::string& from, const std::string& to) {
    return tests::message_of([&] { static_cast<void>(sheet(kSheet, from, to)); });
  };
  CHECK(why(R"("memory_source": "s",)", "").find("\"memory_source\" is missing") !=
        std::string::npos);
  CHECK(why(R"("bf16")", R"("int8")").find("/peaks/0/arithmetic") != std::string::npos);
  CHECK(why("1e14", "0").find("/peaks/0/flops_per_s") != std::string::npos);
  CHECK(why("\"generation\"", "\"generatoin\"").find("generation") != std::string::npos);
}

}  // namespace
}  // namespace penstock
