// Recompute modes differ in what is kept and computed again; collectives of tensor parallelism are
// left to the cost model, which prices them on the cluster's links.
#include "estimator/estimate_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/values/term_names.h"
#include "estimator/divided_sequences.h"

namespace penstock {
namespace {

constexpr std::array kRecomputes{std::pair{Recompute::kSelective, "selective"},
                                 std::pair{Recompute::kFull, "full"}};
constexpr const char* kLaunches = "launches";

Duration rounded(double seconds) {
  const double longest = static_cast<double>(kLongestDuration.count()) * 1e-9;
  return round_up_to_ns(std::min(seconds, longest));
}

// The parts of a time by the names that `explain` and `compare` use.
constexpr std::array kTerms{std::pair{"matrix products", &WorkTimes::products},
                            std::pair{"expert products", &WorkTimes::experts},
                            std::pair{"attention", &WorkTimes::attention},
                            std::pair{"memory passes", &WorkTimes::memory},
                            std::pair{"casts to 8 bits", &WorkTimes::casts},
                            std::pair{kGradientSums, &WorkTimes::sums},
                            std::pair{"gradient sums beyond products", &WorkTimes::beyond},
                            std::pair{"copies of collectives", &WorkTimes::copies},
                            std::pair{"kernels that are not fused", &WorkTimes::unfused},
                            std::pair{"routing", &WorkTimes::routing},
                            std::pair{kLaunches, &WorkTimes::launches}};

double WorkTimes::*member_of(const std::string& name) {
  for (const auto& [known, member] : kTerms) {
    if (name == known) return member;
  }
  return &WorkTimes::launches;
}

// Those that are not zero.
std::vector<TimeTerm> terms_of(const WorkTimes& forward, const WorkTimes& backward) {
  std::vector<TimeTerm> terms;
  for (const auto& [name, member] : kTerms) {
    if (forward.*member <= 0.0 && backward.*member <= 0.0) continue;
    terms.push_back({name, rounded(forward.*member), rounded(backward.*member), Duration{}});
  }
  return terms;
}

// Without the collectives, which are priced from the cluster's links.
WorkTimes times(Work work, Direction direction, Place place, const Rates& rates) {
  work.reduced = 0.0;
  return times_of(work, direction, place, rates);
}

// Attention that runs while one part of keys and values is on its way.
Duration beside_ring(double attention, const CountKey& key) {
  return waits_for_ring(key) ? Duration{} : rounded(attention / key.context_degree);
}

// With how tokens are sent.
std::optional<ExpertTraffic> told(std::optional<ExpertTraffic> traffic,
                                  const EstimateChoices& choices) {
  if (traffic) traffic->once = choices.request.dispatches_once;
  return traffic;
}

// The row of a section that computes nothing again.
Measurement plain_row(const EstimateChoices& choices, const Rates& rates,
                      const SectionCounts& counts, const CountKey& key, Place place) {
  Measurement m;
  m.device = choices.request.device.empty() ? choices.device.name : choices.request.device;
  m.tensor_degree = key.tensor_degree;
  m.context_degree = key.context_degree;
  m.micro_batch_size = key.samples;
  m.sequence_length = key.sequence_length;
  m.expert_degree = key.expert_degree;
  m.expert_tensor_degree = key.whole_experts ? 1 : 0;
  m.experts = told(counts.experts, choices);
  const WorkTimes forward = times(counts.forward, Direction::kForward, place, rates);
  const WorkTimes backward = times(counts.backward, Direction::kBackward, place, rates);
  m.forward.median = rounded(forward.sum());
  m.fused_backward = Timing{rounded(backward.sum()), Duration{}};
  m.terms = terms_of(forward, backward);
  if (choices.gathers_late()) m.terms.push_back({kGathersWaitedFor, {}, {}, {}});
  if (counts.ring != Bytes{} && widens_passed_gradients(key)) {
    m.terms.push_back({kGradientsPassedOn, {}, {}, {}});
  }
  m.weight_gradient_share = counts.weight_share;
  m.tensor_traffic = counts.traffic;
  for (TensorTraffic& each : m.tensor_traffic) each.recompute = 0;
  if (counts.ring != Bytes{}) {
    m.ring = RingTraffic{counts.ring, beside_ring(forward.attention, key),
                         beside_ring(backward.attention, key)};
    m.ring->exchanged = counts.exchanged;
  }
  m.stash = counts.stash;
  m.weight_stash = counts.weight_stash;
  m.working_peak = counts.working_peak;
  m.boundary = counts.boundary;
  m.time_source = kTimesEstimated;
  m.split_source = kOperationsCounted;
  m.memory_source = kShapesCounted;
  return m;
}

void recompute(const RecomputeCounts& counts, const EstimateChoices& choices, const Rates& rates,
               Measurement& m) {
  const WorkTimes again = counts.again == Work{}
                              ? WorkTimes{}
                              : times(counts.again, Direction::kForward, Place::kLayer, rates);
  m.recompute_time.median = rounded(again.sum());
  for (TimeTerm& term : m.terms) {
    if (!is_habit(term.name)) term.recompute = rounded(again.*member_of(term.name));
  }
  if (m.ring && again.attention > 0.0) {
    const bool waits = m.ring->beside_forward == Duration{};
    m.ring->beside_recompute = waits ? Duration{} : rounded(again.attention / m.context_degree);
  }
  m.tensor_traffic = counts.traffic;
  m.experts = told(counts.experts, choices);
  m.stash = counts.stash;
  m.weight_stash = counts.weight_stash;
  m.working_peak = counts.working_peak;
}

}  // namespace

std::vector<Measurement> estimate_rows(const EstimateChoices& choices, const Rates& rates,
                                       const SectionCounts& counts, const CountKey& key,
                                       Place place, const CountAgain& again) {
  std::vector<Measurement> rows{plain_row(choices, rates, counts, key, place)};
  for (const auto& [mode, called] : kRecomputes) {
    Measurement row = rows.front();
    row.recompute = called;
    if (again) recompute(again(mode), choices, rates, row);
    rows.push_back(std::move(row));
  }
  return rows;
}

bool waits_for_launches(const Measurement& row) {
  return std::any_of(row.terms.begin(), row.terms.end(), [](const TimeTerm& term) {
    return term.name == kLaunches && term.forward > Duration{};
  });
}

}  // namespace penstock
