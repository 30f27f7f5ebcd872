// `penstock dynamic`: training on samples of different lengths, before it begins. Reads the
// lengths, lets the study search layouts and compare ways to form micro-batches, and writes the
// answer in one of its forms: twenty lines, JSON, a page, the statistics of every batch, the plan
// file of the first.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <time.h>  // clock_gettime()

#include "cli/answers/verbs/asked_of_search.h"
#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/progress.h"
#include "cli/io/report_command.h"
#include "cli/io/text_file.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/options/search_options.h"
#include "cli/parts/lengths_for_model.h"
#include "cli/reports/report_timelines.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_called.h"
#include "core/files/plan_format.h"
#include "core/files/read_sample_lengths.h"
#include "core/values/json_reader.h"
#include "report/page/report_page.h"
#include "report/page/study_pages.h"
#include "report/result_json.h"
#include "report/words.h"
#include "search/dynamic/replica_replays.h"
#include "search/evaluate.h"
#include "studies/dynamic_study.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock dynamic config.json --device h100-sxm --gpus 64 --lengths lengths.csv
  penstock dynamic profile.json --cluster cluster.json --gpus 32 --lengths lengths.jsonl -o report.html
  penstock dynamic profile.json --cluster cluster.json --lengths lengths.csv --max-length 2048 \
      --tokens-per-batch 131072 --pin TP=2
  penstock dynamic profile.json --cluster cluster.json --lengths lengths.csv --plan plan.json
)";
constexpr const char* kLengths = "--lengths";
constexpr const char* kHowToLengths =
    "the lengths of samples in tokens, one a line (data/lengths has some, docs/dynamic_batches.md)";
constexpr int kMostBatches = 10'000;

struct DynamicOptions {
  SearchOptions search;
  std::optional<std::string> lengths, tokens, batches, max_length, seed, replays, output, plan,
      statistics;
  bool packs = false, repeatable = false, json = false;

  void declare(Options& options) {
    search.declare_inputs(options);
    options.option(
        kLengths, "FILE",
        "how long the samples are, one a line: an integer, \"encoder,decoder\", a CSV "
        "with a column tokens, or JSON with a field tokens (docs/dynamic_batches.md says "
        "how to get them out of a Hugging Face data set; data/lengths has some)",
        lengths);
    options.option("--tokens-per-batch", "N",
                   "tokens of a step over all GPUs, padding not counted (default 65536)", tokens);
    options.option("--max-length", "S",
                   "cut longer samples to this; default: the longest that was measured, of an "
                   "estimate as many as the model has positions",
                   max_length);
    options.flag("--pack",
                 "let several samples share a row where that is faster; the trainer must mask them "
                 "from each other",
                 packs);
    search.declare_layouts(options);
    options.option("--batches", "N", "batches to draw and plan (default 20)", batches);
    options.option("--replays", "N",
                   "replays that each search for an order of micro-batches may take (default 500)",
                   replays);
    options.option("--seed", "N", "seed of the order in which samples are drawn (default 1)", seed);
    options.heading("What to print");
    options.option("-o,--output", "FILE",
                   "write one HTML page (report.html): lengths, micro-batches and the timeline of "
                   "the first batch, step times; \"-\" prints it",
                   output);
    options.option("--plan", "FILE", "write the first batch as a plan file", plan);
    options.option("--statistics", "FILE", "write every batch as JSON, micro-batch by micro-batch",
                   statistics);
    options.flag("--repeatable",
                 "leave out how long planning took, so that the same question gets the same bytes",
                 repeatable);
    options.flag("--json", "the result as one JSON object", json);
  }
};

std::string question_text(const Question& question, const DynamicRequest& request) {
  std::string text =
      fmt::format("{} on {}: {}, {} tokens a step, {} {}, executor {}", question.profile.value.name,
                  question.cluster.value.name, count_of(question.request.gpus, "GPU"),
                  with_commas(request.drawn.tokens), request.drawn.count,
                  request.drawn.count == 1 ? "batch" : "batches", question.executor.name);
  if (question.estimated) text += "; estimated for " + question.estimated->device.name;
  return text;
}

// Of the processor, by this thread: other work on the machine does not count.
Duration now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

DynamicRequest request_of(const DynamicOptions& given, const Samples& samples,
                          std::int64_t tokens) {
  DynamicRequest request;
  request.samples = samples.batch;
  request.rounding = samples.rounding;
  request.drawn.tokens = tokens;
  request.drawn.count = parse_count("--batches", given.batches, 1, 20, kMostBatches);
  request.drawn.seed = static_cast<std::uint64_t>(parse_count("--seed", given.seed, 0, 1));
  request.packs = given.packs;
  request.replays = parse_count("--replays", given.replays, 0, 500);
  if (!given.repeatable) request.now = now;
  return request;
}

// As elsewhere, and those that only batches are planned with.
std::string batch_schedule_called(const std::string& typed) {
  const std::vector<std::string> names = batch_schedule_names();
  const auto is_known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (is_known(typed)) return typed;
  std::string name = schedule_called("--schedule", typed);
  if (!is_known(name)) {
    bad_option("--schedule",
               fmt::format("micro-batches of different shapes are not planned with {}", name),
               fmt::format("choose among {}", joined(names, ", ")));
  }
  return name;
}

Question question_for(const DynamicOptions& given) {
  SearchOptions options = given.search;
  options.schedules.clear();
  options.global_batch = "1";  // batches are drawn; the question only needs one
  options.takes_pairs = true;
  Question question = question_of(options);
  for (const std::string& list : given.search.schedules) {
    for (const std::string& name : parse_list("--schedule", list)) {
      question.request.pins.schedules.push_back(batch_schedule_called(name));
    }
  }
  if (question.request.pins.micro_batch_size) {
    bad_option("--pin", "mbs is what this verb chooses, micro-batch by micro-batch",
               "leave it out");
  }
  if (question.request.pins.recompute_as_needed) {
    bad_option("--recompute", "as-needed is not searched here", "give the mode alone");
  }
  return question;
}

PlanFile plan_file_of(const Question& question, const DynamicStudy& study) {
  PlanFile file = to_plan_file(question.inputs(), *study.first);
  note_question(question, file);
  file.not_searched = study.report.not_searched;
  return file;
}

std::string page_of(const Question& question, const DynamicStudy& study,
                    const DynamicOptions& given, const Arguments& arguments) {
  ReportData data;
  data.tool = fmt::format("penstock {}", version());
  data.command = command_of("dynamic", arguments);
  data.model = question.profile.value.name;
  data.inputs = {{"profile", question.profile.file},
                 {"cluster", question.cluster.file},
                 {"lengths", {*given.lengths, content_hash(read_file(*given.lengths))}}};
  data.question = study.report.question;
  data.gpus = question.request.gpus;
  data.notes = notes_of(question);
  data.not_searched = study.report.not_searched;
  ReportTimelines timelines;
  if (study.first) {
    const PlanFile file = plan_file_of(question, study);
    data.plans.push_back({.title = "batch 1",
                          .role = "best",
                          .plan = file.plan,
                          .evaluation = file.prediction,
                          .reason = "the first batch that was drawn",
                          .command = "",
                          .placed = ""});
    timelines.add_predicted("Batch 1, predicted", 0, file, study.first->timeline);
    data.timelines = std::move(timelines.about);
    data.notes.insert(data.notes.end(), timelines.notes.begin(), timelines.notes.end());
  }
  return report_page(data.model, dynamic_page_json(data, study.report), timelines.payloads);
}

void write_files(const Question& question, const DynamicStudy& study, const DynamicOptions& given) {
  if (given.plan && study.first) {
    write_output(*given.plan, to_text(write_plan(plan_file_of(question, study))) + '\n');
  }
  if (given.statistics) {
    Json json = answer_json("dynamic");
    set_inputs(json, question);
    json.set("statistics", dynamic_statistics(study.report));
    write_output(*given.statistics, to_text(json) + '\n');
  }
}

}  // namespace

Answer run_dynamic(const Arguments& arguments, Screen screen) {
  DynamicOptions given;
  Options options(
      "dynamic MODEL --lengths FILE --device NAME --gpus N [OPTIONS]",
      "Plans training on samples of different lengths: draws batches, forms for each of them "
      "micro-batches of different shapes from samples of similar lengths, orders and schedules "
      "them within memory, and searches the layout that is fastest for all. Compares that with "
      "token budgets, fixed sizes and packing, each with its own best layout. Exit code 1 when "
      "nothing fits.",
      kExamples);
  given.declare(options);
  options.remark({"gbs", "global-batch", "global-batch-size", "batch", "batch-size", "bs"},
                 "batches are counted in tokens here: --tokens-per-batch N, over all GPUs");
  options.remark({"dataset", "data", "documents", "corpus", "text", "samples", "lengths-file"},
                 std::string("write --lengths FILE: ") + kHowToLengths);
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  if (!given.lengths) {
    bad_option(kLengths, "missing",
               fmt::format("add it, for example {}{}", given.search.command.whole(),
                           remark_on_lengths(kLengthsFile)));
  }
  const std::string& path = *given.lengths;
  if (path.find_first_not_of("0123456789,") == std::string::npos) {
    bad_option(kLengths, fmt::format("'{}' is a list, and a file belongs here", path),
               "write the length of one sample a line into a file; data/lengths has some");
  }
  if (given.output) require_page_name(*given.output);
  for (const auto& file : {given.plan, given.statistics}) {
    if (file && *file != "-") require_folder_of(*file);
  }
  const int tokens = parse_count("--tokens-per-batch", given.tokens, 1, 65536, 1 << 30);
  Question question = question_for(given);
  const SampleLengths read = read_sample_lengths(load_text(path, kHowToLengths), path);
  Samples samples = samples_for(read, question.profile.value);
  refuse_short(samples, path);
  fit_lengths(samples, question, given.max_length, tokens);
  refuse_large_batches(samples, tokens);
  const DynamicRequest request = request_of(given, samples, tokens);
  WatchedSearch watched(question.budget);
  DynamicStudy study = study_dynamic(question, request, watched);
  study.report.question = question_text(question, request);
  study.report.lengths = lengths_text(samples, path);
  study.report.histogram = histogram_of(samples.batch);
  write_files(question, study, given);
  const bool fits = study.report.dynamic().why_not.empty();
  const int exit = !fits ? kNo : study.report.complete ? kYes : kStopped;
  if (given.output) {
    const std::string html = page_of(question, study, given, arguments);
    if (*given.output == "-") return {html, exit};
    write_output(*given.output, html);
  }
  if (!given.json) return report_answer(dynamic_text(study.report, screen), exit);
  Json json = answer_json("dynamic");
  set_inputs(json, question);
  return json_answer(json.set("result", dynamic_json(study.report)), exit);
}

}  // namespace penstock
