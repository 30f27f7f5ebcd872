#include "core/files/language_part.h"

#include <algorithm>

#include "core/files/config_fields.h"

namespace penstock {
namespace {

bool has_sizes(const Json& json) {
  return std::any_of(kLayerNames.begin(), kLayerNames.end(),
                     [&](std::string_view name) { return json.find(name) != nullptr; });
}

}  // namespace

bool is_json_object(const Json* json) {
  return json != nullptr && json->kind() == Json::Kind::kObject;
}

std::string_view language_part(const Json& json) {
  for (const std::string_view name : {"text_config", "llm_config", "language_config"}) {
    const Json* nested = json.find(name);
    if (!is_json_object(nested)) continue;
    if (has_sizes(*nested) || nested->find("vocab_size") || !has_sizes(json)) return name;
  }
  return "";
}

}  // namespace penstock
