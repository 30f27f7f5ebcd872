// Ranks that are slow, for people, for scripts and for launchers.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"
#include "core/values/rank_slowness.h"
#include "report/screen.h"

namespace penstock {

// `hosts`: of every rank of the job; empty where nobody knows.
struct SlowRanks {
  std::vector<RankSlowness> slow;  // ascending
  std::vector<std::string> hosts;
  double threshold = 0.15;
  int window = 10;  // steps
};

// "rank 3 (stage 1 of replica 1, on host a) computes 1.31 times as long as the median of the 4
// replicas of its stage, since step 40"; one line, without a newline.
std::string words_of(const RankSlowness& rank, const std::vector<std::string>& hosts);
// A line for each, and what to do; or that there is none. `windows`: that were looked at.
std::string slow_ranks_text(const SlowRanks& ranks, int windows, Screen screen);
// As Varuna's slow_machines.out: the machines of slow ranks, one a line, each once. Ranks whose
// machine nobody knows stand as "rank 3".
std::string slow_machines_text(const SlowRanks& ranks);
Json to_json(const SlowRanks& ranks);
// The same as a file (penstock.slow/1), and its ranks. Error{kBadInput} for anything malformed.
std::string slow_ranks_file(const SlowRanks& ranks);
std::vector<RankSlowness> read_slow_ranks(const Json& json, const std::string& file);

}  // namespace penstock
