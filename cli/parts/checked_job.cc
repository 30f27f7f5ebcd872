// Whoever speaks for the job (its launcher, else rank 0) says what is wrong or worth knowing, so
// that it is said once. Of documents, the plan of the first step is made as well: what does not
// fit, or a store that is not there, is known before ranks are started.
#include "cli/parts/checked_job.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/io/documents_job.h"
#include "cli/io/resume_run.h"
#include "cli/parts/open_plan_store.h"
#include "core/values/error.h"
#include "report/words.h"
#include "runtime_bridge/checkpoint_reader.h"
#include "runtime_bridge/plan_message.h"
#include "runtime_bridge/training_data.h"

namespace penstock {
namespace {

void say_nothing(const std::string& /*what*/) {}

// All whole batches, where nothing was said.
void settle_evaluation(TrainJob& job, int global_batch) {
  EvaluationOptions& evaluation = job.options.evaluation;
  if (evaluation.every == 0) return;
  const std::int64_t samples = job.data.validation_samples, there = samples / global_batch;
  if (there == 0 || evaluation.batches > there) {
    throw_bad_input(fmt::format(
        "--eval-batches: an evaluation of {} takes {} samples, but the validation data hold {}\n"
        "help: {}",
        evaluation.batches > 1 ? fmt::format("{} batches", evaluation.batches) : "one batch",
        std::max<std::int64_t>(evaluation.batches, 1) * global_batch, samples,
        there > 0 ? fmt::format("the data hold {} whole batches", there)
                  : "give more validation data, or plan for a smaller --global-batch"));
  }
  if (evaluation.batches == 0) evaluation.batches = there;
}

// Who reads what of an archive, and why a start may take longer than it must.
std::string note_on_archive(const PlanFile& plan) {
  const ModelDescription& model = model_of(plan);
  if (model.family != ModelFamily::kTorchScript || model.cutpoints.empty()) return "";
  if (model.division && model.division->tokens == plan.plan.sequence_length) {
    return "each rank reads only its own sections of " + model.archive +
           "; penstock profile has checked that together they compute what the whole model does";
  }
  return fmt::format(
      "rank 0 reads all of {} and checks that its sections together compute what the whole model "
      "does, because the profile was not checked for {} tokens; profile it with --sequence-length "
      "{} to start faster",
      model.archive, plan.plan.sequence_length, plan.plan.sequence_length);
}

PlannedStep plan_of_step(const DocumentPlans& plans, const TrainJob& job, std::int64_t step) {
  try {
    return plans.plan(job.data.documents->lengths_of_step(step));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the plan of step {}: {}", step, error.what()));
  }
}

// Documents may be as long as they have a price.
void settle_longest(const DocumentPlans& plans, const DocumentPlanning& asked, DataOptions& data) {
  data.longest = plans.longest();
  if (!asked.longest) return;
  if (*asked.longest > data.longest) {
    throw_bad_input(
        fmt::format("--max-length: {} is longer than what was measured: {}\nhelp: shorten it, or "
                    "measure longer sequences (penstock profile --sequence-length ... --resume)",
                    *asked.longest, data.longest));
  }
  data.longest = *asked.longest;
}

}  // namespace

std::shared_ptr<StoredPlans> stored_plans(const TrainRequest& request, const TrainJob& job,
                                          const DocumentPlans& plans, bool announces) {
  const DocumentOptions& documents = request.settings.documents();
  if (!documents.store().is_given()) return nullptr;
  const DocumentPlanning how = documents.planning();
  StoredPlansOptions options;
  options.name = documents.store().job();
  options.announces = announces;
  options.wait = documents.plan_wait(request.options.time_out);
  PlanJob& says = options.job = files_of_job(request.plan.value, plans, job.data);
  says.run = fmt::format("{}, start {}", process_words(), steady_now().time_since_epoch().count());
  says.tokens_per_batch = job.options.data.tokens_per_batch;
  says.seed = job.options.training.seed;
  says.longest = job.options.data.longest;
  says.pad_to = how.pad_to;
  says.replays = how.replays;
  says.schedules = how.schedules;
  says.first_step = says.wanted = job.first_step;
  says.first_taken = job.first_taken;
  says.end_step = job.options.steps;
  says.ahead = how.ahead;
  return std::make_shared<StoredPlans>(
      open_plan_store(documents.store().address(request.environment)), std::move(options),
      layout_text(request.plan.value), [batches = job.data.documents](std::int64_t step) {
        return fingerprint_of_documents(batches->of_step(step), batches->lengths_of_step(step));
      });
}

TrainJob checked_job(const TrainRequest& request, const DocumentPlans* plans) {
  TrainJob job;
  job.plans = request.plans;
  job.options = request.options;
  if (plans != nullptr) {
    settle_longest(*plans, request.settings.documents().planning(), job.options.data);
  }
  if (!request.has_launcher) check_training(job);
  const PlanFile& plan = *job.plans.front().plan;
  request.settings.require_optimizer(model_of(plan).optimizer);
  job.data = read_training_data(job.options.data, model_of(plan), plan.plan.sequence_length);
  const bool speaks = !request.has_launcher && (!request.place || request.place->rank == 0);
  if (speaks) check_token_ids(job.data);
  const auto note = speaks ? say_note : say_nothing;
  if (const std::string what = note_on_archive(plan); !what.empty()) note(what);
  if (is_to_begin(job.options)) {
    note("no checkpoint in " + job.options.checkpoint_folder + " yet: the run begins at step 0");
    job.options.training = request.settings.training({});
  } else if (job.options.resume) {
    resume(job, request.settings, note);
  }
  settle_evaluation(job, plan.plan.global_batch);
  job.data.begin({job.first_step, job.first_taken, plan.plan.global_batch},
                 job.options.training.seed);
  if (plans == nullptr) return job;
  if (job.data.document_set->cut() > 0) {
    note(fmt::format("{} of {} are longer than {} tokens and were cut",
                     with_commas(job.data.document_set->cut()),
                     count_of(job.data.document_set->documents(), "document"),
                     with_commas(job.options.data.longest)));
  }
  // What does not fit is said before ranks are started, and that a store is not there.
  if (speaks) {
    static_cast<void>(plan_of_step(*plans, job, job.first_step));
    if (const auto stored = stored_plans(request, job, *plans, false)) stored->require_store();
  }
  return job;
}

std::unique_ptr<DocumentPlans> plans_of(const TrainRequest& request) {
  if (request.options.data.documents.empty()) return nullptr;
  return document_plans(request.plan, request.settings.documents().planning());
}

std::shared_ptr<PlansAhead> plans_ahead(const TrainRequest& request, const TrainJob& job,
                                        const DocumentPlans& plans,
                                        const std::shared_ptr<StoredPlans>& stored) {
  const DocumentPlanning how = request.settings.documents().planning();
  PlansAheadOptions options{job.first_step, job.options.steps, how.threads, how.ahead};
  if (stored == nullptr) {
    return std::make_shared<PlansAhead>(
        [&](std::int64_t step) { return plan_of_step(plans, job, step); }, options);
  }
  options.stop = [stored] { stored->stop(); };
  if (!request.settings.documents().plans_if_late()) {
    return std::make_shared<PlansAhead>([stored](std::int64_t step) { return stored->plan(step); },
                                        options);
  }
  return std::make_shared<PlansAhead>(
      [&, stored](std::int64_t step) {
        std::string why;
        if (auto planned = stored->plan_if_there(step, why)) return *std::move(planned);
        say_note(fmt::format("the plan of step {} is late, so it is made here: {}", step,
                             why.substr(0, why.find('\n'))));
        return plan_of_step(plans, job, step);
      },
      options);
}

}  // namespace penstock
