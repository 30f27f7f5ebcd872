// Reads a config.json of the Hugging Face Hub part by part: family, sizes, perceptron, attention,
// experts, biases. Names of fields differ by family, so each size has a list of names
// (config_fields.h); what the file leaves out comes from the family's row (known_families.h), or
// from the defaults of its class, and every such guess is noted in Architecture::assumed. What is
// no stack of alike attention layers is refused with the reason.
//
// Invariant: every field is either used, known to say nothing about sizes, or listed in
// Architecture::not_read; none is passed over in silence.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/files/attention_window.h"
#include "core/files/config_fields.h"
#include "core/files/expert_layers.h"
#include "core/files/known_families.h"
#include "core/files/language_part.h"
#include "core/files/linear_biases.h"
#include "core/files/model_limits.h"
#include "core/files/other_kind.h"
#include "core/values/architecture.h"

namespace penstock {
namespace {

std::string without_suffix(std::string name) {
  for (const std::string_view suffix :
       {"ForCausalLM", "Model", "ForConditionalGeneration", "ForSequenceClassification"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

JsonReader language_reader(const Json& json, const std::string& file) {
  const std::string_view name = language_part(json);
  return name.empty() ? JsonReader(json, file) : JsonReader(json, file).at(name);
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

class ArchitectureReader {
 public:
  ArchitectureReader(const Json& json, const std::string& file)
      : outer_(JsonReader(json, file)),
        nested_(language_part(json)),
        fields_(language_reader(json, file)) {}

  Architecture read() {
    read_family();
    read_name();
    refuse_other_kinds();
    read_nested();
    model_.matrices = is_gated() ? 3 : 2;
    read_sizes();
    read_perceptron();
    read_tie();
    read_attention();
    read_latent();
    read_experts();
    read_small_parts();
    read_biases();
    read_query_key_norm();
    if (const auto excess = beyond_any_model(model_)) {
      fail("these sizes make " + *excess + "; correct them");
    }
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
    family_ = known_family(model_.family, type_);
    if (family_ && model_.family.empty()) model_.family = std::string(family_->name);
    if (model_.family.empty()) model_.family = type.value_or("");
  }

  // "meta-llama/Meta-Llama-3-8B", or the path of a folder.
  void read_name() {
    const std::string path = fields_.text("_name_or_path").value_or("");
    model_.name = path.substr(path.find_last_of('/') + 1);
  }

  void refuse_other_kinds() {
    const std::string why = why_other_kind(fields_, model_.family, type_);
    if (why.empty()) return;
    fail(in_quotes(model_.family.empty() ? type_ : model_.family) + " is " + why +
         ", no language model of plain attention layers (state-space, hybrid and, but for T5, "
         "encoder-decoder models are not estimated); measure it instead: penstock profile, or "
         "write a "
         "penstock.profile/1 by "
         "hand (docs/file_formats.md), and plan from that");
  }

  // What a file nests: the language model itself, attention and perceptron of MPT and DBRX,
  // settings that hold no sizes, and other kinds of input. Anything else may hold half of the
  // model.
  void read_nested() {
    const bool opens = family_ && (family_->name == "MPT" || family_->name == "Dbrx");
    for (const std::string_view name : {"attn_config", "ffn_config"}) {
      const auto part = fields_.present(name);
      if (!opens || !part || !is_json_object(&part->value())) continue;
      (name == "attn_config" ? attention_ : perceptron_).emplace(*part);
    }
    if (family().name == "Dbrx" && !(attention_ && perceptron_)) {
      fail("expected attn_config and ffn_config, which hold the sizes of DBRX");
    }
    if (!nested_.empty()) look_at_objects(outer_);
    look_at_objects(fields_.reader());
  }

  void look_at_objects(JsonReader& reader) {
    for (const auto& [key, value] : reader.members()) {
      if (!key.ends_with("_config") || !is_json_object(&value.value())) continue;
      if (value.value().members().empty()) continue;
      if (key == nested_ || is_harmless_object(key)) continue;
      if ((key == "attn_config" && attention_) || (key == "ffn_config" && perceptron_)) continue;
      if (!is_other_input(key)) {
        value.fail(
            in_quotes(key) +
            " is nested and its sizes are not known here; write what it says of the language "
            "model at the top of the file, in the usual names (" +
            std::string(key.starts_with("attn") ? "num_key_value_heads, head_dim"
                                                : "intermediate_size, num_experts") +
            ", ...), and take it out");
      }
      model_.not_read.push_back(key +
                                ": another kind of input or output; its parameters and time are "
                                "not part of this estimate");
      if (&reader == &fields_.reader()) static_cast<void>(fields_.present(key));
    }
  }

  // Of a nested language model, which may leave out what is the default of its class.
  [[nodiscard]] const ClassSizes* class_sizes() const {
    return nested_.empty() || !family_ ? nullptr : sizes_of_class(*family_);
  }

  // A size that a text_config leaves out because it is the default of its class.
  int size_of(ConfigFields::Names names, int ClassSizes::*of_class) {
    const ClassSizes* sizes = class_sizes();
    if (const auto value = fields_.size(names)) return *value;
    if (!sizes) return fields_.required(names);
    const int value = sizes->*of_class;
    assume(std::string(names.front()) + " " + std::to_string(value) + " (default of the class)");
    return value;
  }

  void read_sizes() {
    constexpr std::array<std::string_view, 2> kVocabularyNames{"vocab_size", "padded_vocab_size"};
    model_.layers = size_of(kLayerNames, &ClassSizes::layers);
    model_.hidden = size_of(kHiddenNames, &ClassSizes::hidden);
    model_.heads = size_of(kHeadNames, &ClassSizes::heads);
    model_.vocabulary = size_of(kVocabularyNames, &ClassSizes::vocabulary);
    if (const auto padded = fields_.size({"padded_vocab_size"})) model_.vocabulary = *padded;
    const ClassSizes* sizes = class_sizes();
    model_.positions = fields_.size(kPositionNames).value_or(sizes ? sizes->positions : 0);
    if (model_.layers > kMostLayers) {
      fail("expected at most " + std::to_string(kMostLayers) + " layers, got " +
           std::to_string(model_.layers));
    }
  }

  void read_tie() {
    auto tied = fields_.boolean("tie_word_embeddings");
    if (!tied && !nested_.empty()) {
      const auto beside = outer_.get("tie_word_embeddings");
      if (beside && beside->value().kind() != Json::Kind::kNull) tied = beside->boolean();
    }
    model_.tied_head = tied.value_or(family().tied);
    if (!tied) {
      assume(model_.tied_head ? "head tied to the embedding (default of the class)"
                              : "head not tied to the embedding (default of the class)");
    }
  }

  void read_perceptron() {
    model_.causal = family().causal;
    const auto width = inner_width();
    model_.feed_forward = width.value_or(4 * model_.hidden);
    if (!width && !fields_.reader().has("n_inner")) {
      assume("perceptron " + std::to_string(model_.feed_forward) + " wide (4 times hidden)");
    }
    if (family().name == "QWenLMHead")
      model_.feed_forward /= 2;  // the file has gate and input together
    if (model_.feed_forward < 1) fail("a perceptron less than 1 wide; correct its size");
  }

  std::optional<int> inner_width() {
    // Llama 4 has intermediate_size for experts.
    if (const auto dense = fields_.size({"intermediate_size_mlp"})) {
      expert_width_ = fields_.size(kFeedForwardNames);
      return dense;
    }
    if (perceptron_) {
      if (const auto width = perceptron_->size({"ffn_hidden_size"})) return width;
    }
    if (const auto width = fields_.size(kFeedForwardNames)) return width;
    if (const auto ratio = fields_.present("expansion_ratio")) {
      const double most = ConfigFields::kLargestSize;
      const double width = ratio->number(1.0 / model_.hidden, most) * model_.hidden;
      if (width > most) ratio->fail("makes a perceptron wider than any model; correct it");
      return static_cast<int>(width);
    }
    const ClassSizes* sizes = class_sizes();
    if (!sizes) return std::nullopt;
    assume("intermediate_size " + std::to_string(sizes->feed_forward) + " (default of the class)");
    return sizes->feed_forward;
  }

  std::string activation() {
    for (const std::string_view name : {"hidden_act", "activation_function", "hidden_activation",
                                        "mlp_hidden_act", "activation", "afn"}) {
      const auto value = fields_.present(name);
      if (value && value->value().kind() == Json::Kind::kString) return value->string();
    }
    return "";
  }

  // A known class has its gate in its code; of another the activation tells.
  bool is_gated() {
    if (!family_) refuse_unknown_class();
    if (perceptron_) {
      const auto type = perceptron_->text("ffn_type");
      if (type) return type->find("glu") != std::string::npos;
    }
    if (family_) return family_->gated;
    const std::string name = activation();
    const bool gated = name.empty() || is_gated_activation(name);
    const bool layer_norm = has_layer_norm();
    assume("a decoder like Llama: " +
           (gated ? std::string("gated perceptron")
                  : "perceptron of two matrices (activation " + in_quotes(name) + ")") +
           ", two norms " + (layer_norm ? "with" : "without") +
           " biases, no learned positions (architecture " + in_quotes(model_.family) +
           " is not known)");
    return gated;
  }

  // Only a causal language model may be read as a decoder like Llama.
  void refuse_unknown_class() {
    const auto classes = fields_.present("architectures");
    if (!classes || classes->elements().empty()) return;
    const std::string name = classes->elements().front().string();
    for (const std::string_view causal : {"CausalLM", "LMHeadModel", "Generation", "LMHead"}) {
      if (name.ends_with(causal)) return;
    }
    fail(in_quotes(name) +
         " is not known, and its name is not that of a causal language model: "
         "measure it instead: penstock profile, or write a penstock.profile/1 by hand "
         "(docs/file_formats.md), and plan from that");
  }

  [[nodiscard]] bool has_layer_norm() {
    const JsonReader& reader = fields_.reader();
    return !reader.has("rms_norm_eps") &&
           (reader.has("layer_norm_eps") || reader.has("layer_norm_epsilon"));
  }

  int key_value_heads() {
    if (attention_) {
      if (attention_->text("attn_type") == "multiquery_attention") return 1;
      if (const auto heads = attention_->size({"kv_n_heads"})) return *heads;
    }
    const auto groups = fields_.size({"multi_query_group_num"});
    if (fields_.boolean("multi_query_attention").value_or(false) && groups) return *groups;
    const auto heads = fields_.size(kKeyValueHeadNames);
    new_falcon_ = fields_.boolean("new_decoder_architecture").value_or(heads.value_or(1) > 1);
    const bool one = fields_.boolean("multi_query").value_or(family().multi_query);
    if (one && !new_falcon_) return 1;
    if (heads) return *heads;
    const ClassSizes* sizes = class_sizes();
    if (!sizes || sizes->key_value_heads == 0) return model_.heads;
    assume("num_key_value_heads " + std::to_string(sizes->key_value_heads) +
           " (default of the class)");
    return sizes->key_value_heads;
  }

  std::optional<int> head_width() {
    const auto width = fields_.size({"head_dim", "d_kv", "kv_channels"});
    const ClassSizes* sizes = class_sizes();
    if (width || !sizes || sizes->head_width == 0) return width;
    assume("head_dim " + std::to_string(sizes->head_width) + " (default of the class)");
    return sizes->head_width;
  }

  void read_attention() {
    model_.key_value_heads = key_value_heads();
    if (fields_.present("kv_lora_rank")) return;
    const auto width = head_width();
    if (!width && model_.hidden % model_.heads != 0) {
      fail(std::to_string(model_.heads) + " attention heads do not divide a width of " +
           std::to_string(model_.hidden) + "; correct one of them, or add head_dim");
    }
    model_.head_width = width.value_or(model_.hidden / model_.heads);
    if (model_.heads % model_.key_value_heads != 0) {
      fail(std::to_string(model_.key_value_heads) + " key-value heads do not divide " +
           std::to_string(model_.heads) + " heads; correct one of them");
    }
    const AttentionWindow window = read_attention_window(fields_, family(), model_.layers);
    if (window.tokens > 0 && !family().causal) {
      const std::string where = window.layers < model_.layers ? "some" : "all";
      assume("attention reaches over the whole sequence, where in " + where +
             " layers it reaches " + std::to_string(window.tokens) +
             " tokens: longer sequences take less time than estimated");
      return;
    }
    model_.window = window.tokens;
    if (window.layers < model_.layers && window.tokens > 0) {
      model_.windowed_layers = window.layers;
      assume("attention reaches back " + std::to_string(window.tokens) + " tokens in " +
             std::to_string(window.layers) + " of " + std::to_string(model_.layers) +
             " layers; every layer is given the mean of all");
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
    auto found = read_expert_layers({.fields = fields_,
                                     .perceptron = perceptron_ ? *perceptron_ : fields_,
                                     .family = family(),
                                     .layers = model_.layers,
                                     .usual_width = expert_width_.value_or(model_.feed_forward)});
    if (!found) return;
    model_.experts = found->experts;
    model_.dense_layers = std::move(found->dense_layers);
  }

  void read_small_parts() {
    const KnownFamily& family = this->family();
    int more_rows = family.learned_positions;
    if (family.name == "MPT" && !has_position_bias()) more_rows = 0;
    if (more_rows >= 0) {
      if (model_.positions == 0) fail("expected max_position_embeddings or n_positions");
      model_.position_rows = model_.positions + more_rows;
    }
    model_.norms = family.norms;
    model_.norm_bias = family_ ? family.norm_bias : has_layer_norm();
    model_.rms_norm = !(family_ ? family.layer_norm : has_layer_norm());
    model_.rotary_share = model_.position_rows > 0 ? 0.0 : rotary_share();
    model_.head_bias = fields_.boolean("lm_head_bias").value_or(family.head_bias);
    model_.embedding_norm = family.embedding_norm;
    model_.final_norm = family.final_norm;
    model_.attention_sinks = family.attention_sinks;
    if (!family.causal) {
      model_.token_types = fields_.size({"type_vocab_size"}, 0).value_or(family.token_types);
      model_.head_transform = true;
    }
    if (family.name == "StableLm" && fields_.boolean("use_parallel_residual").value_or(false)) {
      model_.norms = 1;
    }
    if (family.name == "Falcon") read_falcon_norms();
    extra_heads_ = fields_.size({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0);
    narrow_embedding_ = fields_.size({"word_embed_proj_dim"});
    refuse_other_embedding();
  }

  // A projection between embedding and layers, as ELECTRA's small models have it.
  void refuse_other_embedding() {
    const auto other = fields_.size({"embedding_size"});
    if (other && *other != model_.hidden) {
      fail("embedding_size " + std::to_string(*other) + " is not the width of the layers, " +
           std::to_string(model_.hidden) +
           ": such embeddings are not estimated; measure the "
           "model instead: penstock profile");
    }
  }

  // Linear biases of attention or rotary positions instead of a table.
  bool has_position_bias() {
    if (!fields_.boolean("learned_pos_emb").value_or(true) || !attention_) return true;
    return attention_->boolean("alibi").value_or(true) ||
           attention_->boolean("rope").value_or(false);
  }

  // Of a head, what positions turn; the rest of it, or all, has none or a bias of attention.
  double rotary_share() {
    if (attention_ && attention_->boolean("rope").value_or(false)) return 1.0;
    if (fields_.boolean("alibi").value_or(false)) return 0.0;
    for (const char* name : {"partial_rotary_factor", "rotary_pct", "rope_pct"}) {
      if (const auto share = fields_.present(name)) return share->number(0.0, 1.0);
    }
    const auto turned = fields_.size({"rotary_dim"}, 0);
    if (turned) return std::min(1.0, static_cast<double>(*turned) / model_.head_width);
    return family().rotary_share;
  }

  void read_falcon_norms() {
    const bool parallel = fields_.boolean("parallel_attn").value_or(true);
    const int of_parallel = fields_.size({"num_ln_in_parallel_attn"}).value_or(new_falcon_ ? 2 : 1);
    if (of_parallel > 2) fail("num_ln_in_parallel_attn is 1 or 2");
    model_.norms = parallel ? of_parallel : 2;
  }

  void read_biases() {
    const LinearBiases biases = read_linear_biases(fields_, family());
    model_.query_key_value_bias = biases.query_key_value;
    model_.output_bias = biases.output;
    model_.perceptron_bias = biases.perceptron || (model_.experts && family().expert_biases);
    if (biases.norm) model_.norm_bias = *biases.norm;
  }

  void read_query_key_norm() {
    QueryKeyNorm norm = family().query_key_norm;
    const bool whole = family().name.starts_with("Cohere") || family().name == "StableLm";
    const bool asked = fields_.boolean("use_qk_norm").value_or(false) ||
                       fields_.boolean("qk_layernorm").value_or(false) ||
                       fields_.boolean("qk_norm").value_or(false);
    if (whole && asked) norm = QueryKeyNorm::kWhole;
    // Llama 4's has no weights.
    if ((!family_ || family().name == "Glm4Moe") && asked) norm = QueryKeyNorm::kPerHead;
    if (attention_ && attention_->boolean("qk_ln").value_or(false)) norm = QueryKeyNorm::kWhole;
    if (norm == QueryKeyNorm::kPerHead) model_.query_key_norm = 2 * model_.head_width;
    if (norm == QueryKeyNorm::kWhole) {
      model_.query_key_norm = width_of(model_.heads + model_.key_value_heads, model_.head_width);
    }
  }

  void list_not_read() {
    if (extra_heads_.value_or(0) > 0) {
      model_.not_read.push_back(std::to_string(*extra_heads_) + " extra prediction layer" +
                                (*extra_heads_ == 1 ? "" : "s") +
                                " (num_nextn_predict_layers): not part of this estimate");
    }
    if (narrow_embedding_.value_or(model_.hidden) != model_.hidden) {
      model_.not_read.push_back("word_embed_proj_dim " + std::to_string(*narrow_embedding_) +
                                ": embedding and head are taken as wide as the model");
    }
    for (const auto& [key, value] : fields_.reader().value().members()) {
      static_cast<void>(value);
      if (!is_harmless_field(key) && !fields_.knows(key)) model_.not_read.push_back(key);
    }
  }

  [[nodiscard]] const KnownFamily& family() const { return family_ ? *family_ : like_llama_; }

  static constexpr int kMostLayers = 100'000;
  JsonReader outer_;
  std::string nested_;  // the object that holds the language model; empty: the file itself
  ConfigFields fields_;
  std::optional<ConfigFields> attention_, perceptron_;  // nested in it
  Architecture model_;
  std::string type_;
  const KnownFamily* family_ = nullptr;
  const KnownFamily like_llama_{};
  bool new_falcon_ = false;
  std::optional<int> expert_width_, extra_heads_, narrow_embedding_;
};

}  // namespace

Architecture read_architecture(const Json& json, const std::string& file) {
  return ArchitectureReader(json, file).read();
}

}  // namespace penstock
