#include "training/torch/changed_buffers.h"

#include <algorithm>
#include <cstddef>

namespace penstock {

BuffersBefore::BuffersBefore(const torch::jit::Module& module) : module_(module) {
  for (const auto& buffer : module.named_buffers()) {
    values_.emplace(buffer.name, buffer.value.clone());
  }
}

std::vector<std::string> BuffersBefore::changed() const {
  std::vector<std::string> names;
  for (const auto& buffer : module_.named_buffers()) {
    if (!at::equal(buffer.value, values_.at(buffer.name))) names.push_back(buffer.name);
  }
  return names;
}

std::string losses_depend_on_replicas(const std::vector<std::string>& buffers) {
  constexpr std::size_t kNamed = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(buffers.size(), kNamed); ++i) {
    names += (i > 0 ? ", " : "") + buffers[i];
  }
  if (buffers.size() > kNamed) names += " and " + std::to_string(buffers.size() - kNamed) + " more";
  return "forward reads buffers that it changes (" + names +
         "): with DP > 1 every replica follows its own samples, so losses depend on DP";
}

}  // namespace penstock
