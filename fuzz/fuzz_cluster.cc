// penstock.cluster/1: what is accepted has a time for every transfer and collective.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/files/format.h"
#include "costmodel/links.h"
#include "fuzz/fuzz.h"

namespace penstock {
namespace {

using fuzz::require;

void check_cluster(const ClusterSpec& cluster) {
  require(device_count(cluster) >= 1, "there are no devices");
  require(!cluster.levels.empty() || device_count(cluster) == 1, "devices without a link");
  for (const DeviceType& type : cluster.device_types) {
    require(type.memory > type.reserve && type.reserve >= Bytes{}, "memory");
    require(type.memory_bandwidth.value > 0.0 && type.usd_per_hour >= 0.0, "bandwidth or price");
  }
  for (const LinkLevel& level : cluster.levels) {
    require(level.latency >= Duration{} && level.shared_bandwidth.value >= 0.0, "a level");
    require(!level.curve.empty() || level.bandwidth.value > 0.0, "a level without a speed");
  }
}

// A larger message is never faster, on any level and in any collective.
void price_on(const ClusterSpec& cluster) {
  for (int level = 0; level < static_cast<int>(cluster.levels.size()); ++level) {
    Duration before{};
    for (const int bits : {0, 10, 20, 40}) {
      const Duration time = point_to_point_time(cluster, level, Bytes{std::int64_t{1} << bits}, 2);
      require(time >= before, "a larger message is faster");
      before = time;
    }
  }
  std::vector<int> devices(static_cast<std::size_t>(std::min(device_count(cluster), 64)));
  std::iota(devices.begin(), devices.end(), 0);
  for (const CollectiveKind kind :
       {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
    require(collective_time(cluster, kind, devices, Bytes{1 << 20}, 1) >= Duration{},
            "a collective of negative time");
  }
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;
  const auto read = [](const Json& json) { return read_cluster(json, fuzz::kFile); };
  const auto cluster = fuzz::accepted_and_kept(data, size, read, write_cluster);
  if (!cluster) return 0;
  check_cluster(*cluster);
  fuzz::unless_refused([&] { return price_on(*cluster), true; });
  return 0;
}
