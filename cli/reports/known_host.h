// What is known of the host of a node with some device: its memory and the link to its GPUs.
#pragma once

#include <optional>
#include <string>

#include "core/values/cluster.h"
#include "search/question.h"

namespace penstock {

struct KnownHost {
  HostOfNode host;
  std::string from;  // in words
};

// Of the question's cluster, else of the datasheet of its device. Nothing: neither says.
std::optional<KnownHost> known_host(const Question& question, const std::string& device);
// The same without a question: only shipped datasheets.
std::optional<KnownHost> known_host(const ClusterSpec& cluster, const std::string& device);

// For plans that keep the optimizer's state there: the cluster learns of its hosts what is known,
// and the executor whether their links are shared by both directions.
void use_hosts(Question& question);

}  // namespace penstock
