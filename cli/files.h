// Reading the files that verbs work on, with the hash that says which they were.
#pragma once

#include <string>

#include "core/cluster.h"
#include "core/plan_file.h"
#include "core/profile.h"

namespace penstock {

template <class Value>
struct Loaded {
  Value value;
  InputFile file;
};

// Error{kMissingResource} when there is no such file, Error{kBadInput} when it is malformed.
Loaded<Json> load_json(const std::string& path);
Loaded<ModelProfile> load_profile(const std::string& path);
Loaded<ClusterSpec> load_cluster(const std::string& path);
Loaded<PlanFile> load_plan(const std::string& path);

// The member "format", or nothing.
std::string format_of(const Json& json);

}  // namespace penstock
