// The verbs of the planner in a program that was built without it.
#include <algorithm>
#include <string>

#include "cli/io/files.h"
#include "cli/options/assumed_machine.h"
#include "cli/parts/book_plan.h"
#include "cli/parts/document_plans.h"
#include "cli/parts/jobs_run.h"
#include "cli/parts/model_cutpoints.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/predict_launch.h"
#include "cli/reports/step_of_csv.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_facts.h"
#include "core/values/error.h"
#include "search/check_rolled_up.h"

namespace penstock {
namespace {

constexpr const char* kNoPrediction = "this penstock was built without the planner";

Answer not_built(const std::string& verb) {
  throw Error(ErrorKind::kMissingResource,
              "this penstock was built without the planner, so that it has no '" + verb +
                  "'\nhelp: plan on another machine, or reconfigure with -DPENSTOCK_PLANNER=ON");
}

}  // namespace

DeviceFacts device_facts(const std::string& name) { return {name}; }

std::string device_among(const std::vector<std::string>& known, const std::string& name) {
  return std::find(known.begin(), known.end(), name) == known.end() ? "" : name;
}

std::string gpu_of_machine(const std::string&) { return ""; }

Answer run_plan(const Arguments&, Screen) { return not_built("plan"); }
Answer run_predict(const Arguments&, Screen) { return not_built("predict"); }
Answer run_simulate(const Arguments&, Screen) { return not_built("simulate"); }
Answer run_schedule(const Arguments&, Screen) { return not_built("schedule"); }
Answer run_dynamic(const Arguments&, Screen) { return not_built("dynamic"); }
Answer run_morph(const Arguments&, Screen) { return not_built("morph"); }
Answer run_multi(const Arguments&, Screen) { return not_built("multi"); }
Answer run_compare(const Arguments&, Screen) { return not_built("compare"); }
Answer run_explain(const Arguments&, Screen) { return not_built("explain"); }
Answer run_report(const Arguments&, Screen) { return not_built("report"); }
Answer run_export(const Arguments&, Screen) { return not_built("export"); }
Answer run_calibrate(const Arguments&, Screen) { return not_built("calibrate"); }
Answer run_devices(const Arguments&, Screen) { return not_built("devices"); }
Answer run_estimate(const Arguments&, Screen) { return not_built("estimate"); }
Answer run_fingerprint(const Arguments&, Screen) { return not_built("fingerprint"); }

ClusterSpec assumed_machine(const std::string&, const std::optional<std::string>&,
                            const NodesAsked&) {
  throw Error(ErrorKind::kMissingResource,
              "--device: what a datasheet assumes is a part of the planner, without which this "
              "penstock was built\nhelp: give --cluster FILE, or reconfigure with "
              "-DPENSTOCK_PLANNER=ON");
}

Loaded<PlanFile> plan_from_book(const std::string& path, int /*ranks*/,
                                const RanksOfTypes& /*of_types*/) {
  throw Error(ErrorKind::kMissingResource,
              path +
                  ": a page of a book is worked out by the planner, without which this penstock "
                  "was built\nhelp: train by a plan file, or reconfigure with "
                  "-DPENSTOCK_PLANNER=ON");
}

std::unique_ptr<DocumentPlans> document_plans(const Loaded<PlanFile>& /*layout*/,
                                              const DocumentPlanning& /*how*/) {
  throw Error(ErrorKind::kMissingResource,
              "--documents: every step is worked out by the planner, without which this penstock "
              "was built\nhelp: train with --data, or reconfigure with -DPENSTOCK_PLANNER=ON");
}

Answer run_jobs_of_file(const JobsToRun& wanted, Screen) {
  throw Error(
      ErrorKind::kMissingResource,
      wanted.file +
          ": jobs are scheduled by the planner, without which this penstock was built\nhelp: "
          "train them one by one, or reconfigure with -DPENSTOCK_PLANNER=ON");
}

// Lists stay rolled up only where generators can tell that they are a schedule's.
PlanFile read_plan_to_draw(const Json& json, const std::string& path) {
  return read_plan(json, path);
}
// A plan is written out as it is read, so that no limit spares anything.
Loaded<PlanFile> load_plan_written_out(const std::string& path, const std::string& /*what*/,
                                       std::int64_t /*most_actions*/,
                                       const std::string& /*remedy*/) {
  return load_plan(path);
}
SyntheticStep step_of_csv(const std::string&, const std::vector<std::string>&) {
  static_cast<void>(not_built("trace FILE.csv"));
  return {};
}
std::optional<CheckReport> check_rolled_up(const PlanFile&) { return {}; }

std::optional<int> layers_of(const LaunchModel& model) {
  if (!model.path()) return {};
  throw Error(ErrorKind::kMissingResource,
              std::string(kNoPrediction) +
                  ", so that it reads no model\nhelp: leave --config and --profile out, or "
                  "reconfigure with -DPENSTOCK_PLANNER=ON");
}

void predict_launch(const LaunchModel&, LintReport& report) {
  report.not_judged.push_back({"E030", kNoPrediction});
  report.not_judged.push_back({"W052", kNoPrediction});
}

std::vector<std::string> search_cutpoints(const ArchiveGraph&) {
  throw Error(
      ErrorKind::kMissingResource,
      "this penstock was built without the planner and its Boost.Graph, so that it does not "
      "search an archive for cutpoints\nhelp: give --cutpoints children, or name them; or "
      "reconfigure with -DPENSTOCK_PLANNER=ON");
}

}  // namespace penstock
