// Which linear layers of a transformer have biases, as a config.json and its class say it.
#pragma once

#include <optional>

#include "core/files/config_fields.h"
#include "core/files/known_families.h"

namespace penstock {

struct LinearBiases {
  bool query_key_value = false, output = false, perceptron = false;
  std::optional<bool> norm{};  // where the same switch says it
};
LinearBiases read_linear_biases(ConfigFields& fields, const KnownFamily& family);

}  // namespace penstock
