// `penstock dynamic`: training on samples of different lengths, before it begins. Reads the
// lengths, lets the study search layouts and compare ways to form micro-batches, and writes the
// answer in one of its forms: twenty lines, JSON, a page, the statistics of every batch, the plan
// file of the first.
//
// A decoder-only model takes a pair of lengths as one sample of both. What is longer than what was
// measured, or than --max-length, is cut, as data loaders do; how many were is said.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <time.h>  // clock_gettime()

#include "cli/io/files.h"
#include "cli/io/progress.h"
#include "cli/io/report_command.h"
#include "cli/options/options.h"
#include "cli/options/parse.h"
#include "cli/options/schedule_called.h"
#include "cli/options/search_options.h"
#include "cli/reports/report_timelines.h"
#include "cli/verbs/verbs.h"
#include "core/files/plan_format.h"
#include "core/files/read_sample_lengths.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "costmodel/calibrated_profile.h"
#include "costmodel/price_stages.h"
#include "estimator/estimate_encoder_decoder.h"
#include "estimator/estimate_lengths.h"
#include "estimator/shipped_data.h"
#include "report/page/dynamic_page.h"
#include "report/page/report_page.h"
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
constexpr int kMostBatches = 10'000;
constexpr std::int64_t kMostSamples = 65'536;  // of a batch

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
                   "that each search for an order of micro-batches may take (default 500)",
                   replays);
    options.option("--seed", "N", "of the order in which samples are drawn (default 1)", seed);
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

bool knows_decoder(const ModelProfile& profile) {
  return std::any_of(
      profile.section_types.begin(), profile.section_types.end(), [](const SectionType& type) {
        return !type.measurements.empty() && type.measurements.front().decoder_length > 0;
      });
}

// The longest that the profile can price, of both axes.
SampleLength longest_measured(const ModelProfile& profile, const std::string& device) {
  SampleLength longest{default_sequence_length(profile, device), 0};
  for (const SectionType& type : profile.section_types) {
    for (const Measurement& m : type.measurements) {
      if (m.device == device) {
        longest.decoder_tokens = std::max(longest.decoder_tokens, m.decoder_length);
      }
    }
  }
  return longest;
}

// The samples as the model takes them, and what is to be said about them.
struct Samples {
  LengthBatch batch;
  LengthRounding rounding;
  bool pairs = false;
  std::int64_t cut = 0;
};

Samples samples_for(const SampleLengths& read, bool pairs) {
  Samples samples;
  samples.pairs = pairs;
  if (pairs && !read.pairs) {
    bad_option(kLengths, "one length for each sample, but the model has an encoder and a decoder",
               "give two: \"encoder,decoder\" in every line");
  }
  samples.rounding.left_out = pairs ? 0 : 1;
  samples.batch = read.samples;
  if (pairs) return samples;
  for (SampleLength& sample : samples.batch) {
    sample = {sample.tokens + sample.decoder_tokens, 0};
  }
  return samples;
}

void cut_to(Samples& samples, const SampleLength& most) {
  for (SampleLength& sample : samples.batch) {
    const SampleLength before = sample;
    sample.tokens = std::min(sample.tokens, most.tokens);
    sample.decoder_tokens = std::min(sample.decoder_tokens, most.decoder_tokens);
    if (sample != before) ++samples.cut;
  }
}

// A sample of one token has nothing to predict.
void refuse_short(const Samples& samples, const std::string& path) {
  if (samples.pairs) return;
  for (std::size_t i = 0; i < samples.batch.size(); ++i) {
    if (samples.batch[i].tokens > samples.rounding.left_out) continue;
    throw_bad_input(fmt::format(
        "{}: sample {} has {}, and nothing follows it that could be predicted\nhelp: leave such "
        "samples out",
        path, i + 1, count_of(samples.batch[i].tokens, "token")));
  }
}

// Of each axis.
SampleLength longest_of(const LengthBatch& samples) {
  SampleLength longest;
  for (const SampleLength& sample : samples) {
    longest.tokens = std::max(longest.tokens, sample.tokens);
    longest.decoder_tokens = std::max(longest.decoder_tokens, sample.decoder_tokens);
  }
  return longest;
}

// An estimate has one length; this has all that samples may have.
void estimate_all_lengths(Question& question, const Samples& samples, std::int64_t tokens) {
  EstimatedModel& estimated = *question.estimated;
  const MicroBatchShape longest =
      padded_shape(1, fed_of(longest_of(samples.batch), samples.rounding), samples.rounding);
  estimated.request.sequence_length = longest.tokens;
  if (estimated.encoder_decoder) {
    estimated.estimate = estimate_encoder_decoder(
        *estimated.encoder_decoder, estimated.device, shipped_efficiency(), estimated.request,
        {grid_of_lengths(longest.tokens), grid_of_lengths(longest.decoder_tokens), tokens});
  } else {
    estimated.estimate =
        estimate_lengths(estimated.model, estimated.device, shipped_efficiency(), estimated.request,
                         grid_of_lengths(longest.tokens), tokens);
  }
  question.profile.value = estimated.estimate.profile;
  const auto& calibration = question.cluster.value.calibration;
  if (!calibration) return;
  question.profile.value = calibrated_profile(question.profile.value,
                                              for_model(*calibration, question.profile.value.name));
}

std::string device_of(const Question& question) {
  if (question.request.pins.device) return *question.request.pins.device;
  const auto& types = question.cluster.value.device_types;
  return types.size() == 1 ? types.front().name : "";
}

// What is fed of a sample so long is at most a length that is a multiple of the rounding's.
SampleLength longest_fed_within(const SampleLength& priced, const LengthRounding& rounding) {
  const auto whole = [&](int length) { return length / rounding.multiple * rounding.multiple; };
  return {whole(priced.tokens) + rounding.left_out,
          std::max(0, whole(priced.decoder_tokens) - rounding.decoder_extra)};
}

// The longest samples that can be priced.
SampleLength longest_priced(const Samples& samples, const Question& question) {
  if (question.estimated) {
    constexpr int kNoLimit = 1 << 24;
    const Architecture& model = question.estimated->model;
    const bool has_table = model.position_rows > 0 && !samples.pairs;
    const int limit = has_table ? model.positions : kNoLimit;
    return longest_fed_within({limit, limit}, samples.rounding);
  }
  const SampleLength measured = longest_measured(question.profile.value, device_of(question));
  if (measured.tokens == 0) {
    throw_bad_input(question.profile.file.path +
                    ": it has no sequence lengths, so that samples of different lengths cost the "
                    "same\nhelp: give a profile of a model of sequences, or a config.json");
  }
  return longest_fed_within(measured, samples.rounding);
}

// Cuts the samples to what can be priced, and makes an estimate that reaches as far.
void fit_lengths(Samples& samples, Question& question, const DynamicOptions& given,
                 std::int64_t tokens) {
  SampleLength limit = longest_priced(samples, question);
  if (given.max_length) {
    const int most = parse_int("--max-length", *given.max_length, 2, 1 << 24);
    limit = {std::min(limit.tokens, most), std::min(limit.decoder_tokens, most)};
  }
  cut_to(samples, limit);
  if (question.estimated) estimate_all_lengths(question, samples, tokens);
}

// Planning takes longer than in proportion to a batch's samples.
void refuse_large_batches(const Samples& samples, std::int64_t tokens) {
  std::int64_t sum = 0;
  for (const SampleLength& sample : samples.batch) sum += real_tokens_of(sample, samples.rounding);
  const auto mean = static_cast<double>(sum) / static_cast<double>(samples.batch.size());
  const auto count = static_cast<std::int64_t>(static_cast<double>(tokens) / mean);
  if (count <= kMostSamples) return;
  bad_option("--tokens-per-batch",
             fmt::format("{} tokens are about {} samples of {} tokens in the mean, and batches of "
                         "at most {} are planned",
                         with_commas(tokens), with_commas(count), fixed(mean, 0),
                         with_commas(kMostSamples)),
             fmt::format("give at most {}: it counts the tokens of one step",
                         static_cast<std::int64_t>(mean * kMostSamples)));
}

std::string lengths_text(const Samples& samples, const std::string& path) {
  std::vector<int> lengths;
  std::int64_t sum = 0;
  for (const SampleLength& sample : samples.batch) {
    lengths.push_back(sample.tokens + sample.decoder_tokens);
    sum += lengths.back();
  }
  std::sort(lengths.begin(), lengths.end());
  std::string text =
      fmt::format("{}: {} of {} to {} tokens, mean {}, median {}",
                  std::filesystem::path(path).filename().string(),
                  count_of(static_cast<std::int64_t>(lengths.size()), "sample"), lengths.front(),
                  with_commas(lengths.back()),
                  fixed(static_cast<double>(sum) / static_cast<double>(lengths.size()), 0),
                  with_commas(lengths[lengths.size() / 2]));
  if (samples.pairs) text += " (encoder and decoder together)";
  if (samples.cut > 0) text += fmt::format("; {} longer, cut", with_commas(samples.cut));
  return text;
}

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
  file.tool_version = version();
  file.profile = question.profile.file;
  file.cluster_file = question.cluster.file;
  if (question.measured) file.calibration = question.cluster.value.calibration;
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
    write_file(*given.plan, to_text(write_plan(plan_file_of(question, study))) + '\n');
  }
  if (given.statistics) {
    Json json = answer_json("dynamic");
    set_inputs(json, question);
    json.set("statistics", dynamic_statistics(study.report));
    write_file(*given.statistics, to_text(json) + '\n');
  }
}

}  // namespace

Answer run_dynamic(const Arguments& arguments, Screen screen) {
  DynamicOptions given;
  Options options(
      "dynamic MODEL --lengths FILE --cluster FILE [OPTIONS]",
      "Plans training on samples of different lengths: draws batches, forms for each of them "
      "micro-batches of different shapes from samples of similar lengths, orders and schedules "
      "them within memory, and searches the layout that is fastest for all. Compares that with "
      "token budgets, fixed sizes and packing, each with its own best layout. Exit code 1 when "
      "nothing fits.",
      kExamples);
  given.declare(options);
  options.remark({"gbs", "global-batch", "global-batch-size", "batch", "batch-size", "bs"},
                 "batches are counted in tokens here: --tokens-per-batch N, over all GPUs");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  const std::string& path = required(given.lengths, kLengths, "--lengths lengths.csv");
  if (path.find_first_not_of("0123456789,") == std::string::npos) {
    bad_option(kLengths, fmt::format("'{}' is a list, and a file belongs here", path),
               "write the length of one sample a line into a file; data/lengths has some");
  }
  for (const auto& file : {given.output, given.plan, given.statistics}) {
    if (file && *file != "-") require_folder_of(*file);
  }
  const int tokens = parse_count("--tokens-per-batch", given.tokens, 1, 65536, 1 << 30);
  Question question = question_for(given);
  const SampleLengths read = read_sample_lengths(load_text(path), path);
  Samples samples = samples_for(read, knows_decoder(question.profile.value));
  refuse_short(samples, path);
  fit_lengths(samples, question, given, tokens);
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
    write_file(*given.output, html);
  }
  if (!given.json) return report_answer(dynamic_text(study.report, screen), exit);
  Json json = answer_json("dynamic");
  set_inputs(json, question);
  return json_answer(json.set("result", dynamic_json(study.report)), exit);
}

}  // namespace penstock
