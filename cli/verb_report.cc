#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/changes.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/report_timelines.h"
#include "cli/verbs.h"
#include "core/json_reader.h"
#include "report/page/report_data.h"
#include "report/page/report_page.h"
#include "search/evaluate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock report plan.json -o report.html
  penstock report plan.json --json
)";

struct ReportOptions {
  std::string path;
  std::optional<std::string> output;
  bool json = false;
};

struct Report {
  ReportData data;
  std::vector<PagePayload> payloads;
};

Report report_of_plan(const Loaded<PlanFile>& plan) {
  const PlanFile& file = plan.value;
  const Replayed replayed = replay_plan_file(file);
  Report report;
  ReportData& data = report.data;
  data.model = file.model;
  data.inputs = {{"plan", plan.file}, {"profile", file.profile}, {"cluster", file.cluster_file}};
  data.apply_command = fmt::format("penstock export {} --to TRAINER -o job", plan.file.path);
  data.plans.push_back({.title = "1",
                        .role = "best",
                        .plan = file.plan,
                        .evaluation = replayed.evaluation,
                        .reason = "the plan of " + plan.file.path,
                        .command = "",
                        .placed = ""});
  data.changes = gains_of_changes(file, replayed.evaluation);
  data.not_searched = file.not_searched;
  ReportTimelines timelines;
  timelines.add_predicted("Plan 1, predicted", 0, file, replayed.timeline);
  data.timelines = std::move(timelines.about);
  report.payloads = std::move(timelines.payloads);
  return report;
}

std::string written_text(const std::string& path, std::size_t bytes) {
  return fmt::format("{} is written ({}); open it in a browser, no network is needed\n", path,
                     to_text(Bytes{static_cast<std::int64_t>(bytes)}));
}

}  // namespace

Answer run_report(const Arguments& arguments) {
  ReportOptions given;
  Options options(
      "report PLAN -o FILE [OPTIONS]",
      "Writes one HTML file that shows a plan and needs nothing else, not even a network: the "
      "verdict, the step as a timeline, memory over time, where the time goes.",
      kExamples);
  options.heading("Options");
  options.positional("PLAN", "a plan file, as written by penstock plan -o", given.path);
  options.option("-o,--output", "FILE", "where to write the page (- for stdout)", given.output);
  options.flag("--json", "the data of the page as one JSON object, instead of the page",
               given.json);
  if (auto help = options.parse(arguments)) return {*help};

  if (!given.json) required(given.output, "--output", "-o report.html");
  Report report = report_of_plan(load_plan(given.path));
  report.data.tool = fmt::format("penstock {}", version());
  report.data.command = "penstock report " + fmt::format("{}", fmt::join(arguments, " "));
  const Json data = to_json(report.data);
  if (given.json) return {to_text(data) + '\n'};
  const std::string page = report_page(report.data.model, data, report.payloads);
  if (*given.output == "-") return {page};
  write_file(*given.output, page);
  return {written_text(*given.output, page.size())};
}

}  // namespace penstock
