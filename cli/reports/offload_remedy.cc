#include "cli/reports/offload_remedy.h"

#include <fmt/format.h>

#include "cli/reports/known_host.h"
#include "report/words.h"
#include "search/remedies.h"

namespace penstock {

std::string offload_remedy(Question question, SearchProgress& progress) {
  SearchRequest& request = question.request;
  const bool can = request.trainer == nullptr || request.trainer->offloads_optimizer;
  if (request.pins.offload != false || !can || progress.stop()) return "";
  request.pins.offload = true;
  request.top = 1;
  request.sizes.clear();
  use_hosts(question);
  const SearchResult result = best_plans(question.inputs(), request, progress);
  if (result.best.empty()) return "";
  const RankedPlan& best = result.best.front();
  return fmt::format("It fits in {} a step as {} (--pin offload=optimizer).",
                     to_text(best.evaluation.step_time), plan_words(best.plan));
}

}  // namespace penstock
