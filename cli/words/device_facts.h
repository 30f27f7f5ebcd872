// What answers to mistakes need of a device: few figures, so that a program without the planner can
// answer as well.
#pragma once

#include <string>
#include <vector>

namespace penstock {

struct DeviceFacts {
  std::string name;  // the datasheet's; as it was typed where there is none
  int per_node = 8;
  double memory_gib = 0.0;  // 0: not known
  std::string network{};    // of one GPU between nodes, "400Gb/s"; empty: not known
};

DeviceFacts device_facts(const std::string& name);

// The name among `known` of the device that is called `name`: this very name, or one that the same
// datasheet has for it; empty where there is none.
std::string device_among(const std::vector<std::string>& known, const std::string& name);

// The GPU of a machine that is called as DGX or a cloud's type, "h100-sxm" of "p5.48xlarge"; empty
// of other names, and two with "or" between them where a machine may have either.
std::string gpu_of_machine(const std::string& name);

}  // namespace penstock
