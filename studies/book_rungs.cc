#include "studies/book_rungs.h"

#include <set>
#include <utility>

#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr std::int64_t kCheckpointBytesPerParameter = 12;

// Of the whole model: what one rank of a tensor-parallel group holds, times the ranks of the group.
std::int64_t whole(const std::vector<ParameterCount>& parameters) {
  return parameters.front().count * parameters.front().tensor_degree;
}

}  // namespace

std::vector<Rung> rungs_of(const PlanBook& book) {
  std::vector<Rung> rungs;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    rungs.push_back({page.plan->devices(), page.step_time, gpus_of_types(*page.plan, book.types)});
  }
  return useful_rungs(std::move(rungs));
}

std::vector<Rung> data_only_rungs(const PlanBook& book, const Plan& plan, int gpus) {
  const PlanInputs inputs{&book.profile, &book.cluster, book.executor, book.reserve};
  const int devices_per_replica = plan.devices() / plan.data;
  std::vector<Rung> rungs;
  for (int data = 1; data * devices_per_replica <= gpus && data <= book.global_batch; ++data) {
    Plan other = plan;
    other.data = data;
    other.zero1 = plan.zero1 && data > 1;
    if (!other.zero1) other.sharding = Sharding::kState;
    const EvaluatedPlan evaluated = evaluate(inputs, other);
    if (!evaluated.why_not) {
      rungs.push_back({other.devices(), evaluated.evaluation.step_time});
    }
  }
  return useful_rungs(std::move(rungs));
}

std::vector<std::string> device_types_of(const PlanBook& book) {
  std::set<std::string> types;
  for (const BookPage& page : book.pages) {
    if (!page.plan) continue;
    types.insert(page.plan->device);
    types.insert(page.plan->rank_devices.begin(), page.plan->rank_devices.end());
  }
  return {types.begin(), types.end()};
}

Bytes checkpoint_bytes(const ModelProfile& profile) {
  std::int64_t parameters = 0;
  for (const Section& section : profile.sections) {
    parameters += whole(profile.section_types[static_cast<std::size_t>(section.type)].parameters);
  }
  for (const TiedWeights& tie : profile.tied_weights) {
    parameters -= static_cast<std::int64_t>(tie.sections.size() - 1) * whole(tie.parameters);
  }
  return Bytes{kCheckpointBytesPerParameter * parameters};
}

}  // namespace penstock
