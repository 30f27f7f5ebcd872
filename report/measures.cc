// One function per measure, so that every report, table and JSON that shows a rate uses the same
// definition; docs/cost_model.md names them. Rates are per step time, which includes what the
// executor adds per step; shares of idle time are of the makespan.
#include "report/measures.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace penstock {
namespace {

double per_second(double amount, Duration step_time) {
  if (step_time <= Duration{}) return 0.0;
  return amount * 1e9 / static_cast<double>(step_time.count());
}

double tokens(const Plan& plan) { return static_cast<double>(tokens_per_step(plan)); }

}  // namespace

double bubble_rate(Duration whole, Duration ideal) {
  if (whole <= Duration{}) return 0.0;
  return static_cast<double>((whole - ideal).count()) / static_cast<double>(whole.count());
}

double more_speed(Duration now, Duration then) {
  return static_cast<double>((now - then).count()) / static_cast<double>(then.count());
}

double samples_per_second(const Plan& plan, Duration step_time) {
  return per_second(static_cast<double>(plan.global_batch), step_time);
}

double tokens_per_second(const Plan& plan, Duration step_time) {
  return per_second(tokens(plan), step_time);
}

double tokens_per_second_and_gpu(const Plan& plan, Duration step_time) {
  return tokens_per_second(plan, step_time) / plan.devices();
}

double usd_per_million_tokens(const Plan& plan, const Evaluation& evaluation) {
  if (plan.sequence_length <= 0) return 0.0;
  return evaluation.usd_per_step * 1e6 / tokens(plan);
}

int micro_batches_of(const Plan& plan) {
  int most = 0;
  for (const ReplicaLoad& load : replica_loads(plan)) most = std::max(most, load.micro_batches);
  return most;
}

std::string micro_batch_size_text(const Plan& plan) {
  int least = plan.micro_batch_size;
  for (const MicroBatchShape& shape : plan.batch.shapes) least = std::min(least, shape.samples);
  return least == plan.micro_batch_size ? fmt::format("{}", least)
                                        : fmt::format("{} to {}", least, plan.micro_batch_size);
}

std::string micro_batches_text(const Plan& plan) {
  if (!plan.has_unequal_replicas()) return fmt::format("{}", micro_batches_of(plan));
  std::string text;
  for (int kind = 0; kind < plan.kinds(); ++kind) {
    text +=
        fmt::format("{}{}", text.empty() ? "" : "/", micro_batches_of(plan_of_kind(plan, kind)));
  }
  return text;
}

std::string replicas_of_rank_text(const Plan& plan, std::size_t rank) {
  const int kind = static_cast<int>(rank) / plan.pipeline;
  int first = 0;
  for (int before = 0; before < kind; ++before) {
    first += plan.replica_kinds[static_cast<std::size_t>(before)].replicas;
  }
  const int count = replicas_of_rank(plan, static_cast<int>(rank));
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

double relative_uncertainty(const Evaluation& evaluation) {
  const Duration half = std::max(evaluation.step_time_high - evaluation.step_time,
                                 evaluation.step_time - evaluation.step_time_low);
  if (evaluation.step_time <= Duration{}) return 0.0;
  return static_cast<double>(half.count()) / static_cast<double>(evaluation.step_time.count());
}

std::string interval_text(const Evaluation& evaluation) {
  if (evaluation.step_time <= Duration{}) return "0.0%";
  const auto share = [&](Duration part) {
    return 100.0 * static_cast<double>(part.count()) /
           static_cast<double>(evaluation.step_time.count());
  };
  const double below = share(evaluation.step_time - evaluation.step_time_low);
  const double above = share(evaluation.step_time_high - evaluation.step_time);
  if (std::abs(above - below) < 0.5) return fmt::format("{:.1f}%", std::max(above, below));
  return fmt::format("-{:.0f}/+{:.0f}%", below, above);
}

double idle_share(const Plan& plan, const Evaluation& evaluation) {
  if (evaluation.makespan <= Duration{}) return 0.0;
  double busy = 0.0;
  int ranks = 0;
  for (std::size_t r = 0; r < evaluation.ranks.size(); ++r) {
    const int replicas = replicas_of_rank(plan, static_cast<int>(r));
    busy += static_cast<double>(evaluation.ranks[r].time.busy.count()) * replicas;
    ranks += replicas;
  }
  if (ranks == 0) return 0.0;
  return 1.0 - busy / ranks / static_cast<double>(evaluation.makespan.count());
}

std::size_t busiest_rank(const Evaluation& evaluation) {
  const auto busiest = std::max_element(
      evaluation.ranks.begin(), evaluation.ranks.end(),
      [](const RankEvaluation& a, const RankEvaluation& b) { return a.time.busy < b.time.busy; });
  return static_cast<std::size_t>(busiest - evaluation.ranks.begin());
}

std::size_t tightest_rank(const Evaluation& evaluation) {
  const auto tightest = std::min_element(
      evaluation.ranks.begin(), evaluation.ranks.end(),
      [](const RankEvaluation& a, const RankEvaluation& b) { return headroom(a) < headroom(b); });
  return static_cast<std::size_t>(tightest - evaluation.ranks.begin());
}

}  // namespace penstock
