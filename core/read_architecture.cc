#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "core/architecture.h"
#include "core/config_fields.h"

namespace penstock {
namespace {

enum class QueryKeyNorm { kNone, kPerHead, kWhole };

// What a family's name says without saying it: a config.json leaves out what equals the default of
// its class. After the model code of Hugging Face's transformers.
struct Family {
  std::string_view name;        // of the class, without "ForCausalLM"
  std::string_view model_type;  // in the file
  bool gated = true;
  bool tied = false;
  int learned_positions = -1;  // rows more than positions; -1: no table
  bool query_key_value_bias = false, output_bias = false, perceptron_bias = false;
  int norms = 2;
  bool norm_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  bool head_bias = false;
  bool embedding_norm = false;
  bool causal = true;
};

constexpr auto kNo = QueryKeyNorm::kNone;
constexpr auto kHead = QueryKeyNorm::kPerHead;
constexpr auto kWhole = QueryKeyNorm::kWhole;

//   name, model_type, gated, tied, positions, biases of qkv, output, perceptron, norms, ...
constexpr std::array kFamilies{
    Family{"Llama", "llama", true, false},
    Family{"Mistral", "mistral", true, false},
    Family{"Mixtral", "mixtral", true, false},
    Family{"Qwen2", "qwen2", true, false, -1, true},
    Family{"Qwen2Moe", "qwen2_moe", true, false, -1, true},
    Family{"Qwen3", "qwen3", true, false, -1, false, false, false, 2, false, kHead},
    Family{"Qwen3Moe", "qwen3_moe", true, false, -1, false, false, false, 2, false, kHead},
    Family{"DeepseekV2", "deepseek_v2", true, false},
    Family{"DeepseekV3", "deepseek_v3", true, false},
    Family{"Gemma", "gemma", true, true},
    Family{"Gemma2", "gemma2", true, true, -1, false, false, false, 4},
    Family{"Gemma3", "gemma3_text", true, true, -1, false, false, false, 4, false, kHead},
    Family{"Phi3", "phi3", true, false},
    Family{"Olmo2", "olmo2", true, false, -1, false, false, false, 2, false, kWhole},
    Family{"Olmoe", "olmoe", true, false, -1, false, false, false, 2, false, kWhole},
    Family{"GPT2LMHead", "gpt2", false, true, 0, true, true, true, 2, true},
    Family{"GPTNeo", "gpt_neo", false, true, 0, false, true, true, 2, true},
    Family{"GPTNeoX", "gpt_neox", false, false, -1, true, true, true, 2, true},
    Family{"GPTJ", "gptj", false, false, -1, false, false, true, 1, true, kNo, true},
    Family{"OPT", "opt", false, true, 2, true, true, true, 2, true},
    Family{"Bloom", "bloom", false, true, -1, true, true, true, 2, true, kNo, false, true},
    Family{"Falcon", "falcon", false, true, -1, false, false, false, 1, true},
    Family{"BertForMaskedLM", "bert", false, true, 0, true, true, true, 2, true, kNo, true, true,
           false},
};

constexpr std::array<std::string_view, 22> kOtherKinds{"mamba",        "mamba2",
                                                       "falcon_mamba", "rwkv",
                                                       "jamba",        "zamba",
                                                       "zamba2",       "bamba",
                                                       "nemotron_h",   "falcon_h1",
                                                       "lfm2",         "recurrent_gemma",
                                                       "qwen3_next",   "granitemoehybrid",
                                                       "t5",           "mt5",
                                                       "umt5",         "bart",
                                                       "mbart",        "pegasus",
                                                       "marian",       "whisper"};

// Of no weight for sizes and operations.
constexpr std::array<std::string_view, 62> kHarmless{"_name_or_path",
                                                     "activation_function",
                                                     "architectures",
                                                     "attention_bias",
                                                     "attention_dropout",
                                                     "attn_pdrop",
                                                     "auto_map",
                                                     "aux_loss_alpha",
                                                     "bos_token_id",
                                                     "classifier_dropout",
                                                     "dropout",
                                                     "dtype",
                                                     "embd_pdrop",
                                                     "eos_token_id",
                                                     "ep_size",
                                                     "gradient_checkpointing",
                                                     "hidden_act",
                                                     "hidden_activation",
                                                     "hidden_dropout",
                                                     "hidden_dropout_prob",
                                                     "attention_probs_dropout_prob",
                                                     "initializer_range",
                                                     "layer_norm_eps",
                                                     "layer_norm_epsilon",
                                                     "layerdrop",
                                                     "max_window_layers",
                                                     "mlp_bias",
                                                     "model_type",
                                                     "moe_layer_freq",
                                                     "n_group",
                                                     "norm_topk_prob",
                                                     "output_attentions",
                                                     "output_hidden_states",
                                                     "output_router_logits",
                                                     "pad_token_id",
                                                     "position_embedding_type",
                                                     "pretraining_tp",
                                                     "quantization_config",
                                                     "query_pre_attn_scalar",
                                                     "reorder_and_upcast_attn",
                                                     "resid_pdrop",
                                                     "rms_norm_eps",
                                                     "rope_interleave",
                                                     "rope_scaling",
                                                     "rope_parameters",
                                                     "rope_theta",
                                                     "routed_scaling_factor",
                                                     "router_aux_loss_coef",
                                                     "router_jitter_noise",
                                                     "scale_attn_by_inverse_layer_idx",
                                                     "scale_attn_weights",
                                                     "scoring_func",
                                                     "seq_aux",
                                                     "summary_activation",
                                                     "summary_first_dropout",
                                                     "summary_proj_to_labels",
                                                     "summary_type",
                                                     "summary_use_proj",
                                                     "task_specific_params",
                                                     "topk_group",
                                                     "topk_method",
                                                     "transformers_version"};
constexpr std::array<std::string_view, 3> kHarmlessToo{"torch_dtype", "use_cache", "type"};

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string without_suffix(std::string name) {
  for (const std::string_view suffix :
       {"ForCausalLM", "Model", "ForConditionalGeneration", "ForSequenceClassification"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

// Multimodal files nest the language model.
const Json& language_part(const Json& json) {
  const Json* nested = json.find("text_config");
  return nested != nullptr && nested->kind() == Json::Kind::kObject && nested->find("vocab_size")
             ? *nested
             : json;
}

class ArchitectureReader {
 public:
  ArchitectureReader(const Json& json, const std::string& file)
      : outer_(json), fields_(JsonReader(language_part(json), file)) {}

  Architecture read() {
    read_family();
    read_name();
    refuse_other_kinds();
    read_sizes();
    read_attention();
    read_latent();
    read_experts();
    read_small_parts();
    check_total();
    list_not_read();
    return std::move(model_);
  }

 private:
  void assume(std::string what) { model_.assumed.push_back(std::move(what)); }
  [[noreturn]] void fail(const std::string& message) { fields_.reader().fail(message); }

  // So many parts, each as wide.
  int width_of(int parts, int each) {
    const std::int64_t width = std::int64_t{parts} * each;
    if (width > std::numeric_limits<int>::max()) {
      fail(std::to_string(parts) + " times " + std::to_string(each) +
           " is wider than any model; correct one of them");
    }
    return static_cast<int>(width);
  }

  void read_family() {
    if (const auto classes = fields_.present("architectures")) {
      const auto elements = classes->elements();
      if (!elements.empty()) model_.family = without_suffix(elements.front().string());
    }
    const auto type = fields_.text("model_type");
    if (type) type_ = *type;
    for (const Family& family : kFamilies) {
      if (model_.family == family.name || (type && *type == family.model_type)) {
        family_ = &family;
        if (model_.family.empty()) model_.family = std::string(family.name);
        return;
      }
    }
    if (model_.family.empty()) model_.family = type.value_or("");
  }

  // "meta-llama/Meta-Llama-3-8B", or the path of a folder.
  void read_name() {
    const std::string path = fields_.text("_name_or_path").value_or("");
    model_.name = path.substr(path.find_last_of('/') + 1);
  }

  void refuse_other_kinds() {
    const bool two_parts = fields_.boolean("is_encoder_decoder").value_or(false);
    bool other = two_parts || is_among(type_, kOtherKinds);
    for (const std::string_view field :
         {"ssm_cfg", "state_size", "mamba_d_state", "hybrid_override_pattern", "layers_block_type",
          "num_decoder_layers"}) {
      other = other || fields_.reader().has(field);
    }
    if (!other) return;
    const std::string what = model_.family.empty() ? type_ : model_.family;
    fail("\"" + what +
         "\" is no plain stack of attention layers (state-space, hybrid and encoder-decoder models "
         "are not estimated); measure it instead: penstock profile, or write a penstock.profile/1 "
         "by hand (docs/file_formats.md), and plan from that");
  }

  void read_sizes() {
    model_.layers = fields_.required(kLayerNames);
    model_.hidden = fields_.required(kHiddenNames);
    model_.heads = fields_.required(kHeadNames);
    model_.vocabulary = fields_.required({"vocab_size"});
    model_.positions = fields_.size(kPositionNames).value_or(0);
    if (model_.layers > kMostLayers) {
      fail("expected at most " + std::to_string(kMostLayers) + " layers, got " +
           std::to_string(model_.layers));
    }
    if (!family_) {
      assume(
          "a decoder like Llama: gated perceptron, two norms without biases, no learned "
          "positions (architecture \"" +
          model_.family + "\" is not known)");
    }
    model_.matrices = family().gated ? 3 : 2;
    model_.causal = family().causal;
    if (const auto width = fields_.size(kFeedForwardNames)) {
      model_.feed_forward = *width;
    } else {
      model_.feed_forward = 4 * model_.hidden;
      if (!fields_.reader().has("n_inner")) {
        assume("perceptron " + std::to_string(model_.feed_forward) + " wide (4 times hidden)");
      }
    }
    if (const auto tied = fields_.boolean("tie_word_embeddings")) {
      model_.tied_head = *tied;
    } else {
      model_.tied_head = family().tied;
      assume(model_.tied_head ? "head tied to the embedding (default of the class)"
                              : "head not tied to the embedding (default of the class)");
    }
  }

  void read_attention() {
    model_.key_value_heads = fields_.boolean("multi_query").value_or(false) &&
                                     !fields_.boolean("new_decoder_architecture").value_or(false)
                                 ? 1
                                 : fields_.size(kKeyValueHeadNames).value_or(model_.heads);
    if (fields_.present("kv_lora_rank")) return;
    const auto width = fields_.size({"head_dim", "d_kv"});
    if (!width && model_.hidden % model_.heads != 0) {
      fail(std::to_string(model_.heads) + " attention heads do not divide a width of " +
           std::to_string(model_.hidden) + "; correct one of them, or add head_dim");
    }
    model_.head_width = width.value_or(model_.hidden / model_.heads);
    if (model_.heads % model_.key_value_heads != 0) {
      fail(std::to_string(model_.key_value_heads) + " key-value heads do not divide " +
           std::to_string(model_.heads) + " heads; correct one of them");
    }
    if (fields_.boolean("use_sliding_window").value_or(true)) {
      model_.window = fields_.size({"sliding_window"}).value_or(0);
    }
  }

  void read_latent() {
    const auto rank = fields_.size({"kv_lora_rank"});
    static_cast<void>(fields_.size({"head_dim"}));  // means nothing here
    if (!rank) return;
    LatentAttention latent;
    latent.key_value_rank = *rank;
    latent.query_rank = fields_.size({"q_lora_rank"}).value_or(0);
    latent.content_width = fields_.required({"qk_nope_head_dim"});
    latent.rotary_width = fields_.required({"qk_rope_head_dim"});
    latent.value_width = fields_.required({"v_head_dim"});
    model_.head_width = latent.content_width + latent.rotary_width;
    model_.latent = latent;
  }

  void read_experts() {
    const auto count = fields_.size(kExpertNames);
    const auto per_token = fields_.size({"num_experts_per_tok", "num_experts_per_token"});
    const auto width = fields_.size({"moe_intermediate_size"});
    const auto shared = fields_.size({"n_shared_experts"}, 0);
    const auto shared_width = fields_.size({"shared_expert_intermediate_size"}, 0);
    const int first_dense = fields_.size({"first_k_dense_replace"}, 0).value_or(0);
    const int every = fields_.size({"decoder_sparse_step"}).value_or(1);
    std::vector<int> dense = dense_layers();
    if (!count || *count == 1) return;
    if (!per_token)
      fail("expected num_experts_per_tok, since there are " + std::to_string(*count) + " experts");
    if (*per_token > *count) {
      fail("a token cannot visit " + std::to_string(*per_token) + " of " + std::to_string(*count) +
           " experts; correct num_experts_per_tok");
    }
    Experts experts;
    experts.count = *count;
    experts.per_token = *per_token;
    experts.width = width.value_or(model_.feed_forward);
    experts.shared_width = shared_width.value_or(width_of(shared.value_or(0), experts.width));
    experts.shared_gate = shared_width.value_or(0) > 0;
    model_.experts = experts;
    for (int layer = 0; layer < model_.layers; ++layer) {
      if (layer < first_dense || (layer + 1) % every != 0) dense.push_back(layer);
    }
    std::sort(dense.begin(), dense.end());
    dense.erase(std::unique(dense.begin(), dense.end()), dense.end());
    model_.dense_layers = std::move(dense);
  }

  std::vector<int> dense_layers() {
    std::vector<int> dense;
    const auto listed = fields_.present("mlp_only_layers");
    if (!listed) return dense;
    for (const JsonReader& element : listed->elements()) {
      dense.push_back(static_cast<int>(element.integer(0, model_.layers - 1)));
    }
    return dense;
  }

  void read_small_parts() {
    const Family& family = this->family();
    if (family.learned_positions >= 0) {
      if (model_.positions == 0) fail("expected max_position_embeddings or n_positions");
      model_.position_rows = model_.positions + family.learned_positions;
    }
    model_.query_key_value_bias =
        fields_.boolean("attention_bias").value_or(family.query_key_value_bias);
    model_.output_bias = fields_.boolean("attention_bias").value_or(family.output_bias);
    model_.perceptron_bias = fields_.boolean("mlp_bias").value_or(family.perceptron_bias);
    model_.norms = family.norms;
    if (family.name == "Falcon") read_falcon();
    model_.norm_bias = family.norm_bias;
    model_.head_bias = family.head_bias;
    model_.embedding_norm = family.embedding_norm;
    if (family.name == "BertForMaskedLM") {
      model_.token_types = fields_.size({"type_vocab_size"}, 0).value_or(2);
      model_.final_norm = false;
      model_.head_transform = true;
    }
    if (family.query_key_norm == kHead) model_.query_key_norm = 2 * model_.head_width;
    if (family.query_key_norm == kWhole) {
      model_.query_key_norm = width_of(model_.heads + model_.key_value_heads, model_.head_width);
    }
    extra_heads_ = fields_.size({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0);
    narrow_embedding_ = fields_.size({"word_embed_proj_dim"});
  }

  void read_falcon() {
    const bool bias = fields_.boolean("bias").value_or(false);
    model_.query_key_value_bias = model_.output_bias = model_.perceptron_bias = bias;
    const bool new_one = fields_.boolean("new_decoder_architecture").value_or(false);
    const bool parallel = fields_.boolean("parallel_attn").value_or(true);
    model_.norms = new_one || !parallel ? 2 : 1;
  }

  // Far beyond any model, and far below where 64 bits end.
  void check_total() {
    const auto real = [](int count) { return static_cast<double>(count); };
    const double h = real(model_.hidden), n = real(model_.heads);
    double width = 3.0 * real(model_.feed_forward) + 4.0 * n * real(model_.head_width);
    if (model_.experts) {
      width += 3.0 * (real(model_.experts->count) * real(model_.experts->width) +
                      real(model_.experts->shared_width) + real(model_.experts->count));
    }
    double layer = h * width;
    if (const auto& latent = model_.latent) {
      const double ranks = real(latent->query_rank) + real(latent->key_value_rank);
      layer += (ranks + h) * (h + 3.0 * n *
                                      (real(latent->content_width) + real(latent->value_width) +
                                       real(latent->rotary_width)));
    }
    const double tables =
        2.0 * real(model_.vocabulary) + real(model_.positions) + 2.0 + real(model_.token_types);
    if (real(model_.layers) * layer + tables * h > 1e15) {
      fail("these sizes make more than 10^15 parameters; correct them");
    }
  }

  void list_not_read() {
    if (&outer_ != &fields_.reader().value()) {
      model_.not_read.push_back("everything beside text_config (of other kinds of input)");
    }
    if (extra_heads_.value_or(0) > 0) {
      model_.not_read.push_back(std::to_string(*extra_heads_) +
                                " extra prediction layers (num_nextn_predict_layers): not part of "
                                "this estimate");
    }
    if (narrow_embedding_.value_or(model_.hidden) != model_.hidden) {
      model_.not_read.push_back("word_embed_proj_dim " + std::to_string(*narrow_embedding_) +
                                ": embedding and head are taken as wide as the model");
    }
    for (const auto& [key, value] : fields_.reader().value().members()) {
      static_cast<void>(value);
      if (is_among(key, kHarmless) || is_among(key, kHarmlessToo)) continue;
      if (fields_.knows(key)) continue;
      model_.not_read.push_back(key);
    }
  }

  [[nodiscard]] const Family& family() const { return family_ ? *family_ : kFamilies.front(); }

  static constexpr int kMostLayers = 100'000;
  const Json& outer_;
  ConfigFields fields_;
  Architecture model_;
  std::string type_;
  const Family* family_ = nullptr;
  std::optional<int> extra_heads_, narrow_embedding_;
};

}  // namespace

Architecture read_architecture(const Json& json, const std::string& file) {
  return ArchitectureReader(json, file).read();
}

}  // namespace penstock
