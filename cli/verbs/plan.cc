// `penstock plan`: search, then answer in one of five forms (short, -v, tables, JSON, a plan file).
// The best plan is worked out once more after the search, with its Program only if it is small
// enough to draw, and is compared with equal cuts and with --baseline.
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/io/files.h"
#include "cli/io/plan_question.h"
#include "cli/io/progress.h"
#include "cli/io/report_command.h"
#include "cli/io/shell_word.h"
#include "cli/io/write_output.h"
#include "cli/options/counts_of_types.h"
#include "cli/options/gpu_counts.h"
#include "cli/options/measured_runs.h"
#include "cli/options/model_input.h"
#include "cli/options/node_counts.h"
#include "cli/options/options.h"
#include "cli/options/search_options.h"
#include "cli/options/table_format.h"
#include "cli/options/training_cost_options.h"
#include "cli/options/wrong_values.h"
#include "cli/reports/book_of_plans.h"
#include "cli/reports/large_plans.h"
#include "cli/reports/offload_remedy.h"
#include "cli/reports/remarks_on_question.h"
#include "cli/reports/spilled_answer.h"
#include "cli/verbs/verbs.h"
#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"
#include "report/flat_table.h"
#include "report/json_array.h"
#include "report/plan_answer.h"
#include "report/plan_table.h"
#include "report/reasons.h"
#include "report/result_json.h"
#include "report/screen.h"
#include "report/search_report.h"
#include "report/simulation_report.h"
#include "report/words.h"
#include "search/rolled_program.h"
#include "studies/fewest_gpus.h"
#include "studies/model_flops.h"
#include "studies/not_modelled.h"

namespace penstock {
namespace {

// Ranked plans of which one is shown: the others are its twins, by experience.
constexpr int kTwins = 4;
constexpr int kShown = 5;

constexpr const char* kExamples =
    R"(  penstock plan config.json --device h100-sxm --gpus 64 --global-batch 1024
  penstock plan profile.json --cluster cluster.json --gpus 64 --global-batch 512 -o plan.json
  penstock plan profile.json --cluster cluster.json --gpus 16 --global-batch 64 --pin PP=4,mbs=1
  penstock plan profile.json --cluster cluster.json --global-batch 512 --schedule 1f1b,zb-h1
  penstock plan profile.json --cluster cluster.json --global-batch 512 --baseline plan.json --json
  penstock plan profile.json --cluster cluster.json --global-batch 512 --tokens 2T
  penstock plan profile.json --cluster cluster.json --gpus 8..64 --global-batch 512 -o book.json
  penstock plan profile.json --cluster cluster.json --nodes 1..8 --global-batch 512 -o book.json
  penstock plan profile.json --cluster mixed.json --nodes a100=0..2,v100=0..4 --global-batch 512
  penstock plan config.json --device rtx-4090 --gpus 1 --global-batch 8 --spill
)";

// The best plan, worked out again (with its Program, if it is drawn), and what it is compared with.
struct Winner {
  EvaluatedPlan evaluated;
  std::vector<Rival> rivals;
  std::optional<TrainingCost> training;  // when tokens were given
  std::optional<RankedPlan> offloaded;   // that is faster, where nobody asked
};

Rival rival_of(std::string name, EvaluatedPlan evaluated) {
  Rival rival;
  rival.name = std::move(name);
  if (evaluated.why_not) rival.why_not = reason_text(*evaluated.why_not);
  rival.plan = std::move(evaluated.plan);
  rival.evaluation = std::move(evaluated.evaluation);
  return rival;
}

Rival equal_split(const PlanInputs& inputs, Plan plan) {
  const int sections = static_cast<int>(inputs.profile->sections.size());
  plan.cuts = equal_cuts(sections, plan.stages_per_copy());
  return rival_of("plan 1 with equal numbers of sections per stage", evaluate(inputs, plan));
}

// Today's inputs, so that only the decisions differ.
Rival baseline(const PlanInputs& inputs, const Loaded<PlanFile>& loaded) {
  const PlanFile& file = loaded.value;
  const std::string& path = loaded.file.path;
  std::vector<std::string> names;
  for (const Section& section : inputs.profile->sections) names.push_back(section.name);
  if (names != file.section_names) {
    bad_option("--baseline", fmt::format("{} is a plan of another model ({})", path, file.model),
               "give a plan of the same profile");
  }
  return rival_of(fmt::format("{}, priced with these inputs", path), evaluate(inputs, file.plan));
}

Winner winner_of(const Question& question, const SearchResult& result,
                 const std::optional<Loaded<PlanFile>>& other,
                 const std::optional<TrainingQuestion>& training, bool is_short) {
  const PlanInputs inputs = question.inputs();
  Winner winner;
  if (result.best.empty()) return winner;
  const RankedPlan& best = result.best.front();
  winner.training = training_cost(training, best.plan, best.evaluation);
  winner.evaluated =
      is_drawn(best.plan) ? evaluate_in_full(inputs, best.plan) : evaluate(inputs, best.plan);
  if (!is_short) winner.rivals.push_back(equal_split(inputs, result.best.front().plan));
  if (other) winner.rivals.push_back(baseline(inputs, *other));
  return winner;
}

Json plan_file_of(const Question& question, const SearchResult& result, const Winner& winner) {
  PlanFile file = to_rolled_up_plan_file(question.inputs(), winner.evaluated);
  note_question(question, file);
  file.flops = model_flops_of(question, file.plan);
  file.not_searched = result.not_searched;
  return write_plan_rolled_up(file);
}

std::string report_of(const Question& question, const SearchResult& result, const Winner& winner,
                      Screen screen) {
  SearchReport about;
  about.question = words_of(question);
  about.origin = origin_of(question);
  about.notes = notes_of(question);
  for (const Section& section : question.profile.value.sections) {
    about.section_names.push_back(section.name);
  }
  about.rivals = winner.rivals;
  about.training = winner.training;
  if (!result.best.empty() && !is_drawn(result.best.front().plan)) {
    about.not_drawn = not_drawn_text(result.best.front().plan);
  } else {
    about.program = &winner.evaluated.program;
    about.timeline = &winner.evaluated.timeline;
  }
  return search_report(result, about, screen);
}

// What the answer is continued with: the plan file, why it is so, and a trainer's files.
Arguments next_commands(const Question& question, const Winner& winner, const SearchOptions& given,
                        const std::optional<std::string>& output) {
  std::vector<std::string> commands;
  const std::string path = output ? *output : std::string(kPlanFile);
  commands.push_back(command_of("explain", {path}));
  const PlanFile file = to_rolled_up_plan_file(question.inputs(), winner.evaluated);
  const std::string apply = apply_command(is_rolled_up(file) ? with_few_micro_batches(file) : file,
                                          path, given.trainer.value_or(""));
  if (!apply.empty()) commands.push_back(apply);
  return commands;
}

// "Llama-3-8B (estimated) on 8 x 8 h100-sxm (assumed): gbs 1024, sequence length 8192"
std::string short_question(const Question& question) {
  const SearchRequest& request = question.request;
  std::string text = fmt::format("{} on {}, gbs {}", question.profile.value.name,
                                 question.cluster.value.name, request.global_batch);
  if (request.gpus != device_count(question.cluster.value)) {
    text = fmt::format("{} on {} of {}, gbs {}", question.profile.value.name,
                       count_of(request.gpus, "GPU"), question.cluster.value.name,
                       request.global_batch);
  }
  if (request.sequence_length > 0) {
    text += fmt::format(", sequence length {}", request.sequence_length);
  }
  if (question.measured) text += ", calibrated to the measured runs";
  return text;
}

std::string no_plan_answer(const Question& question, const SearchResult& result, Screen screen) {
  return wrapped(short_question(question), screen.width(), "", "  ") + '\n' +
         nothing_fits_text(result, screen.width()) +
         wrapped(counts_text(result) + " Add -v for the reasons.", screen.width(), "", "");
}

// The threads change nothing, and what was asked for in full need not be again.
std::string command_that_writes(const Arguments& arguments) {
  Arguments kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--threads")
      ++i;
    else if (!arguments[i].starts_with("--threads="))
      kept.push_back(arguments[i]);
  }
  kept.insert(kept.end(), {"-o", kPlanFile});
  return command_of("plan", kept);
}

PlanAnswer about_of(const Question& question, const SearchResult& result, const Winner& winner,
                    Screen screen) {
  PlanAnswer about;
  about.question = short_question(question);
  about.gpus = question.request.gpus;
  about.flops = model_flops_of(question, result.best.front().plan.sequence_length);
  about.not_modelled = not_modelled_here(question);
  if (question.measured) about.doubts = doubts_of(*question.measured);
  about.memory_is_estimated = question.has_estimated_memory();
  about.memory_is_limited = question.has_memory_limit();
  about.rivals = winner.rivals;
  about.training = winner.training;
  about.most_plans = static_cast<std::size_t>(question.request.top) / kTwins;
  about.width = screen.width();
  if (!question.request.trainer) about.hint = "; --for megatron plans for that trainer";
  return about;
}

Json rival_json(const Rival& rival) {
  Json json = Json::object();
  json.set("name", rival.name);
  if (!rival.why_not.empty()) return json.set("why_not", rival.why_not);
  json.set("plan", to_json(rival.plan));
  json.set("prediction", to_json(rival.evaluation, rival.plan));
  return json;
}

Json json_of(const Question& question, const SearchResult& result, const Winner& winner) {
  Json json = answer_json("plan");
  set_question(json, question);
  std::optional<ModelFlops> flops;
  if (!result.best.empty()) {
    flops = model_flops_of(question, result.best.front().plan.sequence_length);
  }
  set_search_result(json, result, flops ? &*flops : nullptr);
  if (flops) json.set("model_flops", to_json(*flops));
  if (!result.best.empty()) json.set("not_modelled", strings(not_modelled_here(question)));
  Json rivals = Json::array();
  for (const Rival& rival : winner.rivals) rivals.push(rival_json(rival));
  json.set("compared_with", std::move(rivals));
  if (winner.offloaded) {
    json.set("with_offload",
             Json::object()
                 .set("plan", to_json(winner.offloaded->plan))
                 .set("prediction", to_json(winner.offloaded->evaluation, winner.offloaded->plan)));
  }
  if (winner.training) json.set("training", to_json(*winner.training));
  return json;
}

// One row per plan; without plans the reason is told beside the table.
Answer table_of(const SearchResult& result, TableFormat format,
                const std::optional<TrainingQuestion>& training, int exit) {
  const std::string remark = result.best.empty() ? nothing_fits_text(result) : "";
  if (format == TableFormat::kMarkdown) {
    return {result.best.empty() ? "" : plan_rows(result.best).markdown(), exit, remark};
  }
  std::vector<Json> rows;
  rows.reserve(result.best.size());
  for (const RankedPlan& ranked : result.best) {
    Json row = Json::object().set("number", static_cast<std::int64_t>(rows.size() + 1));
    append_flat(row, flat_row(ranked));
    if (training) {
      append_flat(row, to_json(*training_cost(training, ranked.plan, ranked.evaluation)),
                  "training_");
    }
    rows.push_back(std::move(row));
  }
  return {flat_table(rows).csv(), exit, remark};
}

int exit_of(const SearchResult& result, const Winner& winner) {
  if (!result.complete) return kStopped;
  return result.best.empty() || !ends(winner.training) ? kNo : kYes;
}

// Of several types: sets what the question is asked with, the largest numbers of all.
BookSizes sizes_of_types(SearchOptions& given, const std::optional<std::string>& nodes) {
  const std::string& path =
      required(given.cluster, "--cluster",
               "--cluster FILE; data/clusters/a100-40gb-2x4-v100-16gb-4x4.json is an example");
  if (nodes && given.gpus) bad_option("--nodes", "--gpus is given, too", "keep one of them");
  if (given.device) {
    bad_option("--device", "each number says of which device type it is", "leave it out");
  }
  BookSizes sizes;
  sizes.of_types = counts_of_types(nodes ? *nodes : *given.gpus, nodes ? "--nodes" : "--gpus",
                                   nodes.has_value(), load_cluster(path).value);
  int gpus = 0;
  for (const int count : sizes.of_types->counts.back()) gpus += count;
  given.gpus = std::to_string(gpus);
  if (is_model_config(load_json(given.profile).value)) {
    given.device = sizes.of_types->types.front();
    given.also_on.assign(sizes.of_types->types.begin() + 1, sizes.of_types->types.end());
  }
  return sizes;
}

// Many numbers of GPUs make a book; nothing for one.
std::optional<BookSizes> book_sizes(SearchOptions& given, const std::optional<std::string>& nodes) {
  if (names_types(nodes) || names_types(given.gpus)) return sizes_of_types(given, nodes);
  if (nodes) given.gpus = gpus_of_nodes(*nodes, given);
  auto counts = given.gpus ? gpu_counts(*given.gpus) : std::nullopt;
  if (!counts) return std::nullopt;
  given.gpus = std::to_string(counts->back());
  return BookSizes{*std::move(counts), std::nullopt};
}

// Whoever names a table or a page means one.
void refuse_other_ending(const std::string& output) {
  for (const std::string_view end :
       {".csv", ".md", ".html", ".pdf", ".svg", ".png", ".txt", ".yaml", ".yml", ".toml"}) {
    if (!output.ends_with(end)) continue;
    bad_option("--output", fmt::format("plans and books are JSON files, and {} is not", output),
               "write -o plan.json; --format csv or markdown prints a table, penstock report "
               "plan.json -o report.html writes a page");
  }
}

// A trainer's files are written into a folder, by another verb.
void refuse_folder(const std::string& output) {
  if (output.ends_with('/')) {
    bad_option("--output", fmt::format("{} is a folder, and a file is written", output),
               fmt::format("write -o {}plan.json (mkdir -p {} makes the folder)", output, output));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(output, error)) return;
  throw_bad_input(
      fmt::format("{0}: this is a folder, and a file is written\nhelp: write -o plan.json; then "
                  "penstock export "
                  "plan.json --to TRAINER -o {0} writes the trainer's files into the folder",
                  output));
}

// "--tokens 300" of a training of 300 billion.
void refuse_few_tokens(const std::optional<TrainingQuestion>& asked, const SearchRequest& request) {
  const std::int64_t step = std::int64_t{request.global_batch} * request.sequence_length;
  if (!asked || asked->tokens >= step) return;
  bad_option("--tokens",
             fmt::format("{} tokens are less than one step of {}", with_commas(asked->tokens),
                         with_commas(step)),
             fmt::format("a letter makes more of them: --tokens {0}B are {0} billion, {0}T as many "
                         "thousand billion",
                         asked->tokens));
}

// Days and price of each of several sizes.
std::string help_for_tokens_of_sizes(const Arguments& typed) {
  constexpr std::size_t kMost = 16;
  const auto gpus = value_of(typed, {"--gpus"});
  const bool is_of_types = gpus && gpus->find('=') != std::string::npos;
  const auto counts = gpus && !is_of_types ? gpu_counts(*gpus) : std::nullopt;
  if (!counts || counts->size() > kMost) {
    return "leave it out; penstock compare with --tokens and --vary gpus=A,B,C says time and price "
           "of each";
  }
  Arguments words = typed;
  for (const GivenOption& option : given_words({}, typed).options) {
    if (option.name != "--gpus") continue;
    words =
        with_instead(words, option, {"--vary", fmt::format("gpus={}", fmt::join(*counts, ","))});
    break;
  }
  return "time and price of each are what compare says: " + command_of("compare", words);
}

}  // namespace

Answer run_plan(const Arguments& arguments, Screen screen) {
  SearchOptions given;
  std::optional<std::string> baseline_path, output, nodes;
  TrainingCostOptions training;
  TableFormatOptions format;
  bool verbose = false;
  std::vector<std::string> given_names;
  Options options(
      "plan MODEL --device NAME --gpus N --global-batch B [OPTIONS]",
      "Searches every split of the model, DP, PP, TP, micro-batch size and schedule for up to N "
      "GPUs, replays the candidates, and prints the best plan, up to five that differ from it, and "
      "what to do next. -v prints the whole report: memory by rank, the step, the Pareto front, "
      "why others cannot run. Exit code 1 when nothing fits.",
      kExamples);
  given.declare(options);
  options.option(
      "--nodes", "N",
      "instead of --gpus: whole nodes, the cluster's in its order; also 1..8 or 1,2,4: a "
      "book with a plan for each; of several device types TYPE=0..2,TYPE=0..4",
      nodes);
  training.declare(options);
  SpillOptions spilling;
  spilling.declare(options);
  options.heading("What to print");
  options.flag("-v,--verbose", "the whole report: every section, every reason, every assumption",
               verbose);
  options.option("--top", "K",
                 "how many plans to print; default 5 that differ, and 10 with -v and in tables",
                 given.top);
  options.option("--baseline", "PLAN", "compare plan 1 with this plan file", baseline_path);
  options.option("-o,--output", "FILE",
                 "write plan 1 as a plan file (- for stdout, instead of the report)", output);
  format.declare(options, "one row per plan");
  options.names_given(given_names);
  options.remark({"book", "book-file", "all-counts"},
                 "several numbers of GPUs make a book: --gpus 8..64 -o book.json");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);

  WrongValues wrong;
  wrong.check(given);
  wrong.check(training);
  wrong.check_missing(given);
  wrong.refuse();
  const std::optional<BookSizes> sizes = book_sizes(given, nodes);
  if (sizes) {
    if (training.question()) {
      bad_option("--tokens", "--gpus names many numbers, each with its plan",
                 help_for_tokens_of_sizes(given.command.words));
    }
    refuse_given(given_names, {"--baseline", "-v", "--top"},
                 "--gpus names many numbers, each with its plan", "leave it out");
  }
  if (given.trainer) given.trainer = trainer_called(*given.trainer);
  if (output) {
    refuse_other_ending(*output);
    refuse_folder(*output);
    require_folder_of(*output);
  }
  const TableFormat chosen = format.chosen();
  const std::optional<TrainingQuestion> asked = training.question();
  // Where several types are counted, that of the estimate is only the first of them.
  const auto asked_of = [&](int gpus) {
    Question other = question_of(given, gpus);
    if (sizes && sizes->of_types) other.request.pins.device.reset();
    return other;
  };
  Question question = question_of(given);
  if (sizes && sizes->of_types) question.request.pins.device.reset();
  refuse_contradictions(question);
  require_tokens(asked, question.profile.value);
  training.set_price(question.cluster.value);
  std::optional<Loaded<PlanFile>> other;  // a bad file is refused before the search
  if (baseline_path) other = load_plan(*baseline_path);
  if (sizes) {
    return book_of_plans(question, *sizes, short_question(question), output, chosen, screen,
                         asked_of);
  }
  if (spilling.spill) {
    refuse_given(given_names, {"--baseline", "--top", "--tokens"}, "--spill has its own answer",
                 "leave it out");
    if (question.request.gpus != 1) {
      bad_option("--spill", fmt::format("it plans one GPU, not {}", question.request.gpus),
                 "give --gpus 1; several models on several GPUs: penstock multi");
    }
    return spilled_answer(question, spilling, output, chosen, verbose, screen);
  }
  refuse_given(given_names, SpillOptions::names(), "it belongs to --spill", "add --spill");
  const bool is_short = chosen == TableFormat::kText && !verbose;
  if (is_short) question.request.top = kTwins * (given.top ? question.request.top : kShown);
  refuse_few_tokens(asked, question.request);
  WatchedSearch watched(question.budget);
  const SearchResult result = best_plans(question.inputs(), question.request, watched);
  // What the search chose where nothing was given.
  if (!result.best.empty()) {
    question.request.sequence_length = result.best.front().plan.sequence_length;
  }
  refuse_few_tokens(asked, question.request);  // also of a length that the search chose
  const std::string remarks =
      remark_of_alike(question) + remarks_on_question(given, question.request);
  Winner winner = winner_of(question, result, other, asked, is_short);
  const int exit = exit_of(result, winner);
  const bool writes = output && !result.best.empty();
  const std::string file =
      writes ? to_text(plan_file_of(question, result, winner)) + '\n' : std::string();
  if (writes && *output != "-") write_output(*output, file);
  if (writes && *output == "-") return {file, exit};
  const bool may_offload = !pins_offload(given);
  if (may_offload && !format.is_table())
    winner.offloaded = faster_with_offload(question, result, watched);
  if (chosen == TableFormat::kJson) {
    return json_answer(json_of(question, result, winner), exit);
  }
  if (format.is_table()) return table_of(result, chosen, asked, exit);
  const std::optional<std::string> written = writes ? output : std::nullopt;
  std::string missing =
      output && !writes ? fmt::format("\n{} was not written: there is no plan\n", *output) : "";
  const Pins& pins = question.request.pins;
  if (result.best.empty() && pins.pipeline == 1 && !pins.schedules.empty()) {
    missing += wrapped(fmt::format("PP = 1 has no pipeline, so {} is the schedule of none: leave "
                                   "out --schedule or PP = 1.",
                                   joined(pins.schedules, ", ")),
                       screen.width(), "", "  ");
  }
  if (result.best.empty() && result.complete) {
    missing += wrapped(fewest_gpus_text(question, asked_of, watched), screen.width(), "", "  ");
    if (const std::string remedy = may_offload ? offload_remedy(question, watched) : "";
        !remedy.empty()) {
      missing += wrapped(remedy, screen.width(), "", "  ");
    }
    if (const std::string remedy = spill_remedy(question); !remedy.empty()) {
      missing += wrapped(remedy, screen.width(), "", "  ");
    }
  }
  const std::string gain =
      winner.offloaded ? offload_gain_text(result.best.front(), *winner.offloaded) : "";
  if (is_short) {
    if (result.best.empty())
      return report_answer(no_plan_answer(question, result, screen) + missing, exit);
    PlanAnswer about = about_of(question, result, winner, screen);
    about.next = next_commands(question, winner, given, written);
    if (!written) about.rerun = command_that_writes(arguments);
    about.faster_otherwise = gain;
    about.shows_all_plans = given.top.has_value();
    Answer answer = report_answer(plan_answer(result, about), exit);
    const Plan& best = result.best.front().plan;
    answer.remark = remarks + remark_of_uneven_plan(question.request, best) +
                    remark_of_idle_gpus(question.request, best) +
                    remark_of_one_group(question.request, best);
    return answer;
  }
  std::string text = report_of(question, result, winner, screen) + missing;
  if (!gain.empty()) text += '\n' + wrapped(gain, screen.width(), "", "  ");
  if (writes) {
    text +=
        fmt::format("\nPlan 1 is in {}; next: penstock explain {}\n", *output, shell_word(*output));
  }
  Answer answer = report_answer(text, exit);
  answer.remark = remarks;
  return answer;
}

}  // namespace penstock
