// The architecture (read_architecture) gives sizes, the config.json itself what the architecture
// does not hold, such as the base of rotary positions. What Megatron-LM cannot build as the model
// has it is added to `differs` in words, so the job says where it trains another model.
#include "trainers/megatron/megatron_model.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace penstock {
namespace {

class Writer {
 public:
  Writer(const ModelConfig& model, int sequence_length)
      : json_(model.json), arch_(model.architecture), sequence_length_(sequence_length) {}

  MegatronModel run() {
    if (!arch_.causal) differs("attention looks back only; the model's looks both ways");
    sizes();
    positions();
    norms();
    perceptron();
    biases();
    if (!arch_.tied_head) add("--untie-embeddings-and-output-weights");
    if (arch_.query_key_norm > 0) add("--qk-layernorm");
    if (arch_.experts) experts(*arch_.experts);
    if (arch_.latent) latent(*arch_.latent);
    add("--attention-dropout 0.0");
    add("--hidden-dropout 0.0");
    if (arch_.window > 0 && arch_.window < sequence_length_) {
      add(fmt::format("--window-size {},0", arch_.window));
    }
    return std::move(out_);
  }

 private:
  void add(std::string flag) { out_.flags.push_back(std::move(flag)); }
  template <class Value>
  void add(std::string_view name, const Value& value) {
    add(fmt::format("{} {}", name, value));
  }
  void differs(std::string words) { out_.differs.push_back(std::move(words)); }

  // A field of the file, or of its language model.
  [[nodiscard]] const Json* field(std::string_view name) const {
    if (const Json* found = json_.find(name)) return found;
    const Json* nested = json_.find("text_config");
    return nested == nullptr ? nullptr : nested->find(name);
  }
  [[nodiscard]] std::optional<std::string> text(
      std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      const Json* found = field(name);
      const bool plain = found != nullptr && (found->kind() == Json::Kind::kNumber ||
                                              found->kind() == Json::Kind::kString);
      if (plain) return found->text();
    }
    return {};
  }
  // Since transformers 5 in an object of its own.
  [[nodiscard]] std::optional<std::string> rope_text(std::string_view name) const {
    if (auto plain = text({name})) return plain;
    for (const std::string_view object : {"rope_parameters", "rope_scaling"}) {
      const Json* parameters = field(object);
      if (parameters == nullptr || parameters->kind() != Json::Kind::kObject) continue;
      const Json* found = parameters->find(name);
      if (found != nullptr && found->kind() != Json::Kind::kNull) return found->text();
    }
    return {};
  }

  void sizes() {
    add("--hidden-size", arch_.hidden);
    add("--ffn-hidden-size", arch_.feed_forward);
    add("--num-attention-heads", arch_.heads);
    if (arch_.latent) return;
    if (arch_.key_value_heads != arch_.heads) {
      add("--group-query-attention");
      add("--num-query-groups", arch_.key_value_heads);
    }
    add("--kv-channels", arch_.head_width);
  }

  void positions() {
    add("--max-position-embeddings", std::max({arch_.positions, sequence_length_, 1}));
    if (arch_.position_rows > 0) {
      add("--position-embedding-type learned_absolute");
      return;
    }
    if (arch_.family == "Bloom" || arch_.family == "MPT") {
      add("--position-embedding-type none");
      differs("it has no ALiBi; the model has no positions here");
      return;
    }
    add("--position-embedding-type rope");
    // A whole number there.
    const std::string base =
        rope_text("rope_theta").value_or(text({"rotary_emb_base", "rope_base"}).value_or("10000"));
    add("--rotary-base", static_cast<long long>(std::stod(base)));
    const auto share = rope_text("partial_rotary_factor");
    if (const auto percent = share ? share : text({"rotary_pct"})) {
      add("--rotary-percent", *percent);
    }
    scaled_positions();
  }

  void scaled_positions() {
    const Json* scaling = field("rope_scaling");
    if (scaling == nullptr || scaling->kind() != Json::Kind::kObject) return;
    const Json* type = scaling->find("rope_type");
    if (type == nullptr) type = scaling->find("type");
    const Json* factor = scaling->find("factor");
    if (type == nullptr || type->text() == "default") return;
    if (type->text() == "llama3" && factor != nullptr) {
      add("--use-rope-scaling");
      add("--rope-scaling-factor", factor->text());
      return;
    }
    if (!arch_.latent) differs("positions are not scaled here (rope_scaling " + type->text() + ")");
  }

  void norms() {
    static constexpr std::array kLayerNorms{"Cohere", "MPT", "Olmo", "Falcon"};
    const bool named =
        std::find(kLayerNorms.begin(), kLayerNorms.end(), arch_.family) != kLayerNorms.end();
    const bool root_mean_square = text({"rms_norm_eps"}) || (!arch_.norm_bias && !named);
    add("--normalization", root_mean_square ? "RMSNorm" : "LayerNorm");
    if (const auto epsilon = text({"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon",
                                   "layernorm_epsilon", "norm_eps", "norm_epsilon"})) {
      add("--norm-epsilon", *epsilon);
    }
    // Weights that are counted from one.
    if (arch_.family == "Nemotron" || arch_.family.starts_with("Gemma")) {
      add("--apply-layernorm-1p");
    }
    if (arch_.norms == 4) differs("norms after attention and perceptron are left out");
  }

  void perceptron() {
    const std::string activation =
        text({"hidden_activation", "hidden_act", "activation_function"}).value_or("");
    const bool gelu = activation.find("gelu") != std::string::npos;
    if (arch_.matrices == 3) {
      add(gelu ? "--quick-geglu" : "--swiglu");
      if (gelu) differs("the gate is its quick GELU, not " + activation);
    } else if (activation == "relu2") {
      add("--squared-relu");
    } else if (activation == "relu" || arch_.family == "OPT") {
      differs("the perceptron has GELU in place of ReLU");
    }
  }

  void biases() {
    const bool linear = arch_.perceptron_bias || arch_.output_bias;
    if (!linear) {
      add("--disable-bias-linear");
      if (arch_.query_key_value_bias) add("--add-qkv-bias");
      return;
    }
    if (!(arch_.perceptron_bias && arch_.output_bias && arch_.query_key_value_bias)) {
      differs("all linear layers have biases, not only some");
    }
  }

  void experts(const Experts& experts) {
    add("--num-experts", experts.count);
    add("--moe-router-topk", experts.per_token);
    add("--moe-ffn-hidden-size", experts.width);
    if (experts.shared_width > 0) {
      add("--moe-shared-expert-intermediate-size", experts.shared_width);
    }
    if (experts.shared_gate) add("--moe-shared-expert-gate");
    if (!arch_.dense_layers.empty()) {
      std::string pattern;
      for (int layer = 0; layer < arch_.layers; ++layer) {
        const bool dense =
            std::binary_search(arch_.dense_layers.begin(), arch_.dense_layers.end(), layer);
        pattern += fmt::format("{}{}", layer > 0 ? "," : "", dense ? 0 : 1);
      }
      add("--moe-layer-freq \"[" + pattern + "]\"");
    }
    add("--moe-router-load-balancing-type aux_loss");
    add("--moe-aux-loss-coeff", text({"router_aux_loss_coef", "aux_loss_alpha"}).value_or("0.001"));
    add("--moe-grouped-gemm");
    add("--moe-token-dispatcher-type alltoall");
  }

  void latent(const LatentAttention& latent) {
    add("--multi-latent-attention");
    if (latent.query_rank > 0) add("--q-lora-rank", latent.query_rank);
    add("--kv-lora-rank", latent.key_value_rank);
    add("--qk-head-dim", latent.content_width);
    add("--qk-pos-emb-head-dim", latent.rotary_width);
    add("--v-head-dim", latent.value_width);
  }

  const Json& json_;
  const Architecture& arch_;
  int sequence_length_;
  MegatronModel out_;
};

}  // namespace

MegatronModel megatron_model(const ModelConfig& model, int sequence_length) {
  return Writer(model, sequence_length).run();
}

}  // namespace penstock
