// After transformers' models/t5: norms are of root mean squares and have no bias, nor has any
// matrix; scores are not divided by the root of the head width; relative positions are learned once
// for each half; the encoder's norm and the decoder's stand behind their last layers.
#include <array>
#include <string>
#include <string_view>

#include "core/files/config_fields.h"
#include "core/files/known_families.h"
#include "core/files/model_limits.h"
#include "core/values/encoder_decoder.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 2> kTypes{"t5", "mt5"};

std::string text_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->kind() == Json::Kind::kString ? value->text() : "";
}

class EncoderDecoderReader {
 public:
  EncoderDecoderReader(const Json& json, const std::string& file)
      : fields_(JsonReader(json, file)) {}

  EncoderDecoder read() {
    Architecture& half = model_.encoder;
    half.family = text_of(fields_.reader().value(), "model_type") == "mt5" ? "mT5" : "T5";
    static_cast<void>(fields_.text("model_type"));
    static_cast<void>(fields_.present("architectures"));
    const std::string path = fields_.text("_name_or_path").value_or("");
    half.name = path.substr(path.find_last_of('/') + 1);
    read_sizes(half);
    read_perceptron(half);
    half.causal = false;
    half.norms = 2;
    half.rms_norm = true;
    model_.position_buckets = size_or("relative_attention_num_buckets", 32);
    const int layers = fields_.size({"num_decoder_layers"}).value_or(half.layers);
    list_not_read(half);
    model_.decoder = half;
    model_.decoder.layers = layers;
    model_.decoder.causal = true;
    model_.decoder.norms = 3;
    for (const Architecture* each : {&model_.encoder, &model_.decoder}) {
      if (const auto excess = beyond_any_model(*each)) {
        fields_.reader().fail("these sizes make " + *excess + "; correct them");
      }
    }
    return std::move(model_);
  }

 private:
  int size_or(std::string_view name, int usual) {
    if (const auto value = fields_.size({name})) return *value;
    model_.encoder.assumed.push_back(std::string(name) + " " + std::to_string(usual) +
                                     " (default of the class)");
    return usual;
  }

  void read_sizes(Architecture& half) {
    half.layers = fields_.required(kLayerNames);
    half.hidden = fields_.required(kHiddenNames);
    half.heads = fields_.required(kHeadNames);
    half.key_value_heads = half.heads;
    half.head_width = size_or("d_kv", 64);
    half.feed_forward = fields_.required(kFeedForwardNames);
    half.vocabulary = fields_.required({"vocab_size"});
    half.positions = fields_.size({"n_positions"}).value_or(0);  // that it was trained with
    constexpr int kMostLayers = 100'000;
    if (half.layers > kMostLayers) {
      fields_.reader().fail("expected at most " + std::to_string(kMostLayers) + " layers, got " +
                            std::to_string(half.layers));
    }
    const auto tied = fields_.boolean("tie_word_embeddings");
    half.tied_head = tied.value_or(true);
    if (!tied) half.assumed.emplace_back("head tied to the embedding (default of the class)");
  }

  void read_perceptron(Architecture& half) {
    const std::string kind = fields_.text("feed_forward_proj").value_or("relu");
    half.matrices = kind.starts_with("gated-") ? 3 : 2;
  }

  void list_not_read(Architecture& half) {
    for (const std::string_view known :
         {"is_encoder_decoder", "layer_norm_epsilon", "relative_attention_max_distance",
          "task_specific_params", "decoder_start_token_id", "dropout_rate", "initializer_factor",
          "output_past", "is_gated_act", "dense_act_fn", "classifier_dropout"}) {
      static_cast<void>(fields_.present(known));
    }
    for (const auto& [key, value] : fields_.reader().value().members()) {
      static_cast<void>(value);
      if (!is_harmless_field(key) && !fields_.knows(key)) half.not_read.push_back(key);
    }
  }

  ConfigFields fields_;
  EncoderDecoder model_;
};

}  // namespace

bool is_encoder_decoder(const Json& json) {
  if (json.kind() != Json::Kind::kObject) return false;
  const std::string type = text_of(json, "model_type");
  for (const std::string_view known : kTypes) {
    if (type == known) return true;
  }
  if (!type.empty()) return false;
  const Json* classes = json.find("architectures");
  if (classes == nullptr || classes->kind() != Json::Kind::kArray) return false;
  for (const Json& name : classes->elements()) {
    if (name.text().starts_with("T5") || name.text().starts_with("MT5")) return true;
  }
  return false;
}

EncoderDecoder read_encoder_decoder(const Json& json, const std::string& file) {
  return EncoderDecoderReader(json, file).read();
}

}  // namespace penstock
