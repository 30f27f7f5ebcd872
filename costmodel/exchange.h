// Collectives in which every device of a group sends other bytes to every other one: tokens to
// experts and back, heads for a part of the sequence.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "core/values/other_degrees.h"
#include "core/values/profile.h"
#include "core/values/units.h"
#include "costmodel/links.h"

namespace penstock {

// The devices of a group in one domain of each of its levels, from the innermost: 8, 32 of 32
// devices on 4 nodes.
std::vector<int> devices_by_level(const GroupShape& group);

// Of a device that sends so many bytes over each level; the levels work at the same time, and so do
// all devices of a domain.
Duration exchange_time(const ClusterSpec& cluster, const GroupShape& group,
                       const std::vector<double>& bytes_by_level);

// What a device sends over each level of `bytes` of which every device gets an equal part.
std::vector<double> equal_parts(const GroupShape& group, Bytes bytes);

// How many copies of a token leave over each level for experts that are spread evenly over the
// group, on average: K (1 - 1 / EP) where each expert gets one; where a token goes once to each
// domain and once to each device in it, those that have at least one of the K.
std::vector<double> copies_by_level(const GroupShape& group, const ExpertTraffic& traffic);

// The groups of `ranks` devices, each `stride` apart, that consecutive ranks * stride devices of a
// type form; distinct ones. All of them work at once.
std::vector<GroupShape> groups_apart(const ClusterSpec& cluster, const std::string& device,
                                     int ranks, int stride);

// Groups that have the experts of a layer between them.
class ExpertGroups {
 public:
  // Keeps the cluster by reference.
  ExpertGroups(const ClusterSpec& cluster, const std::string& device, int tensor_degree,
               const OtherDegrees& others);

  // Of tokens to their experts, one copy of which is so many bytes on the mean rank; likewise of
  // what comes back.
  [[nodiscard]] Duration time(const ExpertTraffic& traffic, Bytes tokens) const;
  // The outermost level that a group uses; -1: there is none.
  [[nodiscard]] int level() const;

 private:
  const ClusterSpec& cluster_;
  std::vector<GroupShape> groups_;
};

}  // namespace penstock
