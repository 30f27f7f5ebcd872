#include "search/stopped_as_another.h"

namespace penstock {
namespace {

class StoppedAsAnother : public SearchProgress {
 public:
  explicit StoppedAsAnother(AskedToStop& other) : other_(other) {}
  bool stop() override { return other_(); }

 private:
  AskedToStop& other_;
};

}  // namespace

std::vector<Found> found_by_another(const PlanInputs& inputs, const SearchRequest& asked,
                                    AskedToStop& asked_to_stop) {
  StoppedAsAnother stops(asked_to_stop);
  std::vector<Found> found;
  for (const RankedPlan& best : best_plans(inputs, asked, stops).best) {
    const Evaluation& evaluation = best.evaluation;
    found.push_back({best.plan, evaluation.step_time, evaluation.peak_memory()});
  }
  return found;
}

}  // namespace penstock
