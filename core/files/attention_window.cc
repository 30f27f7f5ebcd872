#include "core/files/attention_window.h"

#include <algorithm>
#include <optional>
#include <string>

namespace penstock {
namespace {

// "sliding_attention" and "full_attention", a name per layer.
std::optional<int> windowed_of_list(ConfigFields& fields) {
  const auto types = fields.present("layer_types");
  if (!types) return std::nullopt;
  int windowed = 0;
  for (const JsonReader& type : types->elements()) {
    if (type.string().starts_with("sliding")) ++windowed;
  }
  return windowed;
}

// "LLLG" of EXAONE 4: local layers and a global one, again and again.
int windowed_of_letters(const std::string& letters, int layers) {
  int windowed = 0;
  for (int layer = 0; layer < layers && !letters.empty(); ++layer) {
    if (letters[static_cast<std::size_t>(layer) % letters.size()] == 'L') ++windowed;
  }
  return windowed;
}

// Every such layer reaches to the start.
std::optional<int> period_of(ConfigFields& fields) {
  for (const std::string_view name :
       {"sliding_window_pattern", "_sliding_window_pattern", "global_attn_every_n_layers"}) {
    const auto value = fields.present(name);
    if (!value || value->value().kind() == Json::Kind::kString) continue;
    return static_cast<int>(value->integer(1, ConfigFields::kLargestSize));
  }
  return std::nullopt;
}

int windowed_layers(ConfigFields& fields, const KnownFamily& family, int layers) {
  const auto listed = windowed_of_list(fields);
  const auto period = period_of(fields);
  const auto first = fields.size({"max_window_layers"}, 0);
  if (listed) return std::min(*listed, layers);
  const auto pattern = fields.present("sliding_window_pattern");
  if (pattern && pattern->value().kind() == Json::Kind::kString) {
    return windowed_of_letters(pattern->string(), layers);
  }
  if (family.name.starts_with("Qwen")) return std::max(layers - first.value_or(layers), 0);
  const int every = period.value_or(family.whole_every);
  return every > 0 ? layers - layers / every : layers;
}

}  // namespace

AttentionWindow read_attention_window(ConfigFields& fields, const KnownFamily& family, int layers) {
  // Qwen's files have a window that nothing uses unless they say so.
  const bool uses = fields.boolean("use_sliding_window").value_or(!family.name.starts_with("Qwen"));
  const auto tokens = fields.size({"sliding_window", "local_attention"});
  const int windowed = windowed_layers(fields, family, layers);
  if (!uses || !tokens || windowed == 0) return {};
  return {*tokens, windowed};
}

}  // namespace penstock
