#include <doctest/doctest.h>

#include "core/architecture.h"
#include "core/device_sheet.h"
#include "core/error.h"
#include "core/json_reader.h"

namespace penstock {
namespace {

Architecture read(const std::string& text) {
  return read_architecture(parse_json(text, "config.json"), "config.json");
}
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}
std::string refused(const std::string& text) {
  return refusal([&] { static_cast<void>(read(text)); });
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
  CHECK(model.not_read[0].starts_with("1 extra prediction layers"));
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
  CHECK(model.not_read[0] == "everything beside text_config (of other kinds of input)");
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
  CHECK(refused("{" + std::string(kSizes) + R"(, "num_experts": 8})")
            .find("expected num_experts_per_tok, since there are 8 experts") != std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 100000, "hidden_size": 16777216,
                    "num_attention_heads": 1, "vocab_size": 9})")
            .find("more than 10^15 parameters") != std::string::npos);
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
    return refusal([&] { static_cast<void>(sheet(kSheet, from, to)); });
  };
  CHECK(why(R"("memory_source": "s",)", "").find("\"memory_source\" is missing") !=
        std::string::npos);
  CHECK(why(R"("bf16")", R"("int8")").find("/peaks/0/arithmetic") != std::string::npos);
  CHECK(why("1e14", "0").find("/peaks/0/flops_per_s") != std::string::npos);
  CHECK(why("\"generation\"", "\"generatoin\"").find("generation") != std::string::npos);
}

}  // namespace
}  // namespace penstock
