// A table has one row per model_type with what the file does not say. The model that comes out is
// always one of the built-in families, so every difference from the real one (rotary positions,
// gates, norms, experts, dropout) is listed: the user learns what is not trained as the config.json
// has it.
#include "training/model_from_config.h"

#include <string_view>
#include <utility>

#include "core/files/config_fields.h"

namespace penstock {
namespace {

enum class Positions { kLearned, kRotary };
enum class Perceptron { kTwoMatrices, kGated };
enum class Norm { kLayerNorm, kRmsNorm };

// What a model_type says without saying it.
struct Architecture {
  std::string_view model_type;
  ModelFamily family = ModelFamily::kGpt;
  Positions positions = Positions::kLearned;
  Perceptron perceptron = Perceptron::kTwoMatrices;
  Norm norm = Norm::kLayerNorm;
  std::string_view activation = "gelu";  // where the file names none
  bool tied = false;                     // likewise
  std::string_view other;                // one more difference
};

constexpr Architecture kArchitectures[] = {
    {"gpt2", ModelFamily::kGpt, Positions::kLearned, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu_new", true, ""},
    {"gpt_neo", ModelFamily::kGpt, Positions::kLearned, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu_new", true, "local attention in every second layer (attention_types)"},
    {"gpt_neox", ModelFamily::kGpt, Positions::kRotary, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu", false, ""},
    {"gptj", ModelFamily::kGpt, Positions::kRotary, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu_new", false, "attention and perceptron side by side in a block"},
    {"opt", ModelFamily::kGpt, Positions::kLearned, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "relu", true, ""},
    {"llama", ModelFamily::kGpt, Positions::kRotary, Perceptron::kGated, Norm::kRmsNorm, "silu",
     false, ""},
    {"mistral", ModelFamily::kGpt, Positions::kRotary, Perceptron::kGated, Norm::kRmsNorm, "silu",
     false, ""},
    {"qwen2", ModelFamily::kGpt, Positions::kRotary, Perceptron::kGated, Norm::kRmsNorm, "silu",
     false, ""},
    {"bert", ModelFamily::kBert, Positions::kLearned, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu", true, "norms behind attention and perceptron, not before them"},
    {"roberta", ModelFamily::kBert, Positions::kLearned, Perceptron::kTwoMatrices, Norm::kLayerNorm,
     "gelu", true, "norms behind attention and perceptron, not before them"},
};

class ConfigReader {
 public:
  ConfigReader(const Json& json, const std::string& file) : fields_(JsonReader(json, file)) {}

  ConfiguredModel read() {
    const Architecture& architecture = architecture_of_file();
    ModelDescription& model = result_.description;
    model.family = architecture.family;
    model.layers = fields_.required(kLayerNames);
    model.hidden = fields_.required(kHiddenNames);
    model.heads = fields_.required(kHeadNames);
    model.vocabulary = fields_.required({"vocab_size"});
    model.positions = fields_.required(kPositionNames);
    model.feed_forward = fields_.size(kFeedForwardNames).value_or(4 * model.hidden);
    model.tied_embedding = fields_.boolean("tie_word_embeddings").value_or(architecture.tied);
    model.precision = precision();
    check(model);
    add_built_in_differences(architecture);
    add_attention_differences(model);
    add_switches(architecture);
    return std::move(result_);
  }

 private:
  const Architecture& architecture_of_file() {
    const auto type = fields_.reader().get("model_type");
    std::string known;
    for (const Architecture& architecture : kArchitectures) {
      if (type && type->string() == architecture.model_type) return architecture;
      known += (known.empty() ? "" : ", ") + std::string(architecture.model_type);
    }
    const std::string remedy =
        "known are " + known +
        "; describe another model by its sizes (penstock profile --help), or "
        "profile a TorchScript archive of it";
    if (type) type->fail("architecture \"" + type->string() + "\" is not known; " + remedy);
    fields_.reader().fail("no model_type; " + remedy);
  }

  [[nodiscard]] Precision precision() {
    for (const std::string_view name : {"torch_dtype", "dtype"}) {
      if (auto value = fields_.present(name)) {
        if (const auto found = precision_named(value->string())) return *found;
        value->fail("element type \"" + value->string() + "\" is not known");
      }
    }
    return Precision::kFloat32;
  }

  void check(const ModelDescription& model) {
    if (model.hidden % model.heads != 0) {
      fields_.reader().fail(std::to_string(model.heads) +
                            " attention heads do not divide a width of " +
                            std::to_string(model.hidden));
    }
    if (model.vocabulary < 256) {
      fields_.reader().fail("a vocabulary of " + std::to_string(model.vocabulary) +
                            "; training on bytes needs 256");
    }
  }

  void differ(std::string what) { result_.differences.push_back(std::move(what)); }

  void add_built_in_differences(const Architecture& architecture) {
    if (architecture.positions == Positions::kRotary) {
      differ("rotary positions (rope); built in are learned ones");
    }
    if (architecture.perceptron == Perceptron::kGated) {
      differ("a gated perceptron of three matrices; built in is one of two");
    }
    if (architecture.norm == Norm::kRmsNorm) {
      differ("RMS norms without biases; built in are layer norms");
    }
    if (!architecture.other.empty()) differ(std::string(architecture.other));
    std::string activation(architecture.activation);
    for (const std::string_view name : {"hidden_act", "activation_function"}) {
      if (auto value = fields_.present(name)) activation = value->string();
    }
    if (activation != "gelu") differ("activation " + activation + "; built in is gelu");
  }

  void add_attention_differences(const ModelDescription& model) {
    const int keys = fields_.size(kKeyValueHeadNames).value_or(model.heads);
    if (keys != model.heads) {
      differ(std::to_string(keys) + " key-value heads for " + std::to_string(model.heads) +
             " heads (num_key_value_heads)");
    }
    const int width = fields_.size({"head_dim"}).value_or(model.hidden / model.heads);
    if (width != model.hidden / model.heads) {
      differ("heads of width " + std::to_string(width) + " (head_dim)");
    }
    const bool slides = fields_.boolean("use_sliding_window").value_or(true);
    if (const auto window = fields_.size({"sliding_window"}); window && slides) {
      differ("attention over the last " + std::to_string(*window) + " tokens (sliding_window)");
    }
    for (const std::string_view name : kExpertNames) {
      if (const auto experts = fields_.size({name})) {
        differ(std::to_string(*experts) + " experts (" + std::string(name) + ")");
      }
    }
    if (fields_.present("rope_scaling")) differ("scaled rotary positions (rope_scaling)");
  }

  void add_switches(const Architecture& architecture) {
    if (architecture.model_type == "gpt_neox" &&
        fields_.boolean("use_parallel_residual").value_or(true)) {
      differ("attention and perceptron side by side in a block (use_parallel_residual)");
    }
    if (architecture.model_type == "opt" &&
        !fields_.boolean("do_layer_norm_before").value_or(true)) {
      differ("norms behind attention and perceptron, not before them (do_layer_norm_before)");
    }
    if (const auto types = fields_.size({"type_vocab_size"}); types && *types > 1) {
      differ("token types (type_vocab_size)");
    }
    for (const std::string_view name :
         {"attn_pdrop", "resid_pdrop", "embd_pdrop", "attention_dropout", "hidden_dropout",
          "hidden_dropout_prob", "attention_probs_dropout_prob", "dropout"}) {
      const auto value = fields_.present(name);
      if (value && value->number(0.0, 1.0) > 0.0) differ("dropout (" + std::string(name) + ")");
    }
  }

  ConfigFields fields_;
  ConfiguredModel result_;
};

}  // namespace

ConfiguredModel model_from_config(const Json& json, const std::string& file) {
  return ConfigReader(json, file).read();
}

}  // namespace penstock
