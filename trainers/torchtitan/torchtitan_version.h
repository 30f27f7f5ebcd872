// What a version of torchtitan is called by its exporter and its rules: its file of facts, as
// values. Private to this folder.
#pragma once

#include <string>

#include "core/values/json.h"

namespace penstock {

enum class MixedPrecision {
  kWithSharding,             // of FSDP
  kWithShardingOrAll16Bits,  // or everything in 16 bits
  kAlways,
};

struct TorchtitanVersion {
  bool is_python = false;         // a Python function; else TOML
  bool splits_by_points = false;  // in front of layers; else lists of modules
  std::string head_module, assets_key;
  std::string checkout;  // a tag, or the commit that was read
  MixedPrecision mixed_precision = MixedPrecision::kAlways;
  const Json* models = nullptr;   // {family, sizes, name, flavor, configuration}
  const Json* renamed = nullptr;  // key of another version: this one's
};
TorchtitanVersion torchtitan_version(const Json& facts);

}  // namespace penstock
