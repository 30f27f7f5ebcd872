// --memory-limit: how much of its GPU's memory a rank may hold.
#pragma once

#include <string>

#include "core/values/cluster.h"
#include "core/values/plan_file.h"

namespace penstock {

inline constexpr const char* kMemoryLimit = "--memory-limit";

// Refuses what is no limit of any GPU.
void read_memory_limit(const std::string& option, const std::string& text);

// "60" and "60GiB", "60GB" (60e9 bytes), and "0.85" and "85%", a share of what each device has.
// Plans are then made for devices that have so much. Refuses a limit above the largest device; a
// smaller one is planned whole.
void limit_memory(ClusterSpec& cluster, const std::string& option, const std::string& text);
// As the plan was limited, if it was.
void limit_memory(ClusterSpec& cluster, const PlanFile& plan);

// " --memory-limit 60GiB" of a plan that was limited; else empty.
std::string memory_limit_option(const PlanFile& plan);

// "no rank above 60.0 of 79.2 GiB"; empty without a limit.
std::string memory_limit_words(const ClusterSpec& cluster);

}  // namespace penstock
