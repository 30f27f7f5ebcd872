// What was measured of the links between ranks.
#pragma once

#include <vector>

#include "core/values/cluster.h"
#include "core/values/units.h"
#include "profiler/samples.h"

namespace penstock {

enum class LinkPattern {
  kAlone,     // one message at a time: half of a round trip
  kOneWay,    // several in flight in one direction: time per message
  kBothWays,  // the same in both directions at once: time per message of one direction
};

struct LinkSample {
  LinkPattern pattern = LinkPattern::kAlone;
  bool under_load = false;  // while both ranks compute
  Bytes bytes;
  SampleSummary time;
  bool operator==(const LinkSample&) const = default;
};

// Time on the slowest rank; bytes of the full buffer on one rank.
struct CollectiveSample {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int participants = 2;
  bool under_load = false;
  Bytes bytes;
  SampleSummary time;
  bool operator==(const CollectiveSample&) const = default;
};

struct LinkSamples {
  std::vector<LinkSample> links;
  std::vector<CollectiveSample> collectives;
  bool complete = true;  // else a budget ended it
  bool operator==(const LinkSamples&) const = default;
};

// Which of the samples a curve is made of: those that a background load or a late wake-up disturbed
// least. On a machine with work besides, medians of small messages are those of its scheduler.
enum class LinkStatistic { kQuarter, kMedian };

std::vector<CurvePoint> curve_of(const LinkSamples& samples, LinkPattern pattern, bool under_load,
                                 LinkStatistic statistic);
std::vector<CurvePoint> curve_of(const LinkSamples& samples, CollectiveKind kind, int participants,
                                 bool under_load, LinkStatistic statistic);

}  // namespace penstock
