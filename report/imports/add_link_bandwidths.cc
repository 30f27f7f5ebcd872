// A level of the cluster gets the median over the pairs of devices that it joins and the level
// inside it does not: pair (i, j) belongs to the level of span s within one of span r if i / r
// differs from j / r and i / s equals j / s, since devices are numbered along the nesting. Only
// levels inside a node are set, because nvbandwidth measures one node. A level with a measured
// curve keeps it, and latencies stay.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "report/imports/cluster_changes.h"
#include "report/imports/new_source.h"
#include "report/words.h"

namespace penstock {
namespace {

// One way between devices. NCCL moves data with kernels that write, so those come first; ce: copy
// engines.
constexpr std::array<std::string_view, 4> kTests{
    "device_to_device_memcpy_write_sm", "device_to_device_memcpy_read_sm",
    "device_to_device_memcpy_write_ce", "device_to_device_memcpy_read_ce"};

bool is_of_links(const BandwidthMatrix& matrix) {
  return matrix.part.empty() && !matrix.both_ways && matrix.is_square() &&
         matrix.gb_per_s.size() > 1 && matrix.row == "GPU" && matrix.column == "GPU";
}

const BandwidthMatrix& matrix_of(const NvBandwidth& measured,
                                 const std::optional<std::string>& test) {
  const auto find = [&](std::string_view name) {
    const auto at =
        std::find_if(measured.matrices.begin(), measured.matrices.end(),
                     [&](const BandwidthMatrix& m) { return m.test == name && is_of_links(m); });
    return at == measured.matrices.end() ? nullptr : &*at;
  };
  std::string known;
  for (const BandwidthMatrix& matrix : measured.matrices) {
    if (is_of_links(matrix)) known += (known.empty() ? "" : ", ") + matrix.test;
  }
  if (test) {
    if (const BandwidthMatrix* matrix = find(*test)) return *matrix;
    throw_bad_input(fmt::format(
        "--test: {} has no test '{}' that passed, one way between all devices\nhelp: there is {}",
        measured.file, *test, known.empty() ? "none" : known));
  }
  for (const std::string_view name : kTests) {
    if (const BandwidthMatrix* matrix = find(name)) return *matrix;
  }
  throw_bad_input(fmt::format(
      "{}: no test one way between devices passed, such as {}\nhelp: run nvbandwidth -j on a node "
      "of two devices or more{}",
      measured.file, kTests.back(), known.empty() ? "" : "; or name one with --test: " + known));
}

// The figures of the pairs that a level joins and the one before it does not.
std::vector<double> pairs_of(const BandwidthMatrix& matrix, int inner, int span) {
  std::vector<double> found;
  const auto n = static_cast<int>(matrix.gb_per_s.size());
  for (int from = 0; from < n; ++from) {
    for (int to = 0; to < n; ++to) {
      if (from == to || from / inner == to / inner || from / span != to / span) continue;
      const auto value =
          matrix.from_to(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
      if (value) found.push_back(*value);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

int devices_of_smallest_node(const ClusterSpec& cluster) {
  int least = device_count(cluster);
  for (const NodeGroup& group : cluster.nodes) {
    least = std::min(least, type_of(cluster, group).devices);
  }
  return least;
}

void set_bandwidth(ClusterChanges& result, LinkLevel& level, const std::vector<double>& pairs,
                   const std::string& what) {
  if (!level.curve.empty()) {
    result.notes.push_back(
        fmt::format("level '{}' has a measured curve, which says more than one bandwidth: it stays",
                    level.name));
    return;
  }
  const double median = pairs[(pairs.size() - 1) / 2];
  const std::string figures = fmt::format("{} GB/s, the median of {} ({} to {})", fixed(median, 2),
                                          count_of(std::ssize(pairs), "pair"),
                                          fixed(pairs.front(), 2), fixed(pairs.back(), 2));
  level.bandwidth = {median * 1e9};
  Source source = with_remark(result.cluster, level.source, "bandwidth measured", what);
  source.id = "nvbandwidth";
  source.origin = Origin::kDerived;  // of a latency and a bandwidth that have not the same
  level.source = add_source(result.cluster, std::move(source));
  result.changes.push_back(
      fmt::format("bandwidth of level '{}': {}; its latency stays", level.name, figures));
}

}  // namespace

ClusterChanges add_link_bandwidths(const ClusterSpec& cluster, const NvBandwidth& measured,
                                   const std::optional<std::string>& test,
                                   const std::string& date) {
  const BandwidthMatrix& matrix = matrix_of(measured, test);
  const auto devices = static_cast<int>(matrix.gb_per_s.size());
  const int per_node = devices_of_smallest_node(cluster);
  if (devices > per_node) {
    throw_bad_input(
        fmt::format("{}: {} between {} devices, but nodes of the cluster '{}' have "
                    "{}\nhelp: name the cluster of this machine",
                    measured.file, matrix.test, devices, cluster.name, per_node));
  }
  ClusterChanges result{cluster, {}, {}};
  const std::string what =
      fmt::format("nvbandwidth {} {}, driver {}, {}; {}", measured.version, matrix.test,
                  or_unknown(measured.driver), date.empty() ? "date not said" : date,
                  name_of_file(measured.file));
  int inner = 1;
  for (LinkLevel& level : result.cluster.levels) {
    const int span = level.devices == 0 ? device_count(cluster) : level.devices;
    const std::vector<double> pairs = pairs_of(matrix, inner, span);
    // A level that also joins nodes says more about those.
    const bool is_inside = span <= per_node || device_count(cluster) == per_node;
    if (is_inside && !pairs.empty()) set_bandwidth(result, level, pairs, what);
    inner = span;
  }
  if (!result.changes.empty()) tell_of_calibration(result.cluster, result.notes);
  if (result.changes.empty() && result.notes.empty()) {
    result.notes.push_back(fmt::format(
        "the cluster '{}' has no level inside a node that joins these devices", cluster.name));
  }
  result.notes.emplace_back(
      "not stored, since a cluster file has no place for it: transfers to and from the host, and "
      "both ways at once");
  return result;
}

}  // namespace penstock
