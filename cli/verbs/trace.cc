// `penstock trace`: prediction and run become the same StepTrace, which is then written for a
// viewer (Perfetto, Kineto's files for HTA) or drawn (SVG, PNG); two steps go side by side into one
// archive.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/typed_command.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/io/files.h"
#include "cli/io/load_run.h"
#include "cli/io/png.h"
#include "cli/io/write_output.h"
#include "cli/options/options.h"
#include "cli/options/picture_options.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/step_of_csv.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "core/values/json_reader.h"
#include "report/json_array.h"
#include "report/pictures/step_picture.h"
#include "report/plan_table.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/traces/trace_files.h"
#include "report/validation.h"
#include "report/words.h"
#include "simulator/simulate.h"

namespace penstock {
namespace {

constexpr const char* kExamples = R"(  penstock trace plan.json -o step.json
  penstock trace plan.json --run run.jsonl -o both.tar
  penstock trace plan.json --format kineto -o traces
  penstock trace plan.json --format svg -o step.svg
  penstock trace schedule.csv --cost F=10ms,B=20ms --format svg --window start -o step.svg
  penstock trace plan.json --run run.jsonl --step 7 --format kineto -o traces
)";

struct TraceOptions {
  std::string plan;
  std::optional<std::string> run, step, format, output;
  std::vector<std::string> costs;
  PictureOptions picture;
  bool any_plan = false, json = false;

  // PyTorch's pipeline CSV instead of a plan.
  [[nodiscard]] bool is_csv() const { return plan.ends_with(".csv"); }
  [[nodiscard]] bool is_kineto() const { return format && *format == "kineto"; }
  [[nodiscard]] bool is_picture() const { return format && (*format == "svg" || *format == "png"); }

  // The end of a file's name says what it is to be.
  void choose_format() {
    if (format || !output) return;
    if (output->ends_with(".svg")) format = "svg";
    if (output->ends_with(".png")) format = "png";
    for (const std::string_view end :
         {".gif", ".jpg", ".jpeg", ".webp", ".bmp", ".eps", ".pdf", ".tiff"}) {
      if (!output->ends_with(end)) continue;
      const std::string stem = output->substr(0, output->size() - end.size());
      bad_option("--output", fmt::format("{} is a format that is not written", end.substr(1)),
                 fmt::format("write -o {0}.svg or -o {0}.png for a picture (programs make a PDF of "
                             "an SVG), -o {0}.json for a viewer",
                             stem));
    }
    if (output->ends_with(".html")) {
      bad_option("--output", fmt::format("a trace is no page, and {} is one", *output),
                 "write -o step.json or -o step.svg; penstock report plan.json -o report.html "
                 "writes a page");
    }
  }

  // What Chrome's viewer reads is written where no form is named.
  void refuse_chrome(const TypedCommand& command) const {
    const bool is_chrome = format && (format->starts_with("chrome") || *format == "json");
    if (!is_chrome) return;
    Arguments words = command.words;
    const auto option = std::find(words.begin(), words.end(), "--format");
    if (words.end() - option > 1) words.erase(option, option + 2);
    if (run && output && output->ends_with(".json")) {
      std::replace(words.begin(), words.end(), *output,
                   output->substr(0, output->rfind('.')) + ".tar");
    }
    bad_option("--format", fmt::format("unknown '{}'", *format),
               fmt::format("perfetto, the default, is Chrome's form{}: {}",
                           run ? ", and with --run an archive (TAR) of two" : "",
                           whole_command("trace", words)));
  }

  void check() const {
    if (format && *format != "perfetto" && !is_kineto() && !is_picture()) {
      unknown_word("--format", *format, {"perfetto", "kineto", "svg", "png"});
    }
    if (is_csv() && run) bad_option("--run", "a run belongs to a plan file", "leave it out");
    if (!is_csv() && !costs.empty()) {
      bad_option("--cost", "a plan has its own costs", "leave it out");
    }
    if (picture.given() && !is_picture()) {
      bad_option(picture.window ? "--window" : "--title", "a trace shows all of the step",
                 "leave it out, or add --format svg");
    }
    if (step && !run) bad_option("--step", "there is no run", "add --run RUN");
    if (any_plan && !run) bad_option("--any-plan", "there is no run", "add --run RUN");
    const bool to_stdout = !output || *output == "-";
    if (to_stdout && is_kineto()) {
      bad_option("--output", "Kineto traces are a file per rank", "name a folder: -o traces");
    }
    if (to_stdout && format && *format == "png") {
      bad_option("--output", "a PNG is no text", "name a file: -o step.png");
    }
    if (to_stdout && run && !is_picture()) {
      bad_option("--output", "prediction and run go into one archive", "name a file: -o both.tar");
    }
    if (to_stdout && json) {
      bad_option("--json", "the trace itself goes to stdout", "name a file: -o step.json");
    }
  }
};

Json metadata_of(const StepTrace& trace, const Loaded<PlanFile>& plan) {
  Json json = Json::object();
  json.set("what", trace.what).set("model", plan.value.model);
  json.set("plan", plan.file.path).set("plan_hash", plan.file.hash);
  json.set("tool", fmt::format("penstock {}", version()));
  json.set("executor", plan.value.executor.name);
  json.set("step_time_ns", std::int64_t{trace.length.count()});
  if (trace.what == "measured") json.set("step", trace.step);
  json.set("predicted_step_time_ns", std::int64_t{plan.value.prediction.step_time.count()});
  json.set("predicted_peak_memory_bytes", plan.value.prediction.peak_memory().count);
  return json;
}

std::string picture_of(const TraceOptions& given, const PlanFile& plan,
                       const std::vector<StepTrace>& traces) {
  const std::string shown = given.is_csv() ? traces.front().what : plan_line(plan.plan);
  const std::string title =
      fmt::format("{}: {}, step {}", plan.model, shown, to_text(traces.front().length));
  const Picture picture = step_picture(traces, given.picture.chosen(traces, title));
  return *given.format == "png" ? png_of(picture) : svg_of(picture);
}

// The files that were written.
std::vector<std::string> write_traces(const TraceOptions& given, const Loaded<PlanFile>& plan,
                                      const std::vector<StepTrace>& traces) {
  std::vector<std::string> written;
  if (given.is_picture()) {
    write_output(*given.output, picture_of(given, plan.value, traces));
    return {*given.output};
  }
  if (given.is_kineto()) {
    for (const StepTrace& trace : traces) {
      // Side by side in folders, since the names of the files are those that HTA looks for.
      const std::string folder =
          traces.size() > 1 ? *given.output + '/' + trace.what : *given.output;
      const std::vector<std::string> files = write_into(folder, kineto_files(trace, plan.value));
      written.insert(written.end(), files.begin(), files.end());
    }
    return written;
  }
  std::vector<NamedText> files;
  std::vector<std::string> names;
  for (const StepTrace& trace : traces) {
    files.push_back({trace.what + ".json", perfetto_json(trace, metadata_of(trace, plan))});
    names.push_back(files.back().name);
  }
  if (files.size() > 1) files.insert(files.begin(), perfetto_manifest(names));
  write_output(*given.output, files.size() > 1 ? tar_of(files) : files.front().text);
  return {*given.output};
}

std::int64_t slices_of(const StepTrace& trace) {
  std::int64_t slices = 0;
  for (const TraceRank& rank : trace.ranks) slices += std::ssize(rank.slices);
  return slices;
}

std::string report_of(const TraceOptions& given, const std::vector<StepTrace>& traces,
                      const std::vector<std::string>& written,
                      const std::vector<std::string>& notes, Screen screen) {
  std::string text;
  for (const StepTrace& trace : traces) {
    text +=
        fmt::format("{}: {}, {}, {}, step {}\n", trace.what,
                    count_of(std::ssize(trace.ranks), "rank"), count_of(slices_of(trace), "slice"),
                    count_of(std::ssize(trace.flows), "arrow"), to_text(trace.length));
  }
  text += wrapped(notes, screen.width(), "note: ", "      ");
  if (given.is_kineto()) {
    return text + fmt::format("{} in {}; HolisticTraceAnalysis reads the folder\n",
                              count_of(std::ssize(written), "file"), *given.output);
  }
  if (given.is_picture()) return text + fmt::format("{} is written\n", written.front());
  return text + fmt::format("{} is written; open it at https://ui.perfetto.dev\n", written.front());
}

Json trace_json(const std::vector<StepTrace>& traces, const std::vector<std::string>& written,
                const std::vector<std::string>& notes) {
  Json json = answer_json("trace");
  Json list = Json::array();
  for (const StepTrace& trace : traces) {
    list.push(Json::object()
                  .set("what", trace.what)
                  .set("ranks", std::ssize(trace.ranks))
                  .set("slices", slices_of(trace))
                  .set("flows", std::ssize(trace.flows))
                  .set("step_time_ns", std::int64_t{trace.length.count()}));
  }
  json.set("traces", std::move(list));
  return json.set("files", strings(written)).set("notes", strings(notes));
}

struct Predicted {
  Loaded<PlanFile> plan;
  Timeline timeline;  // of a plan file
  std::vector<StepTrace> traces;
};

// A schedule from a file, with given costs.
Predicted predicted_of_csv(const TraceOptions& given) {
  SyntheticStep step = step_of_csv(given.plan, given.costs);
  Predicted predicted;
  predicted.plan = {std::move(step.file), {given.plan, content_hash(read_file(given.plan))}};
  predicted.plan.value.model = given.plan;
  predicted.traces.push_back(std::move(step.trace));
  return predicted;
}

Predicted predicted_of(const TraceOptions& given) {
  if (given.is_csv()) return predicted_of_csv(given);
  // Half a kilobyte each.
  Predicted predicted{
      load_plan_written_out(given.plan, "a trace", std::int64_t{1} << 22,
                            "plan it with a smaller --global-batch: the step then has fewer "
                            "micro-batches and repeats in the same way; or see penstock report "
                            "PLAN, which takes any"),
      {},
      {}};
  const PlanFile& plan = predicted.plan.value;
  predicted.timeline = simulate(plan.program, plan.prices, plan.executor);
  predicted.traces.push_back(trace_of(plan, predicted.timeline));
  return predicted;
}

}  // namespace

Answer run_trace(const Arguments& arguments, Screen screen) {
  TraceOptions given;
  Options options(
      "trace PLAN [OPTIONS]",
      "Writes the step of a plan as a trace for viewers. Every rank is a process, every action "
      "has PyTorch's name, arrows lead from each send to the action that needs it, and a counter "
      "shows memory over time. With --run, prediction and measurement are side by side.",
      kExamples);
  options.heading("Options");
  options.positional("PLAN",
                     "a plan file, as written by penstock plan -o; or FILE.csv, PyTorch's pipeline "
                     "CSV, with --cost",
                     given.plan);
  options.repeated("--cost", "K=TIME,...",
                   "for FILE.csv: the times of its actions, F=10ms,B=20ms,C=1ms (schedule --help)",
                   given.costs);
  options.option("--run", "RUN",
                 "also show the measured step: a log of penstock train --log RUN --timeline, or "
                 "a folder of PyTorch profiler traces, one per rank",
                 given.run);
  options.option("--step", "N", "which step of the run; default: the one with the median time",
                 given.step);
  options.flag("--any-plan", "show the run although it names another plan file", given.any_plan);
  options.option("--format", "NAME",
                 "perfetto (default): one JSON file for ui.perfetto.dev, with --run an archive "
                 "(TAR) of two; kineto: a folder with a file per rank, as PyTorch's profiler "
                 "writes and HolisticTraceAnalysis reads them; svg, png: a picture with a row "
                 "per rank (default where FILE ends so)",
                 given.format);
  options.choices({"perfetto", "kineto", "svg", "png"});
  options.option(
      "-o,--output", "FILE",
      "where to write, with --format kineto a folder; default: a prediction for Perfetto, or "
      "an SVG, goes to stdout",
      given.output);
  given.picture.declare(options);
  options.flag("--json", "what was written as one JSON object", given.json);
  options.remark({"hta", "tensorboard", "pytorch-profiler", "torch-profiler"},
                 "write --format kineto -o traces: a file for every rank");
  options.remark({"log", "measured", "run-log", "actual", "train-log", "compare"},
                 "write --run {RUN} -o both.tar: prediction and run side by side");
  options.remark(
      {"to", "as", "type", "export", "export-to", "viewer", "kind"},
      "the end of the name says it: -o step.json (for ui.perfetto.dev and "
      "chrome://tracing), step.svg or step.png; --format kineto -o traces is for HTA and "
      "TensorBoard");
  options.remark({"rank", "ranks", "iterations"},
                 "leave it out: a trace is one step with all ranks of a replica; --step N chooses "
                 "one of a measured --run, and --window BEGIN..END a part of a picture (-o "
                 "step.svg)");
  options.remark(
      {"memory", "mem", "counters"},
      "leave it out: in a trace (-o step.json) a counter shows the memory of every rank, "
      "in a picture nothing does; penstock report plan.json -o report.html draws memory "
      "over time, penstock simulate plan.json --memory-csv memory.csv writes it");
  TypedCommand command;
  options.keep_command(command);
  options.remark({"perfetto", "chrome", "chrome-trace"},
                 "leave it out: -o step.json, or another name in .json, opens in ui.perfetto.dev");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  given.choose_format();
  given.refuse_chrome(command);
  given.check();

  Predicted prediction = predicted_of(given);
  const Loaded<PlanFile>& plan = prediction.plan;
  const Timeline& predicted = prediction.timeline;
  std::vector<StepTrace>& traces = prediction.traces;
  std::vector<std::string> notes;
  if (given.run) {
    LoadedRun run = load_run(*given.run, plan);
    keep_steps_of(plan, run, *given.run, given.any_plan);
    // Refuses what is no run of this plan.
    static_cast<void>(validate(plan.value, predicted, run.log, {.warm_up = 0}, *given.run));
    traces.push_back(trace_of(plan.value, shown_step(run, *given.run, given.step)));
    notes = std::move(run.notes);
  }
  if (!given.output || *given.output == "-") {
    if (given.is_picture()) return {picture_of(given, plan.value, traces)};
    return {perfetto_json(traces.front(), metadata_of(traces.front(), plan))};
  }
  const std::vector<std::string> written = write_traces(given, plan, traces);
  const bool is_archive = traces.size() > 1 && !given.is_kineto() && !given.is_picture();
  if (is_archive && given.output->ends_with(".json")) {
    notes.push_back(*given.output + " is no JSON: prediction and run are an archive (TAR) of two");
  }
  if (given.json) return json_answer(trace_json(traces, written, notes));
  return report_answer(report_of(given, traces, written, notes, screen));
}

}  // namespace penstock
