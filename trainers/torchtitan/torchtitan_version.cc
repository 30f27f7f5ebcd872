#include "trainers/torchtitan/torchtitan_version.h"

#include "trainers/trainer_facts.h"

namespace penstock {

TorchtitanVersion torchtitan_version(const Json& facts) {
  const std::string& mixed = fact_text(facts, "mixed_precision");
  TorchtitanVersion version;
  version.is_python = fact_text(facts, "carrier") == "python";
  version.splits_by_points = fact_text(facts, "splits_by") == "points";
  version.head_module = fact_text(facts, "head_module");
  version.assets_key = fact_text(facts, "assets_key");
  version.checkout = fact_text(facts, "checkout");
  version.mixed_precision = mixed == "always"          ? MixedPrecision::kAlways
                            : mixed == "with sharding" ? MixedPrecision::kWithSharding
                                                       : MixedPrecision::kWithShardingOrAll16Bits;
  version.models = &fact(facts, "models");
  version.renamed = &fact(facts, "renamed");
  return version;
}

}  // namespace penstock
