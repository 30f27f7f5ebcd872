// What importers of measurements and prices do to a cluster, and what they left as it was. Sources
// tell where every changed figure is from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/values/cluster.h"
#include "report/imports/nccl_tests.h"
#include "report/imports/nvbandwidth.h"
#include "report/imports/price_catalog.h"

namespace penstock {

struct ClusterChanges {
  ClusterSpec cluster;
  std::vector<std::string> changes;  // sentences; none: the cluster is as it was
  std::vector<std::string> notes;    // what was not taken, and why
};

// Curves of all-reduce, reduce-scatter and all-gather replace those of the same level and number of
// ranks; of several files with the same, Error{kBadInput}. The level is the innermost that joins
// the ranks on their hosts, or `level`. With `use_sendrecv` the loaded ring becomes the curve of
// its level. What a cluster file has no place for is a note.
struct CollectiveOptions {
  std::optional<std::string> level;
  bool use_sendrecv = false;
};
ClusterChanges add_collectives(const ClusterSpec& cluster, const std::vector<NcclTest>& tests,
                               const CollectiveOptions& options);

// The median over the pairs of devices that a level inside the node joins becomes its bandwidth;
// its latency stays. `test`: by name; default: kernels that write, else the next best that is
// there. Error{kBadInput} when the file has more devices than a node, or no such test.
ClusterChanges add_link_bandwidths(const ClusterSpec& cluster, const NvBandwidth& measured,
                                   const std::optional<std::string>& test, const std::string& date);

// Error{kBadInput} when no device type of the cluster is in the catalog.
ClusterChanges set_prices(const ClusterSpec& cluster, const PriceCatalog& catalog,
                          const PriceQuestion& question);

}  // namespace penstock
