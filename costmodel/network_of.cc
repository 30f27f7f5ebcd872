// The cluster becomes a graph of devices, switches and gates; each of a plan's transfers takes the
// shortest path, worked out once per sending device and kept. A wire has one link per direction
// (full duplex). Invariant: the way from a device to another is a function of the cluster file
// alone, and wires that no file limits are left out of it.
#include "costmodel/network_of.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/visitors.hpp>

#include "core/values/error.h"
#include "costmodel/device_places.h"
#include "costmodel/links.h"

namespace penstock {
namespace {

constexpr std::uint32_t kUnlimited = 0xFFFF'FFFFU;  // a wire that no cluster file limits

struct Wire {
  std::uint32_t link = kUnlimited;
};
using Wires =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Wire>;
using Vertex = boost::graph_traits<Wires>::vertex_descriptor;
using Edge = boost::graph_traits<Wires>::edge_descriptor;

// Where traffic leaves a part of the cluster, and where it comes in.
struct Side {
  Vertex out, in;
};

// The cluster as a graph: devices, an inner switch and two gates (out and in) of every innermost
// domain, a switch of every domain further out.
class ClusterWires {
 public:
  ClusterWires(const ClusterSpec& cluster, const DeviceLayout& layout)
      : cluster_(cluster), layout_(layout), devices_(device_count(cluster)) {
    for (int d = 0; d < devices_; ++d) boost::add_vertex(wires_);  // device d is vertex d
    inner_ = add_vertices(domains(0));
    const std::vector<Vertex> out = add_vertices(domains(0)), in = add_vertices(domains(0));
    gates_.reserve(out.size());
    for (std::size_t domain = 0; domain < out.size(); ++domain) {
      gates_.push_back({out[domain], in[domain]});
    }
    for (int d = 0; d < devices_; ++d) join_device(d);
    std::vector<Side> sides = gates_;
    for (int level = 1; level < levels(); ++level) {
      const std::vector<Vertex> outer = add_vertices(domains(level));
      int first = 0;
      for (const Side& side : sides) {
        const int end = std::min(first + layout_.domain_size(level - 1, first), devices_);
        join_domain(level, first, end, side, outer);
        first = end;
      }
      sides.clear();
      sides.reserve(outer.size());
      for (const Vertex vertex : outer) sides.push_back({vertex, vertex});
    }
  }

  [[nodiscard]] std::vector<NetworkLink> take_links() { return std::move(links_); }

  // Appends the links between two devices to `path`.
  void add_path(int from, int to, std::vector<std::uint32_t>& path) {
    const std::vector<Edge>& into = edges_from(from);
    for (auto at = static_cast<Vertex>(to); at != static_cast<Vertex>(from);) {
      const Edge edge = into[at];
      if (wires_[edge].link != kUnlimited) path.push_back(wires_[edge].link);
      at = boost::source(edge, wires_);
    }
  }

 private:
  [[nodiscard]] int levels() const { return static_cast<int>(cluster_.levels.size()); }
  [[nodiscard]] const LinkLevel& level(int index) const {
    return cluster_.levels[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int domains(int index) const { return layout_.domain(index, devices_ - 1) + 1; }

  std::vector<Vertex> add_vertices(int count) {
    std::vector<Vertex> added;
    added.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) added.push_back(boost::add_vertex(wires_));
    return added;
  }

  // A wire each way: full duplex.
  void join(const Side& one, const Side& other, const std::string& what, const std::string& where,
            double bytes_per_s) {
    boost::add_edge(one.out, other.in, wire(what + " to " + where, bytes_per_s), wires_);
    boost::add_edge(other.out, one.in, wire(what + " from " + where, bytes_per_s), wires_);
  }
  Wire wire(std::string name, double bytes_per_s) {
    if (bytes_per_s <= 0.0) return {};
    links_.push_back({std::move(name), {bytes_per_s}});
    return {static_cast<std::uint32_t>(links_.size() - 1)};
  }

  void join_device(int device) {
    const auto domain = static_cast<std::size_t>(layout_.domain(0, device));
    const auto vertex = static_cast<Vertex>(device);
    const std::string name = "device " + std::to_string(device);
    join({vertex, vertex}, {inner_[domain], inner_[domain]}, name, level(0).name,
         peak_rate(level(0), layout_.type_of(device)));
    if (levels() == 1) return;
    double outwards = 0.0;
    for (int l = 1; l < levels(); ++l) {
      outwards = std::max(outwards, peak_rate(level(l), layout_.type_of(device)));
    }
    join({vertex, vertex}, {gates_[domain].in, gates_[domain].out}, name, level(1).name, outwards);
  }

  // Devices [first, end), a domain of the level below, to the switch of the outer level that it
  // belongs to.
  void join_domain(int outer_level, int first, int end, const Side& side,
                   const std::vector<Vertex>& outer) {
    const Vertex parent = outer[static_cast<std::size_t>(layout_.domain(outer_level, first))];
    join(side, {parent, parent}, "devices " + std::to_string(first) + '-' + std::to_string(end - 1),
         level(outer_level).name, shared_into(level(outer_level), first, end));
  }

  // Of devices of several types the least that one of them has.
  [[nodiscard]] double shared_into(const LinkLevel& outer, int first, int end) const {
    double least = shared_rate(outer, layout_.type_of(first));
    if (outer.of_types.empty()) return least;
    for (int device = first + 1; device < end; ++device) {
      const double shared = shared_rate(outer, layout_.type_of(device));
      if (shared > 0.0 && (least <= 0.0 || shared < least)) least = shared;
    }
    return least;
  }

  // The edge by which a shortest path from `device` comes into every vertex.
  const std::vector<Edge>& edges_from(int device) {
    const auto [entry, fresh] = into_.try_emplace(device);
    if (fresh) {
      entry->second.resize(boost::num_vertices(wires_));
      const auto record = boost::record_edge_predecessors(
          boost::make_iterator_property_map(entry->second.begin(),
                                            boost::get(boost::vertex_index, wires_)),
          boost::on_tree_edge());
      boost::breadth_first_search(wires_, static_cast<Vertex>(device),
                                  boost::visitor(boost::make_bfs_visitor(record)));
    }
    return entry->second;
  }

  const ClusterSpec& cluster_;
  const DeviceLayout& layout_;
  int devices_;
  Wires wires_;
  std::vector<NetworkLink> links_;
  std::vector<Vertex> inner_;
  std::vector<Side> gates_;  // of innermost domains, as seen from outside
  std::map<int, std::vector<Edge>> into_;
};

class NetworkBuilder {
 public:
  NetworkBuilder(const ClusterSpec& cluster, const Plan& plan, const Program& replicas)
      : cluster_(cluster),
        plan_(plan),
        program_(replicas),
        places_(cluster, plan),
        wires_(cluster, places_.layout()) {}

  Network build() {
    const std::size_t stages = program_.stages.size();
    network_.activation.assign(stages, kNoRoute);
    network_.gradient.assign(stages, kNoRoute);
    for (std::size_t s = 0; s < stages; ++s) {
      const Stage& stage = program_.stages[s];
      if (stage.next == kNoStage) continue;
      const RankId next = program_.stages[stage.next.value].rank;
      if (next == stage.rank) continue;
      network_.activation[s] = route(stage.pipeline, stage.rank, next);
      network_.gradient[stage.next.value] = route(stage.pipeline, next, stage.rank);
    }
    network_.links = wires_.take_links();
    return std::move(network_);
  }

 private:
  std::uint32_t route(int replica, RankId from, RankId to) {
    const auto [entry, fresh] =
        known_.try_emplace(std::pair(from, to), static_cast<std::uint32_t>(network_.routes.size()));
    if (fresh) {
      const int first = program_.pipelines[static_cast<std::size_t>(replica)].first_rank;
      network_.routes.push_back(route_of(replica, from.value - first, to.value - first));
    }
    return entry->second;
  }

  [[nodiscard]] Route route_of(int replica, int from, int to) {
    Route route;
    std::vector<std::uint32_t> path;
    for (int t = 0; t < plan_.tensor; ++t) {
      const int sender = places_.device_of(from, replica, t);
      const int receiver = places_.device_of(to, replica, t);
      const int level = places_.layout().level_between(sender, receiver);
      route.level = std::max(route.level, level);
      wires_.add_path(sender, receiver, path);
    }
    const DeviceLayout& layout = places_.layout();
    route.from_type = layout.type_of(places_.device_of(from, replica, 0));
    route.to_type = layout.type_of(places_.device_of(to, replica, 0));
    route.latency = latency_of(
        cluster_, {.level = route.level, .from_type = route.from_type, .to_type = route.to_type});
    std::sort(path.begin(), path.end());
    for (const std::uint32_t link : path) {
      if (route.hops.empty() || route.hops.back().link != link) route.hops.push_back({link, 0});
      ++route.hops.back().flows;
    }
    return route;
  }

  const ClusterSpec& cluster_;
  const Plan& plan_;
  const Program& program_;
  DevicePlaces places_;
  ClusterWires wires_;
  Network network_;
  std::map<std::pair<RankId, RankId>, std::uint32_t> known_;
};

}  // namespace

Network network_of(const ClusterSpec& cluster, const Plan& plan, const Program& replicas) {
  const bool fits = static_cast<int>(replicas.pipelines.size()) == plan.data &&
                    plan.devices() <= device_count(cluster) && !cluster.levels.empty();
  if (!fits) {
    throw Error(ErrorKind::kInternal,
                "network_of: program, plan and cluster do not belong together");
  }
  return NetworkBuilder(cluster, plan, replicas).build();
}

Duration time_alone(const ClusterSpec& cluster, const Route& route, Bytes bytes) {
  std::uint32_t most = 1;
  for (const Hop& hop : route.hops) most = std::max(most, hop.flows);
  const int flows = static_cast<int>(most);
  return point_to_point_time(cluster, {route.level, route.from_type, route.to_type, flows, flows},
                             bytes);
}

}  // namespace penstock
