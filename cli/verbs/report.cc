// `penstock report`: a plan file is replayed, anything else is a question that is searched. Options
// of the other kind are refused, not passed over. The page is one string that is written at the
// end, or its data alone as JSON.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/io/report_command.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/options/search_options.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/report_of_plan.h"
#include "cli/reports/report_of_search.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/files/plan_format.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock report plan.json -o report.html
  penstock report plan.json other_plan.json --run run.jsonl -o report.html
  penstock report profile.json --cluster cluster.json --gpus 64 --global-batch 512 -o report.html
  penstock report config.json --device h100-sxm --gpus 64 --global-batch 1024 -o report.html
)";

struct ReportOptions {
  SearchOptions search;  // `profile` may be a plan file
  std::optional<std::string> run, step, scaling, output;
  std::vector<std::string> baselines;
  bool any_plan = false, json = false;

  void declare(Options& options) {
    options.heading("What is shown beside plan 1");
    options.repeated("--baseline", "PLAN",
                     "another plan file, beside the first: report a.json b.json does the same; a "
                     "search prices it with its own inputs",
                     baselines);
    options.plans_follow("--baseline");
    options.option("--run", "RUN",
                   "with a plan file: a measured run of it, in a form that penstock validate "
                   "reads",
                   run);
    options.option("--step", "N", "which step of the run; default: the one with the median time",
                   step);
    options.flag("--any-plan", "show the run although it names another plan file", any_plan);
    options.option("--scaling", "N,...",
                   "the numbers of GPUs for which the best plan is computed: auto (all up to 64 "
                   "GPUs; of more, 64 numbers), off, or a list",
                   scaling);
    options.heading("Output");
    options.option("-o,--output", "FILE", "write the page (- for stdout)", output);
    options.flag("--json", "the data of the page as one JSON object, instead of the page", json);
  }

  // A plan file has answered the question of a search.
  void refuse_search() const {
    const std::vector<std::pair<std::string, bool>> asked{
        {"--cluster", search.cluster.has_value()},
        {"--precision", search.precision.has_value()},
        {"--attention", search.attention.has_value()},
        {"--gradients", search.gradients.has_value()},
        {"--kernels", search.kernels.has_value()},
        {"--loss", search.loss.has_value()},
        {"--optimizer-bytes", search.optimizer_bytes.has_value()},
        {"--fsdp-prefetch", search.fsdp_prefetch.has_value()},
        {"--gpus", search.gpus.has_value()},
        {"--global-batch", search.global_batch.has_value()},
        {"--sequence-length", search.sequence_length.has_value()},
        {"--recompute", search.recompute.has_value()},
        {"--zero1", search.zero1.has_value()},
        {"--sharding", search.sharding.has_value()},
        {"--device", search.device.has_value()},
        {"--placement", search.placement.has_value()},
        {"--for", search.trainer.has_value()},
        {"--memory-limit", search.memory_limit.has_value()},
        {"--reserve-gib", search.reserve_gib.has_value()},
        {"--top", search.top.has_value()},
        {"--threads", search.threads.has_value()},
        {"--budget", search.budget.has_value()},
        {"--pin", !search.pins.empty()},
        {"--schedule", !search.schedules.empty()},
        {"--executor", search.executor.given()},
        {"--every-candidate", search.every_candidate},
        {"--scaling", scaling.has_value()}};
    for (const auto& [option, is_given] : asked) {
      if (!is_given) continue;
      bad_option(option, search.profile + " is a plan file, so that nothing is searched",
                 "leave it out, or give the profile in place of the plan");
    }
    if (!run && (step || any_plan)) {
      bad_option(step ? "--step" : "--any-plan", "there is no run", "add --run RUN");
    }
  }

  void refuse_run() const {
    if (!run && !step && !any_plan) return;
    bad_option(run    ? "--run"
               : step ? "--step"
                      : "--any-plan",
               "a run belongs to the plan file that ran, and " + search.profile + " is none",
               "write the plan first: penstock plan ... -o plan.json");
  }
};

SearchedReport report_of(const ReportOptions& given, const Arguments& arguments) {
  const std::string& path = given.search.profile;
  const Loaded<Json> json = load_json(path);
  if (is_plan_format(format_of(json.value))) {
    given.refuse_search();
    return {report_of_plan(
        {{given.run ? read_plan(json.value, path) : read_plan_for_page(json.value, path),
          json.file},
         given.baselines,
         given.run,
         given.step,
         given.any_plan})};
  }
  given.refuse_run();
  if (path == "-") bad_option("MODEL", "only a plan can come from stdin", "name the file");
  return report_of_search({given.search, arguments, given.baselines, given.scaling});
}

std::string written_text(const std::string& path, std::size_t bytes) {
  return fmt::format("{} is written ({}); open it in a browser, no network is needed\n", path,
                     to_text(Bytes{static_cast<std::int64_t>(bytes)}));
}

}  // namespace

Answer run_report(const Arguments& arguments, Screen screen) {
  ReportOptions given;
  Options options(
      "report PLAN [PLAN...] -o FILE, or report MODEL --device NAME --gpus N --global-batch B -o "
      "FILE",
      "Writes one HTML file that shows a plan, or the answer of a search, and needs nothing else, "
      "not even a network: the answer, one step as a timeline with its memory, ranked plans with "
      "reasons and commands, where the time goes, what more GPUs would bring. Exit code 1 when "
      "nothing fits.",
      kExamples);
  given.search.declare(options);
  options.option("--top", "K", "how many plans of a search to show; default 10", given.search.top);
  given.declare(options);
  options.remark({"svg", "png", "picture", "image", "figure", "draw", "plot"},
                 "penstock trace plan.json -o step.svg (or .png) draws the step; a report is a "
                 "page");
  options.remark(
      {"format", "markdown", "md", "csv", "table", "latex"},
      "leave it out: -o report.html writes a page, --json prints its data; a picture of the "
      "step (SVG, PNG) is penstock trace plan.json -o step.svg, tables are those of "
      "penstock explain plan.json --format markdown (or csv)");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  if (!given.json) required(given.output, "-o", given.search.command);
  if (given.output) require_page_name(*given.output);
  auto [report, exit] = report_of(given, arguments);
  report.data.tool = fmt::format("penstock {}", version());
  report.data.command = command_of("report", arguments);
  const Json data = to_json(report.data);
  if (given.json) return json_answer(data, exit);
  const std::string page = report_page(report.data.model, data, report.payloads);
  if (*given.output == "-") return {page, exit};
  write_output(*given.output, page);
  return report_answer(written_text(*given.output, page.size()), exit);
}

}  // namespace penstock
