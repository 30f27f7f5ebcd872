#include "cli/answers/verbs/other_question.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/asked_of_plan.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/answers/verbs/comparison_asked.h"
#include "cli/answers/verbs/managed_job.h"
#include "cli/answers/verbs/mixed_devices.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/number_spellings.h"
#include "core/values/error.h"

namespace penstock {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& help) {
  throw_bad_input(fmt::format("{}\nhelp: {}", what, help));
}

std::string model_in(const Arguments& words) {
  const Arguments models = typed_files(words).models;
  return models.size() == 1 ? models.front() : "";
}

// A whole number of at most six digits; else 0.
std::int64_t number_in(const std::string& text) {
  constexpr std::size_t kMostDigits = 6;
  std::int64_t number = 0;
  if (!is_digits(text) || text.size() > kMostDigits) return 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "why config.json --dp 8 --vs --pp 8", "plan config.json --tp '<=2'".
void refuse_compared(const std::string& verb, const Arguments& words) {
  if (!is_among({"plan", "predict", "compare", "explain", "simulate"}, verb)) return;
  if (value_of(words, {"--vary"})) return;
  const std::string command = comparison_asked(words);
  if (command.empty()) return;
  refuse("several layouts are asked about",
         "they are put beside each other by " + command +
             (command.find("PP=1") == command.npos ? "" : " (PP=1 has no pipeline)"));
}

// "check config.json --tp 1 --pp 1": what is asked is whether a layout fits. A profile alone is a
// file that is checked.
void refuse_checked_model(const std::string& verb, const Arguments& words) {
  if (verb != "check" || words.empty()) return;
  const FileRole role = role_of(words.front());
  if (role != FileRole::kModel && role != FileRole::kProfile) return;
  bool has_degrees = false;
  for (const GivenOption& option : given_words({}, words).options) {
    const std::string key = key_called(plain_name(option.name));
    has_degrees = has_degrees || is_among({"T", "P", "D", "C", "EP"}, key) ||
                  plain_name(option.name) == "layout";
  }
  if (role == FileRole::kProfile && !has_degrees) return;
  const Arguments others(words.begin() + 1, words.end());
  const std::string planned = whole_command("plan", with_taken("plan", {words.front()}, others));
  const std::string what =
      fmt::format("{}: this is {}, and a plan or a launch file belongs here", words.front(),
                  role == FileRole::kModel ? "a model's config.json" : "a profile");
  if (!has_degrees) refuse(what, planned + " finds layouts that fit");
  refuse(what, fmt::format("{} says whether that layout fits; {} finds layouts that do",
                           whole_command("predict", with_taken("predict", {words.front()}, others)),
                           planned));
}

// "0.05", "5%" and "5" in percent; empty of other words.
std::string in_percent(std::string text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.pop_back();
  constexpr std::string_view kPoint = "0.";
  const bool is_number = !text.empty() && text.size() < 9 &&
                         text.find_first_not_of("0123456789.") == text.npos &&
                         std::count(text.begin(), text.end(), '.') <= 1;
  if (!is_number) return "";
  if (is_percent || !text.starts_with(kPoint)) return text;
  return fmt::format("{:g}", std::stod(text) * 100);
}

// "--noise 0.05", "--jitter 5%": a spread has a number in percent.
void refuse_noise(const OptionTable& table, const Arguments& words) {
  if (row_named(table, "--jitter-percent") == nullptr) return;
  for (const GivenOption& option : given_words({}, words).options) {
    const bool is_spread = is_among(
        {"noise", "jitter", "variance", "variation", "sigma", "std", "stddev", "cv", "random"},
        plain_name(option.name));
    const std::string percent = is_spread ? in_percent(option.value) : "";
    if (percent.empty()) continue;
    const std::string verb = verb_of(table);
    refuse(fmt::format("{}: a spread is given in percent, with --jitter-percent", option.name),
           whole_command(verb, with_instead(words, option, {"--jitter-percent", percent})));
  }
}

// "schedule --file my.csv": the list of actions is the argument.
void refuse_named_list(const OptionTable& table, const Arguments& words) {
  if (verb_of(table) != "schedule") return;
  for (const GivenOption& option : given_words(table, words).options) {
    const bool is_file = is_among({"file", "input", "load", "from", "from-file", "schedule-file",
                                   "actions", "order", "import", "custom", "read"},
                                  plain_name(option.name));
    if (!is_file || option.value.empty() || row_named(table, option.name) != nullptr) continue;
    const bool is_list = option.value.ends_with(".csv");
    const std::string path = is_list ? option.value : "my.csv";
    refuse(fmt::format("unknown option '{}'", option.name),
           fmt::format("a schedule of your own is the argument without a name, a list of actions "
                       "as PyTorch writes it (.csv, a rank a line, \"0F0,0F1,0B0\"): {}; stages "
                       "and micro-batches are those of the list{}",
                       whole_command("schedule", {path}),
                       is_list ? "" : fmt::format("; {} belongs into such a file", option.value)));
  }
}

bool names_availability(const std::string& plain) {
  return plain.find("trace") != plain.npos || plain.find("spot") != plain.npos ||
         plain.find("availability") != plain.npos || plain.find("preempt") != plain.npos;
}

// "simulate config.json --gpus 48 --spot-trace nodes.csv": GPUs that come and go are replayed with
// a book of plans.
void refuse_availability(const OptionTable& table, const Arguments& words) {
  const std::string model = model_in(words);
  if (model.empty()) return;
  const std::vector<GivenOption> options = given_words(table, words).options;
  for (const GivenOption& option : options) {
    const bool is_it = names_availability(plain_name(option.name)) &&
                       option.value.ends_with(".csv") && row_named(table, option.name) == nullptr;
    if (!is_it) continue;
    const Arguments others = with_instead(words, option, {});
    Arguments book = with_taken("plan", {model}, others);
    const std::string most = value_of(book, {"--gpus"}).value_or("64");
    for (const GivenOption& each : given_words({}, book).options) {
      if (each.name != "--gpus" && each.name != "-o") continue;
      book = with_instead(book, each, {});
      break;
    }
    const std::string counts = number_in(most) <= 8       ? "1.." + most
                               : number_in(most) % 8 == 0 ? "8.." + most + ":8"
                                                          : "8.." + most;
    book.insert(book.end(), {"--gpus", is_digits(most) ? counts : most, "-o", "book.json"});
    refuse(fmt::format("unknown option '{}'", option.name),
           fmt::format("GPUs that come and go are replayed with a book of plans: {}; then {}",
                       whole_command("plan", book),
                       whole_command("morph", {"--book", "book.json", "--trace", option.value})));
  }
}

// "--num-microbatches 32" beside a global batch: the replicas that leave each of them so many.
void refuse_micro_batches(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  if (verb != "plan" && verb != "compare") return;
  const std::vector<GivenOption> options = given_words(table, words).options;
  std::int64_t batch = 0, micro_batches = 0, size = 0;
  const GivenOption* counted = nullptr;
  for (const GivenOption& option : options) {
    const std::string key = key_called(plain_name(option.name));
    if (key == "D") return;
    if (key == "global-batch") batch = number_in(option.value);
    if (key == "b") size = number_in(option.value);
    if (key != "M" || row_named(table, option.name) != nullptr) continue;
    micro_batches = number_in(option.value);
    counted = &option;
  }
  const bool has_size = size > 0;
  const std::int64_t of_replica = micro_batches * std::max<std::int64_t>(size, 1);
  if (counted == nullptr || batch == 0 || of_replica == 0 || batch % of_replica != 0) return;
  const std::int64_t replicas = batch / of_replica;
  const std::string pin =
      fmt::format("DP={}{}", replicas, has_size ? std::string() : std::string(",mbs=1"));
  refuse(fmt::format("unknown option '{}'", counted->name),
         fmt::format("{} micro-batches of {} follow from DP {} at a global batch of {}: {}",
                     micro_batches, std::max<std::int64_t>(size, 1), replicas, batch,
                     whole_command(verb, with_instead(words, *counted, {"--pin", pin}))));
}

// "--seq-len 100-4000" beside a batch in samples: `dynamic` counts its tokens.
void refuse_range_of_lengths(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table), model = model_in(words);
  if (model.empty() || (verb != "plan" && verb != "compare")) return;
  const std::vector<GivenOption> options = given_words(table, words).options;
  const GivenOption* range = nullptr;
  std::int64_t batch = 0;
  for (const GivenOption& option : options) {
    const std::string key = key_called(plain_name(option.name));
    if (key == "global-batch") batch = number_in(option.value);
    if (key == "sequence-length" && is_range(option.value)) range = &option;
  }
  if (range == nullptr || batch == 0) return;
  const std::string& text = range->value;
  const std::int64_t least = number_in(text.substr(0, text.find_first_of(".-:"))),
                     most = number_in(text.substr(text.find_last_of(".-:") + 1));
  if (least == 0 || most <= least) return;
  const std::int64_t mean = (least + most) / 2;
  Arguments command = with_taken("dynamic", {model}, with_instead(words, *range, {}));
  constexpr const char* kShipped = "data/lengths/flan-cot.csv";
  command.insert(command.end(), {"--lengths", is_there(kShipped) ? kShipped : "lengths.csv",
                                 "--tokens-per-batch", fmt::format("{}", batch * mean)});
  refuse(fmt::format("{}: '{}' is a range, and one number belongs here", range->name, text),
         fmt::format("samples of different lengths are planned by {} (a file with a length a line, "
                     "yours in its place; {} samples of {} tokens, the middle of the range, are {} "
                     "tokens); penstock compare plans for several values: --vary "
                     "sequence-length={}",
                     whole_command("dynamic", command), batch, mean, batch * mean,
                     values_in_range(text)));
}

// "schedule config.json --device h100-sxm -P 4 -M 8": schedules of a model are compared, with as
// many ranks and micro-batches.
void refuse_schedule_of_model(const OptionTable& table, const Arguments& words) {
  const GivenWords given = given_words(table, words);
  if (verb_of(table) != "schedule" || given.bare.empty() || !is_model_file(given.bare.front())) {
    return;
  }
  std::string ranks, micro_batches, chunks, schedules = "1f1b,zb-h1";
  std::vector<GivenOption> counts;
  for (const GivenOption& option : given.options) {
    const std::string key = key_called(plain_name(option.name));
    const bool is_schedule = plain_name(option.name) == "schedule" && !option.value.empty();
    const bool is_count = is_among({"P", "M", "V"}, key) && number_in(option.value) > 0;
    if (!is_schedule && !is_count) continue;
    std::string& value = is_schedule  ? schedules
                         : key == "P" ? ranks
                         : key == "M" ? micro_batches
                                      : chunks;
    value = option.value;
    counts.push_back(option);
  }
  if (ranks.empty() && micro_batches.empty()) return;
  if (ranks.empty()) ranks = "4";
  if (micro_batches.empty()) micro_batches = std::to_string(2 * number_in(ranks));
  Arguments command = with_taken("compare", {given.bare.front()}, without(words, counts));
  // Every replica has as many micro-batches, of one sample.
  const std::string gpus = value_of(command, {"--gpus"}).value_or(ranks);
  const bool are_replicas = number_in(gpus) > 0 && number_in(gpus) % number_in(ranks) == 0;
  const std::int64_t replicas = are_replicas ? number_in(gpus) / number_in(ranks) : 1;
  const std::string pins =
      fmt::format("PP={}{}{},mbs=1", ranks, replicas > 1 ? fmt::format(",DP={}", replicas) : "",
                  chunks.empty() ? "" : ",VP=" + chunks);
  for (const auto& [name, value] :
       {std::pair{"--gpus", gpus},
        std::pair{"--global-batch", std::to_string(replicas * number_in(micro_batches))}}) {
    if (!value_of(command, {name})) command.insert(command.end(), {name, value});
  }
  command.insert(command.end(), {"--pin", pins, "--vary", "schedule=" + schedules});
  refuse(fmt::format("{}: this is a model, and the name of a schedule belongs here",
                     given.bare.front()),
         fmt::format("schedules of a model with {} ranks and {} micro-batches: {}", ranks,
                     micro_batches, whole_command("compare", command)));
}

// "plan config.json other.json --share": jobs beside each other.
void refuse_sharing(const OptionTable& table, const Arguments& words) {
  if (verb_of(table) != "plan") return;
  for (const GivenOption& option : given_words(table, words).options) {
    const bool is_it = is_among(
        {"share", "shared", "sharing", "colocate", "co-locate", "multi-job", "multi-tenant"},
        plain_name(option.name));
    if (!is_it || row_named(table, option.name) != nullptr) continue;
    const Arguments others = with_instead(words, option, {});
    refuse(fmt::format("unknown option '{}'", option.name),
           fmt::format("one model is planned at a time; jobs that share GPUs are a list "
                       "(data/multi has some to copy): {}; or plan each model on a part of the "
                       "GPUs, with a smaller --gpus",
                       whole_command("multi", with_taken("multi", {"jobs.json"}, others))));
  }
}

}  // namespace

void refuse_other_question(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table);
  refuse_mixed_devices(table, words);
  refuse_asked_of_plan(table, words);
  refuse_of_managed_job(table, words);
  refuse_schedule_of_model(table, words);
  refuse_compared(verb, words);
  refuse_checked_model(verb, words);
  refuse_noise(table, words);
  refuse_named_list(table, words);
  refuse_availability(table, words);
  refuse_micro_batches(table, words);
  refuse_range_of_lengths(table, words);
  refuse_sharing(table, words);
}

}  // namespace penstock
