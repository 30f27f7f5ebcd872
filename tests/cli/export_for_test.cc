// One rule for `plan --for` and `export`: what the search returns for a trainer can be handed to
// it.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/options/question.h"
#include "cli/options/search_options.h"
#include "search/best_plans.h"
#include "search/evaluate.h"
#include "studies/nearest_plan.h"
#include "tests/watched.h"
#include "trainers/trainer_table.h"

using namespace penstock;

namespace {

struct Case {
  const char* trainer;
  const char* target;
  const char* version;
};
constexpr Case kCases[] = {
    {"pytorch", "pytorch", "2.6"},           {"torchtitan", "torchtitan", "0.2"},
    {"torchtitan@0.1", "torchtitan", "0.1"}, {"torchtitan@head", "torchtitan", "head"},
    {"megatron", "megatron", "0.20"},        {"megatron", "megatron-bridge", "0.6"},
    {"deepspeed", "deepspeed", "0.19"},
};

// Small models, and one whose norm is a section of its own.
SearchOptions asked(const std::string& model, int gpus, int batch, const char* trainer) {
  SearchOptions options;
  options.profile = model;
  options.gpus = std::to_string(gpus);
  options.global_batch = std::to_string(batch);
  options.threads = "1";
  options.trainer = trainer;
  if (model.find("/models/") != std::string::npos) {
    options.device = "h100-sxm";
  } else {
    options.cluster = "data/clusters/a100-40gb-p4d-8x8.json";
  }
  return options;
}

// How many of the plans that a search for the trainer returns; every one of them must be exported.
int exported_plans(const Question& question, const Case& one) {
  SearchProgress progress;
  const PlanInputs inputs = question.inputs();
  const SearchResult result = best_plans(inputs, question.request, progress);
  std::vector<RankedPlan> plans = result.best;
  plans.insert(plans.end(), result.pareto.begin(), result.pareto.end());
  for (const RankedPlan& ranked : plans) {
    const PlanFile file = to_plan_file(inputs, evaluate(inputs, ranked.plan));
    ExportRequest request;
    request.version = one.version;
    const Export answer = exported(file, *find_trainer_row(one.target), request);
    CHECK_MESSAGE(answer.why_not == "", one.trainer << ": " << question.profile.file.path);
    CHECK_FALSE(answer.files.empty());
  }
  return static_cast<int>(plans.size());
}

}  // namespace

TEST_CASE("every plan that is searched for a trainer can be exported to it") {
  std::vector<std::string> models{"data/models/gpt2.json", "data/models/opt-350m.json",
                                  "data/profiles/gpt-6.7b.a100-40gb.json"};
  // What is watched is how plans become files; searches are in their own tests.
  if (testing::kWatched) models.resize(1);
  int plans = 0;
  for (const Case& one : kCases) {
    for (const std::string& model : models) {
      SearchOptions options = asked(model, 8, testing::kWatched ? 8 : 24, one.trainer);
      if (!testing::kWatched) plans += exported_plans(question_of(options), one);
      options.pins = {"P=4"};  // where cuts and recompute matter
      if (testing::kWatched) options.pins.push_back("TP=1,mbs=1");
      plans += exported_plans(question_of(options), one);
    }
  }
  const int expected = testing::kWatched ? 20 : 50 * static_cast<int>(models.size());
  CHECK(plans > expected);
}
