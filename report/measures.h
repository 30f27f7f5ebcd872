// What people compare plans by, from an Evaluation: rates, bubbles, prices, the ranks that matter.
#pragma once

#include <cstddef>
#include <string>

#include "core/values/evaluation.h"
#include "core/values/plan.h"
#include "core/values/units.h"

namespace penstock {

// Idle share of `whole` beyond the busiest rank's work. With the makespan or the longest span as
// `whole` it is the bubble by that definition.
double bubble_rate(Duration whole, Duration ideal);

// How much faster a step of `then` is than one of `now`, as a share: 0.25 for 80 ms after 100 ms.
// `then` must be positive.
double more_speed(Duration now, Duration then);

double samples_per_second(const Plan& plan, Duration step_time);
double tokens_per_second(const Plan& plan, Duration step_time);  // 0 without a sequence length
double tokens_per_second_and_gpu(const Plan& plan, Duration step_time);
// 0 when there is no price or no sequence length.
double usd_per_million_tokens(const Plan& plan, const Evaluation& evaluation);

// Micro-batches of one replica and step, the short one included (the fullest replica's).
int micro_batches_of(const Plan& plan);
// "4"; where micro-batches differ "1 to 4".
std::string micro_batch_size_text(const Plan& plan);
// The same in words; of unequal replicas by kind: "24/8".
std::string micro_batches_text(const Plan& plan);
// The replicas that run a listed rank: "0-1".
std::string replicas_of_rank_text(const Plan& plan, std::size_t rank);

// Half-width of the interval of the step time, as a share of it; of an uneven interval the wider
// half.
double relative_uncertainty(const Evaluation& evaluation);

// Both halves: "12.0%", or where they differ "-5/+31%".
std::string interval_text(const Evaluation& evaluation);

// Idle time of all ranks: the share of the makespan in which a rank computes nothing, on average
// over the ranks of the job.
double idle_share(const Plan& plan, const Evaluation& evaluation);

// The rank with the most work, and the one with the least memory left; the first of several.
// `ranks` must not be empty.
std::size_t busiest_rank(const Evaluation& evaluation);
std::size_t tightest_rank(const Evaluation& evaluation);

inline Bytes headroom(const RankEvaluation& rank) { return rank.capacity - rank.memory.total(); }

}  // namespace penstock
