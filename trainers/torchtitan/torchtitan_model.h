// The models that a version of torchtitan has, by the sizes of a config.json.
#pragma once

#include <optional>
#include <string>

#include "core/values/architecture.h"
#include "trainers/torchtitan/torchtitan_version.h"

namespace penstock {

struct TorchtitanModel {
  std::string name, flavor;   // "llama3", "8B"
  std::string configuration;  // of Python versions: "llama3_8b"; empty: none
};
// Nothing when it is none of them.
std::optional<TorchtitanModel> torchtitan_model(const TorchtitanVersion& version,
                                                const Architecture& model);

}  // namespace penstock
