#include "cli/reports/offload_remedy.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/reports/known_host.h"
#include "report/words.h"
#include "search/remedies.h"

namespace penstock {

namespace {

constexpr int kLeastGain = 100;  // of a step: what is told where something fits without it

// Whether it was left open, and the trainer and what is known of the hosts allow it. Then the
// question is that of the fastest such plan.
bool ask_with_offload(Question& question) {
  SearchRequest& request = question.request;
  const bool can = request.trainer == nullptr || request.trainer->offloads_optimizer;
  // FSDP keeps the master weights with the parameters.
  const bool is_fsdp = request.pins.sharding == Sharding::kFsdp;
  if (request.pins.offload != false || !can || is_fsdp) return false;
  request.pins.offload = true;
  request.top = 1;
  request.sizes.clear();
  use_hosts(question);
  const auto& nodes = question.cluster.value.node_types;
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeType& type) { return type.host.has_value(); });
}

}  // namespace

std::string offload_remedy(Question question, SearchProgress& progress) {
  if (progress.stop() || !ask_with_offload(question)) return "";
  const SearchRequest& request = question.request;
  const SearchResult result = best_plans(question.inputs(), request, progress);
  if (result.best.empty()) return "";
  const RankedPlan& best = result.best.front();
  return fmt::format("It fits in {} a step as {} (--pin offload=optimizer).",
                     to_text(best.evaluation.step_time), plan_words(best.plan));
}

std::optional<RankedPlan> faster_with_offload(Question question, const SearchResult& found,
                                              SearchProgress& progress) {
  if (found.best.empty() || !found.complete || progress.stop()) return {};
  if (!ask_with_offload(question)) return {};
  const Duration best = found.best.front().evaluation.step_time;
  question.request.faster_than = best - best / kLeastGain;
  SearchResult result = best_plans(question.inputs(), question.request, progress);
  if (result.best.empty()) return {};
  return std::move(result.best.front());
}

std::string offload_gain_text(const RankedPlan& best, const RankedPlan& offloaded) {
  return fmt::format(
      "With the optimizer's state on the host a step takes {}, {} less, as {} (--pin offload=any).",
      to_text(offloaded.evaluation.step_time),
      percent(1.0 - static_cast<double>(offloaded.evaluation.step_time.count()) /
                        static_cast<double>(best.evaluation.step_time.count())),
      plan_words(offloaded.plan));
}

}  // namespace penstock
