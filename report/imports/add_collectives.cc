// Each file of nccl-tests fills one place of the cluster: collective, level and number of ranks.
// The level follows from the hosts that the file names: ranks on one host need the innermost level
// that spans them, ranks on several the one that spans so many nodes. Where the file does not tell,
// --level must. Two files for one place are refused, since neither is better. Falling times are
// raised, so that every stored curve ascends.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "core/values/rising_curve.h"
#include "report/imports/cluster_changes.h"
#include "report/imports/new_source.h"
#include "report/words.h"

namespace penstock {
namespace {

std::optional<CollectiveKind> kind_of(const std::string& collective) {
  if (collective == "all_reduce") return CollectiveKind::kAllReduce;
  if (collective == "reduce_scatter") return CollectiveKind::kReduceScatter;
  if (collective == "all_gather") return CollectiveKind::kAllGather;
  return {};
}

std::string names_of_levels(const ClusterSpec& cluster) {
  std::string names;
  for (const LinkLevel& level : cluster.levels) names += (names.empty() ? "" : ", ") + level.name;
  return names;
}

int devices_of_largest_node(const ClusterSpec& cluster) {
  int most = 1;
  for (const NodeGroup& group : cluster.nodes) {
    most = std::max(most, type_of(cluster, group).devices);
  }
  return most;
}

class CollectivesIntoCluster {
 public:
  CollectivesIntoCluster(const ClusterSpec& cluster, const CollectiveOptions& options)
      : options_(options), result_{cluster, {}, {}} {}

  ClusterChanges add(const std::vector<NcclTest>& tests) {
    for (const NcclTest& test : tests) add(test);
    if (!result_.changes.empty()) tell_of_calibration(result_.cluster, result_.notes);
    return std::move(result_);
  }

 private:
  void add(const NcclTest& test) {
    const std::optional<CollectiveKind> kind = kind_of(test.collective);
    const bool is_link = test.collective == "sendrecv" && options_.use_sendrecv;
    if (!kind && !is_link) {
      result_.notes.push_back(
          fmt::format("{}: {} is not stored: {}", test.file, test.collective,
                      test.collective == "sendrecv"
                          ? "it is a loaded ring; --use-sendrecv makes it the curve of its level"
                          : "a cluster file holds all_reduce, reduce_scatter and all_gather"));
      return;
    }
    const int level = level_of(test);
    require_once(test, level);
    std::vector<CurvePoint> curve = test.curve;
    const std::string raised = raise_falling_times(curve);
    if (!raised.empty()) result_.notes.push_back(test.file + ": " + raised);
    const int source = add_source(
        result_.cluster,
        {.id = "nccl-tests",
         .origin = Origin::kMeasured,
         .text = fmt::format(
             "nccl-tests {}_perf, {} ranks on {}, NCCL {}, {}; {}", test.collective, test.ranks,
             test.hosts > 0 ? count_of(test.hosts, "host") : "hosts that the file does not name",
             or_unknown(test.nccl_version), or_unknown(test.started), name_of_file(test.file)),
         .licence = ""});
    is_link ? set_link(test, level, std::move(curve), source)
            : set_collective(test, *kind, level, std::move(curve), source);
  }

  [[nodiscard]] const LinkLevel& level_at(int level) const {
    return result_.cluster.levels[static_cast<std::size_t>(level)];
  }

  // Two files that fill the same place: neither is better.
  void require_once(const NcclTest& test, int level) {
    if (seen_.emplace(test.collective, level, test.ranks).second) return;
    throw_bad_input(
        fmt::format("{}: {} of {} ranks on level '{}' is in another of these files, too\nhelp: "
                    "give one of them",
                    test.file, test.collective, test.ranks, level_at(level).name));
  }

  int level_of(const NcclTest& test) const {
    const std::vector<LinkLevel>& levels = result_.cluster.levels;
    if (device_count(result_.cluster) < test.ranks) {
      throw_bad_input(
          fmt::format("{}: {} ranks, but the cluster '{}' has {}\nhelp: name another "
                      "cluster",
                      test.file, test.ranks, result_.cluster.name,
                      count_of(device_count(result_.cluster), "device")));
    }
    if (options_.level) return named_level(test);
    const int per_node = devices_of_largest_node(result_.cluster);
    if (test.hosts == 0 || (test.hosts == 1 && test.ranks > per_node)) {
      throw_bad_input(fmt::format(
          "{}: {} ranks on {}, and nodes of the cluster have {}: which level they used is "
          "open\nhelp: say it with --level; there is {}",
          test.file, test.ranks, test.hosts == 0 ? "hosts that the file does not name" : "one host",
          count_of(per_node, "device"), names_of_levels(result_.cluster)));
    }
    // Consecutive devices that the ranks and what lies between them take up.
    const std::int64_t span = test.hosts == 1 ? test.ranks : std::int64_t{test.hosts} * per_node;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
      if (levels[i].devices >= span) return static_cast<int>(i);
    }
    return static_cast<int>(levels.size()) - 1;
  }

  [[nodiscard]] int named_level(const NcclTest& test) const {
    const std::vector<LinkLevel>& levels = result_.cluster.levels;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i].name != *options_.level) continue;
      if (levels[i].devices != 0 && levels[i].devices < test.ranks) {
        throw_bad_input(
            fmt::format("{}: {} ranks, but level '{}' joins {}\nhelp: name another "
                        "--level; there is {}",
                        test.file, test.ranks, levels[i].name, levels[i].devices,
                        names_of_levels(result_.cluster)));
      }
      return static_cast<int>(i);
    }
    throw_bad_input(fmt::format("--level: the cluster has no level '{}'\nhelp: there is {}",
                                *options_.level, names_of_levels(result_.cluster)));
  }

  void set_collective(const NcclTest& test, CollectiveKind kind, int level,
                      std::vector<CurvePoint> curve, int source) {
    std::vector<CollectiveCurve>& all = result_.cluster.collectives;
    const auto at = std::find_if(all.begin(), all.end(), [&](const CollectiveCurve& other) {
      return other.kind == kind && other.level == level && other.participants == test.ranks;
    });
    const bool replaces = at != all.end();
    CollectiveCurve& place = replaces ? *at : all.emplace_back();
    const std::size_t points = curve.size();
    place = {.kind = kind,
             .level = level,
             .participants = test.ranks,
             .curve = std::move(curve),
             .source = source};
    result_.changes.push_back(fmt::format("{} of {} ranks on level '{}': {}{}", test.collective,
                                          test.ranks, level_at(level).name,
                                          count_of(static_cast<std::int64_t>(points), "point"),
                                          replaces ? ", replacing those before" : ""));
  }

  void set_link(const NcclTest& test, int level, std::vector<CurvePoint> curve, int source) {
    LinkLevel& place = result_.cluster.levels[static_cast<std::size_t>(level)];
    const std::size_t points = curve.size();
    place.curve = std::move(curve);
    place.latency = Duration{};
    place.bandwidth = {};
    place.source = source;
    result_.changes.push_back(
        fmt::format("transfers on level '{}': {} of a loaded ring of {} ranks, in place of those "
                    "before",
                    place.name, count_of(static_cast<std::int64_t>(points), "point"), test.ranks));
  }

  const CollectiveOptions& options_;
  ClusterChanges result_;
  std::set<std::tuple<std::string, int, int>> seen_;
};

}  // namespace

ClusterChanges add_collectives(const ClusterSpec& cluster, const std::vector<NcclTest>& tests,
                               const CollectiveOptions& options) {
  if (cluster.levels.empty()) {
    throw_bad_input(
        fmt::format("the cluster '{}' has no level that a collective could use\n"
                    "help: name a cluster of several devices",
                    cluster.name));
  }
  return CollectivesIntoCluster(cluster, options).add(tests);
}

}  // namespace penstock
