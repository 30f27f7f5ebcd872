#include "studies/sensitivity.h"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "estimator/default_cluster.h"
#include "estimator/estimate_profile.h"
#include "estimator/shipped_data.h"
#include "search/evaluate.h"
#include "studies/compute_sensitivity.h"
#include "studies/outcomes.h"
#include "tests/studies/measured_question.h"
#include "tests/studies/two_ranks.h"

using namespace penstock;
using namespace std::chrono_literals;

namespace {

const Sensitivity& row(const Sensitivities& all, const std::string& key) {
  for (const Sensitivity& one : all.all) {
    if (one.key == key) return one;
  }
  FAIL("no row " << key);
  return all.all.front();
}

// The best 1F1B plan on 16 devices, and the question that it answers.
struct Planned {
  PlanQuestion asked;
  PlanFile file;
};

Planned planned() {
  Planned planned;
  planned.asked.question = tests::measured_question(16, 64);
  Question& question = planned.asked.question;
  Pins& pins = question.request.pins;
  pins.pipeline = 4;
  pins.tensor = pins.data = 2;
  pins.micro_batch_size = 1;
  pins.schedules = {"1f1b"};
  SearchProgress progress;
  const SearchResult found = best_plans(question.inputs(), question.request, progress);
  REQUIRE_FALSE(found.best.empty());
  planned.file = to_plan_file(question.inputs(), evaluate(question.inputs(), found.best[0].plan));
  // What asks again for other memory may also take GPipe; all schedules would take minutes under
  // the sanitizers, and tell no more of the study.
  question.request.pins = {};
  question.request.pins.schedules = {"1f1b", "gpipe"};
  return planned;
}

Sensitivities answers(const Planned& planned) {
  SearchProgress progress;
  return sensitivities_of(planned.file, planned.file.prediction, planned.asked, {}, progress);
}

// GPT-2 on one H100, in micro-batches of eight samples; nothing of it was measured.
Question estimated_question() {
  const std::string file = "data/models/gpt2.json";
  const Architecture model = read_architecture(parse_json(read_file(file), file), file);
  const std::vector<DeviceSheet> sheets = shipped_devices();
  const auto sheet = std::find_if(sheets.begin(), sheets.end(),
                                  [](const DeviceSheet& one) { return one.is_called("h100-sxm"); });
  REQUIRE(sheet != sheets.end());
  EstimateRequest request;
  request.device = sheet->name;
  request.arithmetic = default_arithmetic(*sheet);
  request.sequence_length = default_sequence_length(model);
  Question question;
  question.profile.value = estimate_profile(model, *sheet, shipped_efficiency(), request).profile;
  question.cluster.value = default_cluster(*sheet, 1);
  question.request.gpus = 1;
  question.request.global_batch = 8;
  question.request.sequence_length = request.sequence_length;
  question.request.pins.device = request.device;
  question.request.pins.micro_batch_size = 8;
  return question;
}

}  // namespace

TEST_CASE("speed is samples per second: twice the samples in three halves of the time") {
  const Outcome outcome = outcome_of("x2", 10ms, 15ms, 2.0);
  CHECK(outcome.more_speed == doctest::Approx(1.0 / 3.0));
  CHECK_FALSE(outcome_of("x2", 10ms, 0ms).why_not.empty());
}

// 13 ms; stage 1 computes 3 + 6 ms of it, stage 0 1 + 2 ms.
TEST_CASE("a stage a tenth slower or faster moves the step by a tenth of its own") {
  const PlanFile file = tests::two_ranks();
  Sensitivities all;
  ask_stages(file, 13ms, all);
  REQUIRE(all.all.size() == 2);
  CHECK(all.all[0].key == "stage.1");  // the stronger one first
  CHECK(all.all[0].what == "stage 1 (second, rank 1)");
  CHECK(all.all[0].less->step_time == 13900us);
  CHECK(all.all[0].more->step_time == 12100us);
  CHECK(all.all[0].more->more_speed == doctest::Approx(13.0 / 12.1 - 1.0));
  CHECK(all.all[1].less->step_time == 13300us);
  CHECK(all.all[1].more->step_time == 12700us);
}

// Each way 0.5 ms.
TEST_CASE("without profile and cluster the plan's own prices answer what they can") {
  PlanFile file = tests::two_ranks();
  file.cluster.levels = {"inside", "between"};
  file.cluster.boundary_level = {1};
  SearchProgress progress;
  Evaluation now;
  now.step_time = 13ms;
  const PlanQuestion none{"p.json is not here", {}};
  const Sensitivities all = sensitivities_of(file, now, none, {}, progress);
  REQUIRE(all.all.size() == 3);
  CHECK(row(all, "transfers.between").less->step_time == 14ms);
  CHECK(row(all, "transfers.between").more->step_time == 12500us);
  REQUIRE(all.not_answered.size() == 1);
  CHECK(all.not_answered[0].ends_with(": p.json is not here"));
}

// The oracle changes the input by hand and works the whole plan out again.
TEST_CASE("links, batches and memory answer as the plan does when it is worked out again") {
  const Planned plan = planned();
  const Sensitivities all = answers(plan);
  CHECK(all.not_answered.empty());

  Question faster = plan.asked.question;
  LinkLevel& efa = faster.cluster.value.levels.at(1);
  REQUIRE(efa.name == "efa");
  REQUIRE(efa.curve.empty());
  efa.bandwidth.value *= 2.0;
  efa.shared_bandwidth.value *= 2.0;
  const Duration step = evaluate(faster.inputs(), plan.file.plan).evaluation.step_time;
  CHECK(step < plan.file.prediction.step_time);
  CHECK(row(all, "link.efa").more->step_time == step);

  Plan twice = plan.file.plan;
  twice.global_batch *= 2;
  const Duration longer = evaluate(plan.asked.question.inputs(), twice).evaluation.step_time;
  CHECK(row(all, "global-batch").more->step_time == longer);
  CHECK(row(all, "global-batch").more->change == "-> 128");
  // Longer, but not twice as long: the pipeline fills once for twice the work.
  CHECK(row(all, "global-batch").more->more_speed > 0.0);
  CHECK(row(all, "global-batch").less->more_speed < 0.0);
  CHECK_FALSE(row(all, "b").less);  // b = 1 has no half

  const Sensitivity& memory = row(all, "memory");
  CHECK(memory.more->step_time <= plan.file.prediction.step_time);
}

// What all sections of a type save together is what each of them saves, where one rank is all there
// is and nothing waits.
TEST_CASE("sections that are a tenth faster take a tenth of their time from the step") {
  const Question question = estimated_question();
  SearchProgress progress;
  const SearchResult found = best_plans(question.inputs(), question.request, progress);
  REQUIRE_FALSE(found.best.empty());
  const PlanFile file =
      to_plan_file(question.inputs(), evaluate(question.inputs(), found.best[0].plan));
  const Duration now = file.prediction.step_time;
  Sensitivities all;
  ask_sections(file, question, now, all);
  const Duration one = now - row(all, "section.layer.0").more->step_time;
  const Duration twelve = now - row(all, "sections.layer").more->step_time;
  CHECK(one > 0ns);
  CHECK(twelve == 12 * one);
}

TEST_CASE("a plan that no longer fits is replaced or refused, and more memory never hurts") {
  Planned plan = planned();
  // As if the ranks were full to the last byte.
  for (RankEvaluation& rank : plan.file.prediction.ranks) {
    rank.memory.stash += rank.capacity - rank.memory.total();
  }
  const Sensitivities all = answers(plan);
  const Sensitivity& memory = row(all, "memory");
  const bool answered =
      !memory.less->why_not.empty() || memory.less->plan.ends_with("; this plan no longer fits");
  CHECK(answered);
  CHECK(memory.more->more_speed >= 0.0);
}
