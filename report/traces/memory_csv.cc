#include "report/traces/memory_csv.h"

#include <iterator>

#include <fmt/format.h>

namespace penstock {

std::string memory_csv(const StepTrace& trace) {
  std::string out =
      "rank,pipeline_rank,replicas,time_ns,activation_bytes,total_bytes,capacity_bytes\n";
  for (const TraceRank& rank : trace.ranks) {
    for (const MemoryPoint& point : rank.memory) {
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{}\n", rank.rank,
                     rank.pipeline_rank, rank.replicas, point.time.count(), point.stash.count,
                     point.total.count, rank.capacity.count);
    }
  }
  return out;
}

}  // namespace penstock
