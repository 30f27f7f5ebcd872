#include "trainers/torchtitan/torchtitan_model.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "trainers/trainer_facts.h"

namespace penstock {
namespace {

// As "sizes" lists them.
bool has_sizes(const Architecture& model, const std::vector<Json>& sizes) {
  const std::array own{model.layers, model.hidden, model.heads, model.key_value_heads,
                       model.feed_forward};
  if (sizes.size() != own.size()) return false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (sizes[i].text() != fmt::format("{}", own[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<TorchtitanModel> torchtitan_model(const TorchtitanVersion& version,
                                                const Architecture& model) {
  if (model.experts || model.latent) return {};
  for (const Json& one : version.models->elements()) {
    if (fact_text(one, "family") != model.family) continue;
    if (!has_sizes(model, fact(one, "sizes").elements())) continue;
    const Json* configuration = one.find("configuration");
    return TorchtitanModel{fact_text(one, "name"), fact_text(one, "flavor"),
                           configuration == nullptr ? "" : configuration->text()};
  }
  return {};
}

}  // namespace penstock
