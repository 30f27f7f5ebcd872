#include "runtime_bridge/program_source.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "core/values/error.h"
#include "core/values/json.h"
#include "core/values/model_description.h"

namespace penstock {

namespace {

[[noreturn]] void refuse(const PlanFromStep& plan, const std::string& what,
                         const std::string& help) {
  throw_bad_input(plan.path + ": " + what + "\nhelp: " + help);
}

std::string sections_of(const PlanFromStep& plan) {
  return std::to_string(plan.plan->section_names.size()) + " sections";
}
std::string words_of(const PlanFromStep& plan) {
  return plan.plan->description ? to_text(write_description(*plan.plan->description), 1 << 20)
                                : "not described";
}

void require_same_number(const PlanSequence& plans, const std::string& place,
                         const std::string& help, const std::function<int(const Plan&)>& number) {
  const int first = number(plans.front().plan->plan);
  for (const PlanFromStep& other : plans) {
    const int here = number(other.plan->plan);
    if (here == first) continue;
    refuse(other,
           place + " is " + std::to_string(here) + "; in " + plans.front().path + " it is " +
               std::to_string(first),
           help + std::to_string(first));
  }
}

}  // namespace

const PlanFromStep& plan_at(const PlanSequence& plans, std::int64_t step) {
  return *std::prev(std::ranges::upper_bound(plans, step, {}, &PlanFromStep::first_step));
}

void require_one_run(const PlanSequence& plans) {
  const PlanFromStep& first = plans.front();
  for (const PlanFromStep& other : plans) {
    const std::string help = "make all plans of a run from one profile";
    if (other.plan->model != first.plan->model ||
        other.plan->section_names != first.plan->section_names) {
      refuse(other,
             "/model: the plan is of '" + other.plan->model + "' with " + sections_of(other) +
                 ", and not of '" + first.plan->model + "' with " + sections_of(first) + " as " +
                 first.path,
             help);
    }
    if (is_same_model(other.plan->description, first.plan->description)) continue;
    refuse(other,
           "/description: the model is " + words_of(other) + "; in " + first.path + " it is " +
               words_of(first),
           help);
  }
  require_same_number(plans, "/plan: the number of ranks, P times D,",
                      "a run keeps its ranks; plan for --gpus ",
                      [](const Plan& plan) { return plan.devices(); });
  require_same_number(plans, "/plan/global_batch", "plan with --global-batch ",
                      [](const Plan& plan) { return plan.global_batch; });
  require_same_number(plans, "/plan/sequence_length", "plan for a sequence length of ",
                      [](const Plan& plan) { return plan.sequence_length; });
}

PlansByStep::PlansByStep(PlanSequence plans) : plans_(std::move(plans)) {
  const auto out_of_order = [](const PlanFromStep& a, const PlanFromStep& b) {
    return a.first_step >= b.first_step;
  };
  if (plans_.empty() || plans_.front().first_step != 0 ||
      std::ranges::adjacent_find(plans_, out_of_order) != plans_.end()) {
    throw Error(ErrorKind::kInternal, "plans that do not follow each other from step 0 on");
  }
}

PlanForSteps PlansByStep::plan_from(std::int64_t step) {
  const PlanFromStep& current = plan_at(plans_, step);
  const auto next = plans_.begin() + (&current - plans_.data()) + 1;
  return {current.plan, next == plans_.end() ? kNeverEnds : next->first_step};
}

OnePlan::OnePlan(std::shared_ptr<const PlanFile> plan) : plan_(std::move(plan)) {}

PlanForSteps OnePlan::plan_from(std::int64_t /*step*/) { return {plan_, kNeverEnds}; }

}  // namespace penstock
