// The same search is asked with less memory, as it is, and with more, with P, D, T and device
// fixed. A search that cuts by a heuristic may find a slower plan with more memory; since a plan
// that fits also fits into more, the fastest one found so far is carried over, so the answers never
// get worse with memory. Where the search with today's memory already beats the plan, a note says
// so: that gain is not memory's.
#include "studies/memory_sensitivity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "report/measures.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/words.h"
#include "studies/outcomes.h"

namespace penstock {
namespace {

constexpr Bytes kMoreMemory{std::int64_t{8} << 30};

// The same P, D, T and device with everything else free.
class MemoryAsker {
 public:
  MemoryAsker(const PlanFile& file, const Evaluation& now, const Question& question,
              SearchProgress& progress)
      : now_(now), question_(question), progress_(progress) {
    Pins& pins = question_.request.pins;
    pins.pipeline = file.plan.pipeline;
    pins.data = file.plan.data;
    pins.tensor = file.plan.tensor;
    pins.context = file.plan.context;
    pins.expert = file.plan.expert;
    pins.device = file.plan.device;
  }

  void ask(Sensitivities& all) {
    const Outcome less = with("-10 %", [](Bytes m) { return Bytes{m.count / 10 * 9}; });
    // What is found here fits with more memory, too: a search that cuts by a heuristic may miss it
    // there.
    const Outcome same = with("as it is", [](Bytes m) { return m; });
    all.all.push_back({"memory", "memory of the device", less,
                       with("+8 GiB", [](Bytes m) { return m + kMoreMemory; })});
    all.all.push_back({"memory", "memory of the device", std::nullopt,
                       with("x2", [](Bytes m) { return Bytes{m.count * 2}; })});
    if (same.plan.empty()) return;
    all.notes.push_back(fmt::format(
        "With the memory as it is, there is a plan with the same TP, PP and DP that is {} "
        "faster: {}",
        percent(same.more_speed), same.plan));
  }

 private:
  template <class Change>
  SearchResult search(Change memory) {
    Question changed = question_;
    for (DeviceType& type : changed.cluster.value.device_types) type.memory = memory(type.memory);
    return best_plans(changed.inputs(), changed.request, progress_);
  }

  template <class Change>
  [[nodiscard]] bool fits(Change memory) const {
    return std::all_of(now_.ranks.begin(), now_.ranks.end(), [&](const RankEvaluation& rank) {
      return rank.memory.total() <= memory(rank.capacity);
    });
  }

  void note_fastest(const SearchResult& found) {
    if (found.best.empty()) return;
    const RankedPlan& best = found.best.front();
    if (!fastest_ || best.evaluation.step_time < fastest_->evaluation.step_time) fastest_ = best;
  }

  // To be asked for more and more memory.
  template <class Change>
  Outcome with(std::string change, Change memory) {
    const SearchResult found = search(memory);
    if (!found.complete) return refused(std::move(change), "stopped");
    note_fastest(found);
    const bool runs = fits(memory);
    if (!fastest_ && !runs) {
      return refused(std::move(change), found.nearest_miss
                                            ? reason_text(*found.nearest_miss)
                                            : "no plan with the same TP, PP and DP fits");
    }
    if (runs && (!fastest_ || fastest_->evaluation.step_time >= now_.step_time)) {
      return outcome_of(std::move(change), now_.step_time, now_.step_time);
    }
    Outcome answer = outcome_of(std::move(change), now_.step_time, fastest_->evaluation.step_time);
    answer.plan = plan_line(fastest_->plan) + (runs ? "" : "; this plan no longer fits");
    return answer;
  }

  const Evaluation& now_;
  Question question_;
  SearchProgress& progress_;
  std::optional<RankedPlan> fastest_;
};

}  // namespace

void ask_memory(const PlanFile& file, const Evaluation& now, const Question& question,
                SearchProgress& progress, Sensitivities& all) {
  MemoryAsker(file, now, question, progress).ask(all);
}

}  // namespace penstock
