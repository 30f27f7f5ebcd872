#include "cli/options/counts_of_types.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "cli/options/gpu_counts.h"
#include "cli/words/device_facts.h"
#include "cli/words/parse.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::size_t kMostCombinations = 4096;

// GPUs of a type in its first 0, 1, 2, .. nodes.
std::vector<int> gpus_up_to(const ClusterSpec& cluster, const std::string& type) {
  std::vector<int> sums = {0};
  for (const NodeGroup& group : cluster.nodes) {
    const NodeType& node = type_of(cluster, group);
    if (cluster.device_types[static_cast<std::size_t>(node.device_type)].name != type) continue;
    for (int n = 0; n < group.count; ++n) sums.push_back(sums.back() + node.devices);
  }
  return sums;
}

std::vector<std::string> types_in_use(const ClusterSpec& cluster) {
  std::vector<std::string> types;
  for (const DeviceType& type : cluster.device_types) {
    if (gpus_up_to(cluster, type.name).size() > 1) types.push_back(type.name);
  }
  return types;
}

// Names of types may have spaces inside.
std::string without_spaces_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

// "a=1,2,b=3" -> a: "1,2", b: "3"
std::map<std::string, std::string> texts_by_type(std::string_view option, const std::string& typed,
                                                 const std::vector<std::string>& known) {
  std::map<std::string, std::string> texts;
  std::string* current = nullptr;
  for (const std::string& each : parse_list(option, typed)) {
    const std::string part = without_spaces_around(each);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) {
      if (current == nullptr) {
        bad_option(option, fmt::format("'{}' does not say of which device type", part),
                   fmt::format("write {}={}", known.front(), part));
      }
      *current += ',' + part;
      continue;
    }
    const std::string typed_name = without_spaces_around(part.substr(0, equals));
    const std::string type = device_among(known, typed_name);
    if (type.empty()) {
      bad_option(option, fmt::format("the cluster has no devices of type '{}'", typed_name),
                 fmt::format("its types are {}", fmt::join(known, ", ")));
    }
    const auto [place, is_new] =
        texts.emplace(type, without_spaces_around(part.substr(equals + 1)));
    if (!is_new) {
      bad_option(option, fmt::format("{} is named twice", type),
                 fmt::format("write its numbers together: {}=0,8,16", type));
    }
    current = &place->second;
  }
  return texts;
}

// GPUs of one type, ascending.
std::vector<int> counts_of(std::string_view option, const std::string& type,
                           const std::string& text, bool by_nodes, const ClusterSpec& cluster) {
  const std::vector<int> sums = gpus_up_to(cluster, type);
  const int most = by_nodes ? static_cast<int>(sums.size()) - 1 : sums.back();
  auto numbers = gpu_counts(text, option, 0);
  if (!numbers) numbers = {parse_int(option, text, 0)};
  for (int& number : *numbers) {
    if (number > most) {
      bad_option(option, fmt::format("{}={} is more than the cluster has", type, number),
                 fmt::format("{} has {} of {}", cluster.name,
                             count_of(most, by_nodes ? "node" : "GPU"), type));
    }
    if (by_nodes) number = sums[static_cast<std::size_t>(number)];
  }
  return *numbers;
}

}  // namespace

bool names_types(const std::optional<std::string>& typed) {
  return typed && typed->find('=') != std::string::npos;
}

CountsOfTypes counts_of_types(const std::string& typed, std::string_view option, bool by_nodes,
                              const ClusterSpec& cluster) {
  const std::vector<std::string> known = types_in_use(cluster);
  const auto texts = texts_by_type(option, typed, known);
  if (texts.size() < 2) {
    bad_option(option, fmt::format("'{}' names one device type", typed),
               fmt::format("name several, or write --device {} {} {}", texts.begin()->first, option,
                           texts.begin()->second));
  }
  CountsOfTypes result;
  result.counts = {{}};
  for (const std::string& type : known) {
    const auto found = texts.find(type);
    if (found == texts.end()) continue;
    result.types.push_back(type);
    const std::vector<int> its = counts_of(option, type, found->second, by_nodes, cluster);
    if (its.size() * result.counts.size() > kMostCombinations) {
      bad_option(option, fmt::format("these are more than {} combinations", kMostCombinations),
                 fmt::format("take larger steps, for example {}=0..{}:8", type, its.back()));
    }
    std::vector<std::vector<int>> longer;
    for (const std::vector<int>& before : result.counts) {
      for (const int count : its) {
        longer.push_back(before);
        longer.back().push_back(count);
      }
    }
    result.counts = std::move(longer);
  }
  std::erase_if(result.counts, [](const std::vector<int>& counts) {
    return std::all_of(counts.begin(), counts.end(), [](int count) { return count == 0; });
  });
  if (result.counts.empty()) bad_option(option, "there are no GPUs", "ask for some of one type");
  return result;
}

}  // namespace penstock
