// Reading and writing penstock.profile/1 and penstock.cluster/1. docs/file_formats.md describes
// them; data/schemas/ holds their JSON Schemas. Every function throws Error{kBadInput} with file,
// line, path, value and remedy.
#pragma once

#include <string>

#include "core/values/cluster.h"
#include "core/values/json.h"
#include "core/values/profile.h"

namespace penstock {

ModelProfile read_profile(const Json& json, const std::string& file);
Json write_profile(const ModelProfile& profile);

ClusterSpec read_cluster(const Json& json, const std::string& file);
Json write_cluster(const ClusterSpec& cluster);

}  // namespace penstock
