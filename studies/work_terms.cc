// Terms of a measured row (matrix products, attention, passes) are scaled from the row's
// micro-batch size to the plan's and summed over the sections of one rank. What the plan's prices
// have beyond that sum, and do not tell apart themselves (sharded weights), are the collectives of
// tensor parallelism, which the cost model added from the links.
#include "studies/work_terms.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "core/values/durations.h"
#include "core/values/recompute_sections.h"
#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"

namespace penstock {
namespace {

// The row whose micro-batch is nearest to the plan's; the smaller of two.
const Measurement* nearest(const SectionType& type, const Plan& plan, const std::string& device,
                           const std::string& recompute) {
  const Measurement* best = nullptr;
  const auto away = [&](const Measurement& m) {
    return std::abs(m.micro_batch_size - plan.micro_batch_size);
  };
  for (const Measurement& m : type.measurements) {
    if (m.device != device || m.tensor_degree != plan.tensor ||
        !is_row_for(type, m, plan.other_degrees()) || m.recompute != recompute ||
        m.sequence_length != plan.sequence_length) {
      continue;
    }
    if (best == nullptr || away(m) < away(*best)) best = &m;
  }
  return best;
}

class RankTerms {
 public:
  RankTerms(const ModelProfile& profile, const PlanFile& file, int rank)
      : profile_(profile), file_(file), rank_(rank) {}

  WorkTerms run() {
    WorkTerms work;
    work.rank = rank_;
    for (const int stage : file_.plan.stages_of_rank(rank_ % file_.plan.pipeline)) {
      if (!add_stage(stage)) return work;
    }
    add_sharded();
    add_collectives();
    work.terms = std::move(terms_);
    return work;
  }

 private:
  bool add_stage(int stage) {
    const Plan& plan = file_.plan;
    const int end_of_recomputed = plan.first_section(stage) + recomputed_sections_of(plan, stage);
    for (int i = plan.first_section(stage); i < plan.end_section(stage); ++i) {
      const int type = profile_.sections[static_cast<std::size_t>(i)].type;
      const Measurement* m =
          nearest(profile_.section_types[static_cast<std::size_t>(type)], plan,
                  plan.device_of_rank(rank_), i < end_of_recomputed ? plan.recompute : "none");
      if (m == nullptr || m->terms.empty()) return false;
      const double scale = static_cast<double>(plan.micro_batch_size) / m->micro_batch_size;
      for (const TimeTerm& term : m->terms) {
        if (term.forward + term.backward + term.recompute > Duration{}) add(term, scale);
      }
    }
    const int full_size = shapes_of_kind(plan, rank_ / plan.pipeline).first;
    const ComputePrice& price = file_.prices.compute_of(stage, full_size);
    sharded_.forward += price.forward_sharded;
    sharded_.backward += price.backward_sharded;
    experts_.forward += price.forward_experts;
    experts_.backward += price.backward_experts;
    experts_.recompute += price.recompute_experts;
    const auto priced = [&](ActionKind kind) {
      return price_alone(file_.prices, kind, {stage, full_size});
    };
    priced_.forward += priced(ActionKind::kForward);
    priced_.backward += priced(ActionKind::kFusedBackward);
    priced_.recompute += priced(ActionKind::kRecompute);
    return true;
  }

  void add(const TimeTerm& term, double scale) {
    auto known = std::find_if(terms_.begin(), terms_.end(),
                              [&](const TimeTerm& each) { return each.name == term.name; });
    if (known == terms_.end()) known = terms_.insert(known, {term.name, {}, {}, {}});
    known->forward += scaled(term.forward, scale);
    known->backward += scaled(term.backward, scale);
    known->recompute += scaled(term.recompute, scale);
  }

  // What the price tells apart.
  void add_sharded() {
    if (sharded_.forward + sharded_.backward > Duration{}) terms_.push_back(sharded_);
    if (experts_.forward + experts_.backward > Duration{}) terms_.push_back(experts_);
  }

  // What is sent adds to the sections, and nothing else does: at the rate of the cluster's links,
  // or at that of PyTorch's ranks where it is less (costmodel/torch_ring.h).
  void add_collectives() {
    const Plan& plan = file_.plan;
    if (plan.devices_per_rank() < 2) return;
    const char* name = plan.context < 2 ? "collectives of tensor parallelism"
                       : plan.context_kind != ContextKind::kRing
                           ? (plan.tensor < 2 ? "collectives of context parallelism"
                                              : "collectives of tensor and context parallelism")
                       : plan.tensor < 2 ? "ring of context parallelism"
                                         : "collectives of tensor, ring of context parallelism";
    TimeTerm rest{name, priced_.forward, priced_.backward, priced_.recompute};
    for (const TimeTerm& term : terms_) {
      rest.forward -= term.forward;
      rest.backward -= term.backward;
      rest.recompute -= term.recompute;
    }
    for (Duration* part : {&rest.forward, &rest.backward, &rest.recompute}) {
      *part = std::max(*part, Duration{});
    }
    terms_.push_back(rest);
  }

  const ModelProfile& profile_;
  const PlanFile& file_;
  int rank_;
  std::vector<TimeTerm> terms_;
  TimeTerm priced_, sharded_{"gathers, reductions and copies of sharded weights", {}, {}, {}};
  TimeTerm experts_{"dispatch of tokens to experts and back", {}, {}, {}};
};

}  // namespace

WorkTerms work_terms(const ModelProfile& profile, const PlanFile& file, int rank) {
  return RankTerms(profile, file, rank).run();
}

}  // namespace penstock
