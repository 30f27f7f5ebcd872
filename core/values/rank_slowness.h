// A rank of a job that computes for longer than it should: what a detector finds, a manager acts on
// and a report says.
#pragma once

#include <cstdint>

namespace penstock {

struct RankSlowness {
  int rank = 0;           // of the job
  int pipeline_rank = 0;  // 0..P-1
  int replica = 0;        // 0..D-1
  double factor = 1.0;    // it computes so many times as long as what it is compared with
  // It is compared with so many replicas of its stages; 0: with all ranks, each by what the plan
  // predicts for it.
  int replicas = 0;
  // Every replica of its stages is slow, and the plan may predict too little for them.
  bool whole_stage = false;
  bool from_start = false;      // since the first window: it was not seen at full speed
  std::int64_t since_step = 0;  // where the first window began in which it was slow
  std::int64_t seen_step = 0;   // the last step that was looked at
  bool operator==(const RankSlowness&) const = default;
};

}  // namespace penstock
