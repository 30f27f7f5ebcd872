// The models that torchtitan has, by the sizes of a config.json.
#pragma once

#include <string_view>

#include "core/values/architecture.h"

namespace penstock {

struct TorchtitanModel {
  std::string_view name, flavor;   // "llama3", "8B"
  std::string_view configuration;  // of its main branch: "llama3_8b"; empty: none
  bool since_0_2 = false;          // 0.1 does not have it
};
// Null when it is none of them.
const TorchtitanModel* torchtitan_model(const Architecture& model);

}  // namespace penstock
