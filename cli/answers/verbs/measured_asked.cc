#include "cli/answers/verbs/measured_asked.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/layout_as_pins.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/logged_asked.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/has_part.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/measured_time.h"
#include "cli/words/parted_at_commas.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// "observed-step-time", "actual-time", "iteration-time"; no bound, and none of a warm-up.
bool names_step_time(const std::string& plain) {
  const bool is_time = has_part(plain, {"time", "seconds", "secs", "sec", "ms"}),
             is_step = has_part(plain, {"step", "steps", "iteration", "iter", "iterations"}),
             is_seen = has_part(plain, {"observed", "actual", "measured", "real", "recorded"}),
             is_other = has_part(plain, {"max", "min", "limit", "target", "out", "warmup"});
  if (is_other) return false;
  return (is_seen && (is_time || is_step)) || (is_step && is_time) ||
         is_among({"measured", "observed", "actual", "run"}, plain);
}

double number_in(const std::string& text) {
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "7.21", "7.21s"; a bare number that is large is one of milliseconds, as Megatron-LM prints them.
std::string time_in(const std::string& typed) {
  if (std::string time = plain_step_time(typed); !time.empty()) return time;
  constexpr double kManySeconds = 100.0;
  const bool is_bare =
      !typed.empty() && typed.find_first_not_of("0123456789.") == std::string::npos;
  const double number = is_bare ? number_in(typed) : 0.0;
  if (!(number > 0.0)) return "";
  return typed + (number >= kManySeconds ? "ms" : "s");
}

// What was measured, and the words without it.
struct MeasuredStepTyped {
  std::string option, time;
  bool has_unit = true;
  Arguments others;
};

// The middle one of "7.21 7.19 7.20"; of times that have different units, the first.
std::string middle_of(std::vector<std::string> times) {
  std::stable_sort(times.begin(), times.end(), [](const std::string& a, const std::string& b) {
    return number_in(a) < number_in(b);
  });
  return times[(times.size() - 1) / 2];
}

std::optional<MeasuredStepTyped> step_typed(const OptionTable& table, const Arguments& words) {
  for (const GivenOption& option : given_words(table, words).options) {
    const std::string time = time_in(option.value);
    if (!names_step_time(plain_name(option.name)) || time.empty()) continue;
    const bool has_unit = option.value.find_first_not_of("0123456789.") != std::string::npos;
    std::size_t end = option.end;
    std::vector<std::string> times{time};
    for (; end < words.size() && !time_in(words[end]).empty(); ++end) {
      times.push_back(time_in(words[end]));
    }
    Arguments others(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(option.begin));
    others.insert(others.end(), words.begin() + static_cast<std::ptrdiff_t>(end), words.end());
    return MeasuredStepTyped{option.name, middle_of(times), has_unit, std::move(others)};
  }
  return std::nullopt;
}

// "calibrate plan.json 14.6s": a time without an option, with its unit.
std::optional<MeasuredStepTyped> bare_step(const OptionTable& table, const Arguments& words) {
  for (const std::string& word : given_words(table, words).bare) {
    const bool is_time = !word.empty() && word[0] >= '0' && word[0] <= '9' &&
                         word.find_first_not_of("0123456789.") != std::string::npos &&
                         !is_there(word) && !plain_step_time(word).empty();
    if (!is_time) continue;
    Arguments others = words;
    others.erase(std::find(others.begin(), others.end(), word));
    return MeasuredStepTyped{word, plain_step_time(word), true, std::move(others)};
  }
  return std::nullopt;
}

// "11.3s, if that is in seconds".
std::string remark_on_unit(const MeasuredStepTyped& step) {
  if (step.has_unit) return "";
  return fmt::format("; no unit was typed, {} is taken", step.time.ends_with("ms") ? "ms" : "s");
}

// The two questions that a step is told to: of one layout, and of a search.
std::string commands_of_model(const std::string& model, const MeasuredStepTyped& step) {
  Arguments predicted = with_taken("predict", {model}, step.others);
  predicted.insert(predicted.end(), {kMeasured, step.time});
  std::string help = whole_command("predict", predicted) + " fits the prediction to it";
  const std::string layout = layout_typed(step.others);
  if (layout.empty()) {
    return help + "; write the GPU and the layout of the run that took " + step.time;
  }
  Arguments planned = with_taken("plan", {model}, step.others);
  planned.insert(planned.end(), {kMeasured, layout + ": " + step.time});
  return help + "; plans that are fitted to it: " + whole_command("plan", planned);
}

std::string commands_of_plan(const std::string& plan, const MeasuredStepTyped& step) {
  const PlanMade made = plan_made(plan);
  const std::string predicted = command_for_its_model("predict", {plan, kMeasured, step.time});
  if (predicted.empty() || made.layout.empty()) {
    return "penstock predict ... --measured " + step.time + ", with the layout that ran";
  }
  const std::string planned =
      command_for_its_model("plan", {plan, kMeasured, made.layout + ": " + step.time});
  return fmt::format(
      "{} fits the prediction of the layout in {} to it; plans that are fitted to it: {}",
      predicted, plan, planned);
}

void refuse_step_in_calibrate(const Arguments& words, const OptionTable& table) {
  auto step = step_typed(table, words);
  if (!step) step = bare_step(table, words);
  const TypedFiles files = typed_files(words);
  const bool has_plan = !files.plans.empty() && is_there(files.plans.front());
  if (!step || (files.models.empty() && !has_plan)) return;
  // A file of runs names a file of the cluster, which a plan of an assumed one has not.
  const std::string plan = has_plan ? files.plans.front() : "plan.json";
  const bool is_assumed = has_plan && plan_made(plan).cluster.empty();
  throw_bad_input(fmt::format(
      "{}: calibrate fits to a file of runs, and one step is told to a prediction\nhelp: {}{}{}",
      step->option,
      has_plan ? commands_of_plan(plan, *step) : commands_of_model(files.models.front(), *step),
      remark_on_unit(*step),
      is_assumed ? ""
                 : "; several runs make a file: " +
                       command_of("validate", {plan, "train.log", "--add-to", "runs.json"})));
}

// Runs with their layouts, "TP=4 PP=2 mbs=1 gbs=128: 14660ms", and the words without them.
struct RunsTyped {
  std::string option;  // of the first
  std::vector<std::string> runs;
  Arguments others;
  bool has_units = true;
};

std::string layout_of_run(const std::string& run) { return run.substr(0, run.rfind(':')); }

// "DP=8 mbs=1 gbs=64 4.2s" as "DP=8 mbs=1 gbs=64: 4.2s".
std::string with_colon(const std::string& run) {
  const std::size_t blank = run.rfind(' ');
  const bool lacks_it = run.find(':') == std::string::npos && run.find('=') < blank &&
                        blank != std::string::npos && !time_in(run.substr(blank + 1)).empty();
  return lacks_it ? run.substr(0, blank) + ": " + run.substr(blank + 1) : run;
}

// "..: 5200" as "..: 5200ms".
std::string with_unit(const std::string& typed) {
  const std::string run = with_colon(typed);
  const std::size_t begin = run.find_first_not_of(' ', run.rfind(':') + 1);
  const std::size_t end = std::min(run.find(',', begin), run.size());
  std::string text = run;
  return text.replace(begin, end - begin, time_in(run.substr(begin, end - begin)));
}

// Whatever the option is called: nothing else is said in this form.
bool is_run(const std::string& typed) {
  const std::string value = with_colon(typed);
  const std::size_t colon = value.rfind(':');
  if (colon == std::string::npos || value.find('=') > colon) return false;
  const std::size_t begin = value.find_first_not_of(' ', colon + 1);
  if (begin == std::string::npos) return false;
  return !time_in(value.substr(begin, value.find(',', begin) - begin)).empty();
}

std::optional<RunsTyped> runs_typed(const OptionTable& table, const Arguments& words) {
  std::vector<GivenOption> found;
  for (const GivenOption& option : given_words(table, words).options) {
    if (is_run(option.value)) found.push_back(option);
  }
  if (found.empty()) return std::nullopt;
  RunsTyped typed{found.front().name, {}, without(words, found)};
  typed.has_units = std::all_of(found.begin(), found.end(), [](const GivenOption& option) {
    return with_unit(option.value) == with_colon(option.value);
  });
  for (const GivenOption& option : found) typed.runs.push_back(with_unit(option.value));
  return typed;
}

// GPUs, batch and length of the run, where the words say no others: it is of them that the search
// is asked.
Arguments question_of_run(const std::string& run, const Arguments& words) {
  const Arguments pins = with_layout_as_pins("plan", {"--layout", layout_of_run(run)});
  Arguments question;
  const auto add = [&](std::string_view option, std::initializer_list<std::string_view> said) {
    const auto value = value_of(pins, {option});
    if (value && !value_of(words, said)) {
      question.insert(question.end(), {std::string(option), *value});
    }
  };
  add("--gpus", {"--gpus", "--nodes", "--cluster"});
  add("--global-batch", {"--global-batch", "--gbs", "--global-batch-tokens"});
  add("--sequence-length", {"--sequence-length"});
  return question;
}

// The search that is fitted to the runs; of no model the part of it that was typed.
std::string search_fitted_to(const RunsTyped& typed, const TypedFiles& files) {
  Arguments measured;
  for (const std::string& run : typed.runs) measured.insert(measured.end(), {kMeasured, run});
  const bool has_plan = !files.plans.empty() && is_there(files.plans.front());
  if (has_plan && files.models.empty()) {
    Arguments words = with_taken("plan", {files.plans.front()}, typed.others);
    words.insert(words.end(), measured.begin(), measured.end());
    if (std::string command = command_for_its_model("plan", words); !command.empty()) {
      return command;
    }
  }
  if (files.models.empty()) {
    measured.insert(measured.begin(), "...");
    return command_of("plan", measured);
  }
  Arguments words = with_taken("plan", {files.models.front()}, typed.others);
  const Arguments question = question_of_run(typed.runs.front(), words);
  words.insert(words.end(), question.begin(), question.end());
  words.insert(words.end(), measured.begin(), measured.end());
  return whole_command("plan", words);
}

// "calibrate config.json --measured 'TP=4 PP=2 mbs=1 gbs=128: 14660ms'".
void refuse_runs_elsewhere(const std::string& verb, const Arguments& words,
                           const OptionTable& table) {
  const auto typed = runs_typed(table, words);
  if (!typed) return;
  const TypedFiles files = typed_files(words);
  throw_bad_input(fmt::format(
      "{}: {}, and a run with its layout is told to a search\nhelp: {}{}; several runs make a "
      "file: {}",
      typed->option,
      verb == "validate" ? "validate compares a plan with a log"
                         : "calibrate fits to a file of runs",
      search_fitted_to(*typed, files), typed->has_units ? "" : "; the unit was taken by its size",
      command_of("validate", {files.plans.empty() ? "plan.json" : files.plans.front(), "train.log",
                              "--add-to", "runs.json"})));
}

// "--measured 'TP=4 PP=4 mbs=1 gbs=128: 41% MFU'": what is no time of a step is told here as a
// search tells it.
void refuse_other_measures(const Arguments& words, const OptionTable& table) {
  for (const GivenOption& option : given_words(table, words).options) {
    const std::size_t colon = option.value.rfind(':');
    if (plain_name(option) != "measured" || is_run(option.value) || option.value.empty()) continue;
    const bool has_layout = colon != std::string::npos && option.value.find('=') < colon;
    const std::string layout = has_layout ? option.value.substr(0, colon) : "";
    const std::size_t begin =
        has_layout ? std::min(option.value.find_first_not_of(' ', colon + 1), option.value.size())
                   : 0;
    const std::string value = option.value.substr(begin);
    static_cast<void>(step_time_of(value, layout, Plan{}));  // throws what it says of such a one
  }
}

// The runs of a table with a line of names, "tp,pp,dp,mbs,gbs,step_time_s"; empty of other files.
std::vector<std::string> runs_in_table(const std::string& path) {
  constexpr std::size_t kMostRuns = 4;
  std::istringstream lines(load_text(path, ""));
  std::string line;
  std::getline(lines, line);
  const Arguments names = parted_at_commas(line);
  std::vector<std::string> runs;
  while (runs.size() < kMostRuns && std::getline(lines, line)) {
    const Arguments cells = parted_at_commas(line);
    std::string layout, time;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) {
      const std::string plain = plain_name(names[i]), key = key_called(plain);
      if (plain.find("step") != std::string::npos || plain.find("time") != std::string::npos) {
        time = plain.ends_with("ms")   ? cells[i] + "ms"
               : plain.ends_with("-s") ? cells[i] + 's'
                                       : time_in(cells[i]);
      } else if (!key.empty() && is_digits(cells[i])) {
        layout += fmt::format("{}{}={}", layout.empty() ? "" : " ", field_word(key), cells[i]);
      }
    }
    if (layout.empty() || time.empty()) return {};
    runs.push_back(fmt::format("{}: {}", layout, time));
  }
  return runs;
}

// "calibrate runs.csv".
void refuse_table_in_calibrate(const Arguments& words) {
  const auto table = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.ends_with(".csv") && is_there(word);
  });
  if (table == words.end()) return;
  RunsTyped typed{*table, runs_in_table(*table), {}};
  if (typed.runs.empty()) return;
  TypedFiles files = typed_files(words);
  if (files.models.empty() && is_there("config.json")) files.models = {"config.json"};
  throw_bad_input(fmt::format(
      "{}: this is a table, and --runs takes JSON (penstock.runs/1), which penstock validate PLAN "
      "LOG --add-to runs.json writes\nhelp: runs with their layouts are told to a search: {}",
      *table, search_fitted_to(typed, files)));
}

// "validate plan.json --measured 5.2s".
void refuse_step_in_validate(const Arguments& words, const OptionTable& table) {
  const auto step = step_typed(table, words);
  const Arguments plans = typed_files(words).plans;
  if (!step || plans.empty() || !is_there(plans.front())) return;
  throw_bad_input(fmt::format(
      "{}: validate compares a plan with a log, and one step is told to a prediction\nhelp: {}{}; "
      "{}; the log of a run: {}",
      step->option, compared_with_plan(plans.front(), step->time), remark_on_unit(*step),
      commands_of_plan(plans.front(), *step),
      command_of("validate", {plans.front(), "train.log"})));
}

// "plan config.json --tp 4 --observed-step-time 11.3": the layout that ran is what was typed.
void refuse_step_in_search(const std::string& verb, const Arguments& words,
                           const OptionTable& table) {
  const auto step = step_typed(table, words);
  if (!step || step->option == kMeasured) return;
  const std::string layout = verb == "predict" ? "" : layout_typed(step->others);
  if (layout.empty() && verb != "predict") {
    throw_bad_input(fmt::format(
        "unknown option '{}'\nhelp: the layout that ran is said beside its time: {} "
        "--measured \"TP=4 PP=4 DP=2 mbs=1 gbs=128: {}\"{}",
        step->option, command_of(verb, step->others), step->time, remark_on_unit(*step)));
  }
  Arguments command = step->others;
  command.insert(command.end(),
                 {kMeasured, layout.empty() ? step->time : layout + ": " + step->time});
  throw_bad_input(fmt::format(
      "unknown option '{}'\nhelp: write {}{}{}", step->option, whole_command(verb, command),
      layout.empty() ? "" : ", with the layout that ran before the colon", remark_on_unit(*step)));
}

// Of "--pin TP=4,PP=2" and "--layout 'TP=4 PP=2'" each pair, of "--tp 4" the one.
std::vector<std::pair<std::string, std::string>> pairs_of(const GivenOption& option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (option.name != "--pin" && option.name != "--layout") {
    pairs.emplace_back(key_called(plain_name(option.name)), option.value);
    return pairs;
  }
  std::string list = option.value;
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream parts(list);
  for (std::string part; parts >> part;) {
    const std::size_t equals = std::min(part.find('='), part.size());
    if (equals < part.size()) {
      pairs.emplace_back(key_called(part.substr(0, equals)), part.substr(equals + 1));
    }
  }
  return pairs;
}

}  // namespace

std::string layout_typed(const Arguments& words) {
  constexpr std::array<std::string_view, 8> kOrder{"T", "P",  "D", "C",
                                                   "V", "EP", "b", "global-batch"};
  std::vector<std::string> values(kOrder.size());
  for (const GivenOption& option : given_words(options_of(*find_verb("plan")), words).options) {
    for (const auto& [key, value] : pairs_of(option)) {
      const auto place = std::find(kOrder.begin(), kOrder.end(), key);
      const bool is_number =
          !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
      if (place != kOrder.end() && is_number) {
        values[static_cast<std::size_t>(place - kOrder.begin())] = value;
      }
    }
  }
  constexpr std::size_t kDegrees = 3, kMicroBatch = 6;
  const bool has_degree = std::any_of(values.begin(), values.begin() + kDegrees,
                                      [](const std::string& value) { return !value.empty(); });
  if (!has_degree || values.back().empty()) return "";
  if (values[kMicroBatch].empty()) values[kMicroBatch] = "1";
  std::string layout;
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (values[i].empty()) continue;
    layout += fmt::format("{}{}={}", layout.empty() ? "" : " ", field_word(kOrder[i]), values[i]);
  }
  return layout;
}

void refuse_measured_elsewhere(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  if (verb == "calibrate") {
    refuse_runs_elsewhere(verb, words, table);
    refuse_step_in_calibrate(words, table);
    refuse_other_measures(words, table);
    refuse_table_in_calibrate(words);
    refuse_log_in_calibrate(words);
  }
  if (verb == "validate") {
    refuse_runs_elsewhere(verb, words, table);
    refuse_step_in_validate(words, table);
    refuse_other_measures(words, table);
  }
  if (verb == "plan" || verb == "compare" || verb == "predict") {
    refuse_step_in_search(verb, words, table);
  }
}

}  // namespace penstock
