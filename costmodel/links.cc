// Sizes lie decades apart, so between measured points times are interpolated on logarithmic scales;
// beyond the last one the wire, not the start-up, decides, and its bandwidth goes on. A ring
// reduces in 2 (n - 1) steps of an n-th of the buffer (Patarasuk and Yuan, Bandwidth optimal
// all-reduce algorithms, 2009); rings over several levels send on all of them at once, so the
// slowest level counts. An all-reduce of at most kMostBytesOfTree goes up and down a tree instead,
// whose latency grows with the logarithm of the domains. Everything is computed in doubles and
// rounded up to nanoseconds once.
#include "costmodel/links.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <string>

#include "core/values/error.h"
#include "costmodel/interpolate.h"

namespace penstock {
namespace {

constexpr double kMostBytesOfTree = 65'536.0;

double as_double(Duration duration) { return static_cast<double>(duration.count()); }
double as_double(Bytes bytes) { return static_cast<double>(bytes.count); }

const LinkLevel& level_at(const ClusterSpec& cluster, int level) {
  if (level < 0 || level >= static_cast<int>(cluster.levels.size())) {
    throw Error(ErrorKind::kInternal,
                "cluster '" + cluster.name + "' has no link level " + std::to_string(level));
  }
  return cluster.levels[static_cast<std::size_t>(level)];
}

// What counts of a level for one device type.
struct Link {
  const std::vector<CurvePoint>* curve;
  Duration latency;
  double bandwidth, shared;

  template <class Values>
  explicit Link(const Values& values)
      : curve(&values.curve),
        latency(values.latency),
        bandwidth(values.bandwidth.value),
        shared(values.shared_bandwidth.value) {}
  [[nodiscard]] bool same_as(const Link& other) const {
    return *curve == *other.curve && latency == other.latency && bandwidth == other.bandwidth &&
           shared == other.shared;
  }
};

const LinkOfType* own_values(const LinkLevel& level, int device_type) {
  for (const LinkOfType& link : level.of_types) {
    if (link.device_type == device_type) return &link;
  }
  return nullptr;
}

Link link_of(const LinkLevel& level, int device_type) {
  const LinkOfType* own = own_values(level, device_type);
  return own != nullptr ? Link(*own) : Link(level);
}

// Beyond the last point the curve goes on at the bandwidth of its last segment; where that says
// nothing (one point, or two equal times), at the average of the last point.
double beyond_last_ns(const std::vector<CurvePoint>& curve, double bytes) {
  const CurvePoint& last = curve.back();
  if (curve.size() >= 2) {
    const CurvePoint& before = curve[curve.size() - 2];
    if (last.time > before.time) {
      return linear(as_double(before.bytes), as_double(before.time), as_double(last.bytes),
                    as_double(last.time), bytes);
    }
  }
  if (last.bytes.count <= 0) return as_double(last.time);
  return as_double(last.time) * bytes / as_double(last.bytes);
}

double curve_ns(const std::vector<CurvePoint>& curve, double bytes) {
  // A message smaller than the smallest measured one is not known to be faster.
  if (bytes <= as_double(curve.front().bytes)) return as_double(curve.front().time);
  if (bytes > as_double(curve.back().bytes)) return beyond_last_ns(curve, bytes);
  const auto above = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return as_double(point.bytes) >= bytes;
  });
  const CurvePoint& below = *(above - 1);
  return power_law(as_double(below.bytes), as_double(below.time), as_double(above->bytes),
                   as_double(above->time), bytes);
}

double bytes_over_rate_ns(double bytes, double bytes_per_s) { return bytes / bytes_per_s * 1e9; }

// The part of the lower domain's shared bandwidth that one of `flows` transfers gets; 0: no limit.
double shared_part(const Link& link, int flows) { return link.shared / std::max(flows, 1); }

double message_ns(const Link& link, double bytes, int flows) {
  const double shared = shared_part(link, flows);
  if (!link.curve->empty()) {
    const double alone = curve_ns(*link.curve, bytes);
    return shared > 0.0 ? std::max(alone, bytes_over_rate_ns(bytes, shared)) : alone;
  }
  const double rate = shared > 0.0 ? std::min(link.bandwidth, shared) : link.bandwidth;
  return as_double(link.latency) + bytes_over_rate_ns(bytes, rate);
}

// Of a curve: where the line through its first two points starts.
Duration latency_of(const Link& link) {
  const std::vector<CurvePoint>& curve = *link.curve;
  if (curve.empty()) return link.latency;
  if (curve.size() < 2) return Duration{};
  const CurvePoint &first = curve[0], &second = curve[1];
  const auto bytes = static_cast<double>((second.bytes - first.bytes).count);
  const auto slope = static_cast<double>((second.time - first.time).count()) / bytes;
  const auto flowing = static_cast<std::int64_t>(slope * static_cast<double>(first.bytes.count));
  return std::clamp(first.time - Duration{flowing}, Duration{}, first.time);
}

double latency_ns(const Link& link) { return as_double(latency_of(link)); }

// Of all that send on a level of a group, with the devices of their domains below.
template <class Value>
double largest_of_types(const LinkLevel& level, const GroupLevel& shape, Value value) {
  if (shape.types.empty()) return value(Link(level), shape.beside);
  double largest = 0.0;
  for (const TypeOnLevel& each : shape.types) {
    largest = std::max(largest, value(link_of(level, each.type), each.beside));
  }
  return largest;
}

double latency_ns(const LinkLevel& level, const GroupLevel& shape) {
  return largest_of_types(level, shape,
                          [](const Link& link, int /*beside*/) { return latency_ns(link); });
}

int passes(CollectiveKind kind) { return kind == CollectiveKind::kAllReduce ? 2 : 1; }

// A node takes part with as many rings as it has members of the group; where nodes differ, with as
// many as the smallest has: each ring has its own card and its own part of the buffer.
int lanes_into(int level, const GroupShape& group) {
  int lanes = 1;
  for (int l = 0; l < level; ++l) lanes *= group.levels[static_cast<std::size_t>(l)].least;
  return lanes;
}

// All `rings` collectives send at once, but a domain has no more senders than devices.
int flows_of(int level, const GroupShape& group, int rings, int beside) {
  if (level == 0) return 1;
  return std::min(std::max(rings, 1) * lanes_into(level, group), beside);
}

// What one device sends on a level: of its lane's part of the buffer all but its own n-th.
double bytes_on(int level, CollectiveKind kind, const GroupShape& group, double bytes) {
  const double all_but_own = static_cast<double>(group.participants - 1) / group.participants;
  return passes(kind) * all_but_own * bytes / lanes_into(level, group);
}

// On its outermost level every member of a group sends. A curve without a type says nothing of
// types that have values of their own.
bool is_of_types(const CollectiveCurve& curve, const ClusterSpec& cluster,
                 const GroupLevel& outermost) {
  if (curve.device_type >= 0) {
    return outermost.types.size() == 1 && outermost.types.front().type == curve.device_type;
  }
  return std::all_of(outermost.types.begin(), outermost.types.end(), [&](const TypeOnLevel& each) {
    return own_values(level_at(cluster, curve.level), each.type) == nullptr;
  });
}

const CollectiveCurve* measured_curve(const ClusterSpec& cluster, CollectiveKind kind,
                                      const GroupShape& group) {
  const int level = static_cast<int>(group.levels.size()) - 1;
  for (const CollectiveCurve& curve : cluster.collectives) {
    if (curve.kind == kind && curve.level == level && curve.participants == group.participants &&
        !curve.curve.empty() && is_of_types(curve, cluster, group.levels.back())) {
      return &curve;
    }
  }
  return nullptr;
}

// A curve is measured alone. With others on the same wires it cannot beat its part of them.
double shared_floor_ns(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                       double bytes, int rings) {
  const int top = static_cast<int>(group.levels.size()) - 1;
  return largest_of_types(
      level_at(cluster, top), group.levels.back(), [&](const Link& link, int beside) {
        const double shared = shared_part(link, flows_of(top, group, rings, beside));
        return shared <= 0.0 ? 0.0 : bytes_over_rate_ns(bytes_on(top, kind, group, bytes), shared);
      });
}

// Steps of a ring through all devices, one after the other: as many leave a domain as there are
// domains, once around.
double ring_latency_ns(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group) {
  double sum = 0.0;
  int around = 1;  // domains of the level above
  for (auto l = static_cast<int>(group.levels.size()) - 1; l >= 0; --l) {
    const GroupLevel& shape = group.levels[static_cast<std::size_t>(l)];
    const int domains = around * shape.most;
    sum += passes(kind) * (domains - around) * latency_ns(level_at(cluster, l), shape);
    around = domains;
  }
  return sum;
}

// Of a few bytes: up and down a chain inside, and a tree of the domains further out.
double tree_latency_ns(const ClusterSpec& cluster, const GroupShape& group) {
  double sum = 0.0;
  for (std::size_t l = 0; l < group.levels.size(); ++l) {
    const auto others = static_cast<unsigned>(group.levels[l].most - 1);
    const unsigned steps = l == 0 ? others : static_cast<unsigned>(std::bit_width(others));
    sum += 2.0 * steps * latency_ns(level_at(cluster, static_cast<int>(l)), group.levels[l]);
  }
  return sum;
}

// The levels work at the same time on different parts of the buffer: the slowest counts.
double stream_ns(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                 double bytes, int rings) {
  double slowest = 0.0;
  for (std::size_t l = 0; l < group.levels.size(); ++l) {
    if (group.levels[l].most < 2) continue;
    const int level = static_cast<int>(l);
    const double sent = bytes_on(level, kind, group, bytes);
    const double flowing = largest_of_types(
        level_at(cluster, level), group.levels[l], [&](const Link& link, int beside) {
          const int flows = flows_of(level, group, rings, beside);
          return message_ns(link, sent, flows) - latency_ns(link);
        });
    slowest = std::max(slowest, flowing);
  }
  return slowest;
}

Duration formula_time(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                      double bytes, int rings) {
  const bool tree = kind == CollectiveKind::kAllReduce && bytes <= kMostBytesOfTree;
  const double latency =
      tree ? tree_latency_ns(cluster, group) : ring_latency_ns(cluster, kind, group);
  return whole_nanoseconds(latency + stream_ns(cluster, kind, group, bytes, rings));
}

// The types of devices [begin, end), with the largest of their domains of the level below.
void add_types(const DeviceLayout& layout, int level, const int* begin, const int* end,
               std::vector<TypeOnLevel>& types) {
  for (const int* device = begin; device != end; ++device) {
    const TypeOnLevel one{layout.type_of(*device), layout.domain_size(level - 1, *device)};
    const auto at = std::find_if(types.begin(), types.end(),
                                 [&](const TypeOnLevel& other) { return other.type >= one.type; });
    if (at == types.end() || at->type != one.type) {
      types.insert(at, one);
    } else {
      at->beside = std::max(at->beside, one.beside);
    }
  }
}

// The types of the devices that have another domain of the level below to send to.
std::vector<TypeOnLevel> types_on(const DeviceLayout& layout, const std::vector<int>& devices,
                                  int level) {
  std::vector<TypeOnLevel> types;
  const int* const end = devices.data() + devices.size();
  for (const int* first = devices.data(); first != end;) {
    const int domain = layout.domain(level, *first);
    const int* next = std::find_if(
        first, end, [&](int device) { return layout.domain(level, device) != domain; });
    const bool sends = layout.domain(level - 1, *first) != layout.domain(level - 1, *(next - 1));
    if (sends) add_types(layout, level, first, next, types);
    first = next;
  }
  return types;
}

// Domains are intervals, so whole ones are passed at once where the devices follow one another.
GroupLevel group_level(const DeviceLayout& layout, const std::vector<int>& devices, int level) {
  GroupLevel shape{
      .most = 0, .least = static_cast<int>(devices.size()), .members = 0, .beside = 1, .types = {}};
  const bool is_run = devices.back() - devices.front() + 1 == static_cast<int>(devices.size());
  int end = 0, rings_in_domain = 0;  // of the domain that was looked at last
  for (auto at = devices.begin(); at != devices.end();) {
    if (*at >= end) {
      if (end > 0) shape.least = std::min(shape.least, rings_in_domain);
      end = layout.end_of_domain(level, *at);
      rings_in_domain = 0;
    }
    if (level == 0) {  // every device is a domain of the level below
      const auto next =
          is_run ? at + std::min<std::ptrdiff_t>(end - *at, devices.end() - at) : at + 1;
      rings_in_domain += static_cast<int>(next - at);
      shape.members = 1;
      shape.most = std::max(shape.most, rings_in_domain);
      at = next;
      continue;
    }
    const int inner_end = layout.end_of_domain(level - 1, *at);
    const auto next =
        is_run ? at + std::min<std::ptrdiff_t>(inner_end - *at, devices.end() - at)
               : std::find_if(at + 1, devices.end(), [=](int one) { return one >= inner_end; });
    ++rings_in_domain;
    shape.beside = std::max(shape.beside, layout.domain_size(level - 1, *at));
    shape.members = std::max(shape.members, static_cast<int>(next - at));
    shape.most = std::max(shape.most, rings_in_domain);
    at = next;
  }
  shape.least = std::min(shape.least, rings_in_domain);
  return shape;
}

}  // namespace

Duration latency_of(const ClusterSpec& cluster, const Way& way) {
  const LinkLevel& level = level_at(cluster, way.level);
  return std::max(latency_of(link_of(level, way.from_type)),
                  latency_of(link_of(level, way.to_type)));
}

double peak_rate(const LinkLevel& level, int device_type) {
  const Link link = link_of(level, device_type);
  double peak = link.bandwidth;
  for (const CurvePoint& point : *link.curve) {
    const auto ns = static_cast<double>(std::max<std::int64_t>(point.time.count(), 1));
    peak = std::max(peak, as_double(point.bytes) / ns * 1e9);
  }
  return peak;
}

double shared_rate(const LinkLevel& level, int device_type) {
  return link_of(level, device_type).shared;
}

bool has_curve_for(const LinkLevel& level, int device_type) {
  return !link_of(level, device_type).curve->empty();
}

int source_of(const LinkLevel& level, int device_type) {
  const LinkOfType* own = own_values(level, device_type);
  return own != nullptr ? own->source : level.source;
}

int level_of(const DeviceLayout& layout, const std::vector<int>& devices) {
  if (devices.empty()) return 0;
  const auto [first, last] = std::minmax_element(devices.begin(), devices.end());
  return layout.level_between(*first, *last);  // domains are intervals
}

Duration point_to_point_time(const ClusterSpec& cluster, const Way& way, Bytes bytes) {
  if (bytes.count <= 0) return Duration{};
  const LinkLevel& level = level_at(cluster, way.level);
  const Link from = link_of(level, way.from_type), to = link_of(level, way.to_type);
  double ns = message_ns(from, as_double(bytes), way.flows_out);
  if (!to.same_as(from)) ns = std::max(ns, message_ns(to, as_double(bytes), way.flows_in));
  return whole_nanoseconds(ns);
}

Duration point_to_point_time(const ClusterSpec& cluster, int level, Bytes bytes, int flows) {
  return point_to_point_time(cluster, Way{level, -1, -1, flows, flows}, bytes);
}

GroupShape group_shape(const DeviceLayout& layout, const std::vector<int>& devices) {
  assert(std::is_sorted(devices.begin(), devices.end()));
  GroupShape group{.participants = static_cast<int>(devices.size()), .levels = {}};
  if (devices.size() < 2) return group;
  const int top = level_of(layout, devices);
  for (int level = 0; level <= top; ++level) {
    GroupLevel& shape = group.levels.emplace_back(group_level(layout, devices, level));
    if (layout.types_differ()) shape.types = types_on(layout, devices, level);
  }
  return group;
}

Duration group_time(const ClusterSpec& cluster, CollectiveKind kind, const GroupShape& group,
                    Bytes bytes, int rings) {
  if (group.participants < 2 || bytes.count <= 0) return Duration{};
  if (const CollectiveCurve* measured = measured_curve(cluster, kind, group)) {
    const double alone = curve_ns(measured->curve, as_double(bytes));
    return whole_nanoseconds(
        std::max(alone, shared_floor_ns(cluster, kind, group, as_double(bytes), rings)));
  }
  return formula_time(cluster, kind, group, as_double(bytes), rings);
}

Duration collective_time(const ClusterSpec& cluster, CollectiveKind kind,
                         const std::vector<int>& devices, Bytes bytes, int rings) {
  return group_time(cluster, kind, group_shape(DeviceLayout(cluster), devices), bytes, rings);
}

}  // namespace penstock
