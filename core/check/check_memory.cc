// Memory of every listed rank, counted from the lists of actions alone. Of replicas that are alike
// but for the number of their micro-batches one is listed: each of them is walked, and the most of
// every category counts.
//
// The sum is that of docs/cost_model.md, "Memory": state of the stages (or of the slots),
// activations by the bytes of their own micro-batch (check_pools.cc), what the largest action works
// in, and buffers of transfers and of sections that are gathered; of working sizes and transfers
// the largest shape counts. Nothing is shared with the search's own sums, which this judges.
#include <algorithm>
#include <map>
#include <set>

#include "core/check/check_parts.h"

namespace penstock {
namespace {

// A stage's figures at the largest micro-batch shape of its pipeline.
struct Largest {
  std::int64_t working_peak = 0, boundary = 0;
};

class MemoryCheck {
 public:
  MemoryCheck(const PlanFile& file, const RankLists& lists, Findings& findings)
      : file_(file), lists_(lists), findings_(findings) {
    for (std::size_t p = 0; p < pipelines(); ++p) {
      for (int s = 0; s < file.prices.stages; ++s) largest_.push_back(largest_of(p, s));
    }
  }

  std::vector<Bytes> run() {
    std::vector<Bytes> totals;
    totals.reserve(file_.prediction.ranks.size());
    for (int r = 0; r < file_.plan.listed_ranks(); ++r) totals.push_back(rank(r));
    return totals;
  }

 private:
  [[nodiscard]] std::size_t pipelines() const { return file_.program.pipelines.size(); }

  // That of the rank, and those of the same rank of replicas that are listed with it.
  [[nodiscard]] std::vector<const std::vector<Action>*> lists_of(int r) const {
    std::vector<const std::vector<Action>*> lists;
    const auto listed = static_cast<std::size_t>(file_.plan.listed_ranks());
    for (auto at = static_cast<std::size_t>(r); at < lists_.size(); at += listed) {
      lists.push_back(&lists_[at]);
    }
    return lists;
  }

  // Unequal replicas have shapes of their own.
  [[nodiscard]] bool occurs(std::size_t p, int shape) const {
    if (!file_.plan.has_unequal_replicas()) return true;
    const Pipeline& pipeline = file_.program.pipelines[p];
    const auto first = file_.program.micro_batches.begin() + pipeline.first_micro_batch;
    return std::any_of(first, first + pipeline.micro_batches,
                       [&](const MicroBatch& each) { return each.shape == shape; });
  }

  [[nodiscard]] Largest largest_of(std::size_t p, int s) const {
    Largest largest;
    for (int shape = 0; shape < file_.prices.shapes; ++shape) {
      if (!occurs(p, shape)) continue;
      const ComputePrice& price = file_.prices.compute_of(s, shape);
      largest.working_peak = std::max(largest.working_peak, price.working_peak.count);
      largest.boundary = std::max(largest.boundary, price.boundary.count);
    }
    return largest;
  }

  Bytes rank(int r) {
    const RankEvaluation& predicted = file_.prediction.ranks[static_cast<std::size_t>(r)];
    const std::string place = "rank " + std::to_string(r);
    MemoryUse use;
    std::int64_t working_peak = 0, section_buffers = 0;
    const int slots =
        file_.program.pipelines[static_cast<std::size_t>(r / file_.plan.pipeline)].weight_slots;
    const int first_stage = r / file_.plan.pipeline * file_.plan.stages();
    for (const int s : file_.plan.stages_of_rank(r % file_.plan.pipeline)) {
      const StepPrice& step = file_.prices.step[static_cast<std::size_t>(s)];
      keep(use.parameters, step.parameters, slots);
      keep(use.gradients, step.gradients, slots);
      keep(use.optimizer_state, step.optimizer_state, slots);
      const auto of_program = static_cast<std::size_t>(first_stage) + static_cast<std::size_t>(s);
      working_peak = std::max(working_peak, largest_[of_program].working_peak);
      section_buffers = std::max(section_buffers, step.section_buffers.count);
    }
    if (file_.plan.has_even_batch()) {
      const auto lists = lists_of(r);
      use.working_peak = {working_peak};
      for (const std::vector<Action>* list : lists) {
        use.working_peak.count = std::max(use.working_peak.count, working_peak_of_pairs(*list));
        use.stash.count = std::max(use.stash.count, pools_of(file_, *list).stash);
      }
      use.communication = {sum_of(section_buffers, communication(lists))};
    } else {
      const Pools pools = pools_of(file_, lists_[static_cast<std::size_t>(r)]);
      use.working_peak = {pools.working};
      use.stash = {pools.stash};
      use.communication = {pools.communication};
    }
    const PlanDevice device = device_of_rank(file_, r);
    use.reserve = device.reserve;
    const Bytes total = compare(use, predicted.memory, place);
    equal(device.memory, predicted.capacity, place, "capacity");
    if (total > device.memory) {
      findings_.add(place, "needs " + std::to_string(total.count) + " bytes, " +
                               std::to_string(total.count - device.memory.count) +
                               " more than the device has");
    }
    return total;
  }

  // All stages stay, or each slot has room for the largest.
  static void keep(Bytes& kept, Bytes of_stage, int slots) {
    kept.count = slots == 0 ? sum_of(kept.count, of_stage.count)
                            : std::max(kept.count, product_of(slots, of_stage.count));
  }

  void equal(Bytes expected, Bytes found, const std::string& place, const std::string& what) {
    if (expected == found) return;
    findings_.add(place, what + ": expected " + std::to_string(expected.count) +
                             " bytes, the prediction says " + std::to_string(found.count));
  }

  Bytes compare(const MemoryUse& use, const MemoryUse& predicted, const std::string& place) {
    equal(use.parameters, predicted.parameters, place, "parameters");
    equal(use.gradients, predicted.gradients, place, "gradients");
    equal(use.optimizer_state, predicted.optimizer_state, place, "optimizer state");
    equal(use.stash, predicted.stash, place, "stash");
    equal(use.working_peak, predicted.working_peak, place, "working peak");
    equal(use.communication, predicted.communication, place, "communication");
    equal(use.reserve, predicted.reserve, place, "reserve");
    std::int64_t total = 0;
    for (const Bytes part : {use.parameters, use.gradients, use.optimizer_state, use.stash,
                             use.working_peak, use.communication, use.reserve}) {
      total = sum_of(total, part.count);
    }
    return {total};
  }

  // The members of an OVERLAP work at the same time.
  [[nodiscard]] std::int64_t working_peak_of_pairs(const std::vector<Action>& list) const {
    std::int64_t most = 0;
    for (std::size_t at = 0; at + 1 < list.size(); ++at) {
      if (!list[at].overlaps_next) continue;
      most = std::max(most, sum_of(largest_[list[at].stage.value].working_peak,
                                   largest_[list[at + 1].stage.value].working_peak));
    }
    return most;
  }

  // The same stage of the replica that is listed.
  [[nodiscard]] StageId listed_stage(StageId stage) const {
    const int listed = file_.plan.kinds() * file_.plan.stages();
    return StageId{static_cast<std::uint16_t>(stage.value % listed)};
  }

  // A buffer for every receive from its posting until its consumer has run, and one to send from
  // per stage and direction. At the end of a list nothing is posted, so that lists may follow each
  // other.
  [[nodiscard]] std::int64_t communication(
      const std::vector<const std::vector<Action>*>& lists) const {
    struct Posted {
      std::int64_t now = 0, most = 0;
      void post() { most = std::max(most, ++now); }
    };
    std::map<StageId, Posted> activations, gradients;
    std::set<StageId> sends_activation, sends_gradient;
    const auto walk = [&](const Action& action) {
      const StageId stage = listed_stage(action.stage);
      if (action.kind == ActionKind::kReceiveActivation) activations[stage].post();
      if (action.kind == ActionKind::kReceiveGradient) gradients[stage].post();
      if (action.kind == ActionKind::kForward && activations.contains(stage)) {
        --activations[stage].now;
      }
      if (is_backward(action.kind) && gradients.contains(stage)) --gradients[stage].now;
      if (action.kind == ActionKind::kSendActivation) sends_activation.insert(stage);
      if (action.kind == ActionKind::kSendGradient) sends_gradient.insert(stage);
    };
    for (const std::vector<Action>* list : lists) {
      std::for_each(list->begin(), list->end(), walk);
    }
    std::int64_t total = 0;
    const auto add = [&](std::int64_t buffers, int boundary) {
      const std::int64_t each = largest_[static_cast<std::size_t>(boundary)].boundary;
      total = sum_of(total, product_of(buffers, each));
    };
    for (const auto& [stage, posted] : activations) add(posted.most, stage.value - 1);
    for (const auto& [stage, posted] : gradients) add(posted.most, stage.value);
    for (const StageId stage : sends_activation) add(1, stage.value);
    for (const StageId stage : sends_gradient) add(1, stage.value - 1);
    return total;
  }

  const PlanFile& file_;
  const RankLists& lists_;
  Findings& findings_;
  std::vector<Largest> largest_;  // [stage of the Program]
};

}  // namespace

std::vector<Bytes> check_memory(const PlanFile& file, const RankLists& lists, Findings& findings) {
  return MemoryCheck(file, lists, findings).run();
}

}  // namespace penstock
