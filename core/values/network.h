// The wires that transfers share: what a simulation with contention needs of a cluster. Devices and
// placement are already worked in; routes are those of the stages of one Program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// One direction of a wire.
struct NetworkLink {
  std::string name;
  BytesPerSecond capacity;
  bool operator==(const NetworkLink&) const = default;
};

// A tensor-parallel rank sends from all its devices at once; `flows` of them pass this link.
struct Hop {
  std::uint32_t link = 0;
  std::uint32_t flows = 1;
  bool operator==(const Hop&) const = default;
};

struct Route {
  int level = 0;                   // of the cluster: the outermost that it passes
  int from_type = 0, to_type = 0;  // device types of the cluster, at its ends
  Duration latency{};              // before the first byte flows
  std::vector<Hop> hops;
  bool operator==(const Route&) const = default;
};

inline constexpr std::uint32_t kNoRoute = 0xFFFF'FFFFU;

struct Network {
  std::vector<NetworkLink> links;
  std::vector<Route> routes;
  // Per stage of the Program: the way of its activation to the next stage and of its gradient to
  // the previous one; kNoRoute where nothing is sent.
  std::vector<std::uint32_t> activation, gradient;
  bool operator==(const Network&) const = default;
};

// What it costs a step that transfers share links.
struct LinkDelay {
  std::string link;
  Duration delay{};  // how much longer transfers took because this link was full, all of them added
  bool operator==(const LinkDelay&) const = default;
};
struct ContentionEffect {
  Duration step_time_alone{};  // if every transfer had its links for itself
  Duration step_time{};
  std::vector<LinkDelay> delays;  // of the links that were full, the largest first
  bool operator==(const ContentionEffect&) const = default;
};

}  // namespace penstock
