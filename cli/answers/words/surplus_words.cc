// What is said of a word without dashes that a verb has no place for: the first answer that fits.
// The nearer one to what was typed stands before the more general one, and the last says at least
// how the command is without the word.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/surplus_file.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/option_readings.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/words/moved_words.h"
#include "cli/answers/words/parted_value.h"
#include "cli/answers/words/placed_words.h"
#include "cli/answers/words/surplus_pairs.h"
#include "cli/answers/words/surplus_word.h"
#include "cli/answers/words/value_of_flag.h"
#include "cli/io/shell_word.h"
#include "cli/options/options_entry.h"
#include "cli/words/environment_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "cli/words/schedule_spelled.h"
#include "cli/words/trainer_called.h"
#include "report/words.h"

namespace penstock {
namespace {

bool is_number(const std::string& word) {
  return word.find_first_not_of("0123456789") == std::string::npos;
}

// "--gpus 64 \\ --global-batch 512": the backslash of a line's end, in the middle of one.
std::string help_for_backslash(const SurplusWord& surplus) {
  if (!surplus.word.starts_with(' ')) return "";
  Arguments own = surplus.own;
  for (std::string& word : own) word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
  std::erase(own, "");
  return "a backslash makes the blank behind it a part of the word; leave it out: " +
         command_of(surplus.verb(), own);
}

// "NCCL_DEBUG=INFO", "GLOBAL_BATCH=512".
std::string help_for_environment(const SurplusWord& surplus) {
  if (!is_environment_setting(surplus.word)) return "";
  std::string help = is_of_a_library(surplus.word) ? "" : help_for_assignment(surplus);
  if (!help.empty()) return help;
  return "leave it out here: a setting of the environment stands before the command, and none "
         "changes the answer";
}

// "@args.txt".
std::string help_for_arguments_file(const SurplusWord& surplus) {
  if (!surplus.word.starts_with('@') || surplus.word.size() < 2) return "";
  return "no file of arguments is read, write them here (or $(cat " + surplus.word.substr(1) +
         "), which the shell puts in its place): " +
         whole_command(surplus.verb(), surplus.others());
}

// "--why-not PP=8 DP=8".
std::string help_for_further_pair(const SurplusWord& surplus) {
  const auto place = surplus.place();
  const bool is_it =
      surplus.word.find('=') != std::string::npos && place - surplus.own.begin() > 1 &&
      is_among({"--why-not", "--pin"}, *(place - 2)) && (place - 1)->find('=') != std::string::npos;
  return is_it ? help_for_parted_list(surplus) : "";
}

std::string key_of(const std::string& pair) { return pair.substr(0, pair.find('=')); }

// Puts a further word behind the list "mbs=1", a value or a pair of its own key, "mbs=2", as a
// shell makes of "mbs={1,2}"; another key has a list of its own.
void continue_list(Arguments& words, const std::string& word) {
  if (is_among({"vs", "and", "or", "versus"}, word)) return;
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos && key_of(word) != key_of(words.back())) {
    words.insert(words.end(), {"--vary", word});
    return;
  }
  words.back() += (words.back().ends_with(',') || words.back().ends_with('=') ? "" : ",") +
                  word.substr(equals == std::string::npos ? 0 : equals + 1);
}

// A file beside a list is the model, but in a list of clusters.
bool may_continue(const std::string& list, const std::string& word) {
  return !word.starts_with('-') && (!is_there(word) || list.starts_with("cluster="));
}

// "--vary gpus=32 64 --vary schedule=1f1b zb-h1", "--vary tp=1,2 pp=1,2": each list as one word.
std::string help_for_varied_lists(const SurplusWord& surplus) {
  const auto place = surplus.place();
  const bool is_it = place - surplus.own.begin() > 1 && *(place - 2) == "--vary" &&
                     (place - 1)->find('=') != std::string::npos &&
                     may_continue(*(place - 1), surplus.word);
  const bool is_pair = surplus.word.find('=') != std::string::npos;
  const bool is_same = is_it && key_of(surplus.word) == key_of(*(place - 1));
  if (!is_it || (is_pair && !is_same && surplus.word.find(',') == std::string::npos)) return "";
  Arguments words;
  bool is_in_list = false;
  for (std::size_t i = 0; i < surplus.own.size(); ++i) {
    const std::string& word = surplus.own[i];
    const bool begins = i > 0 && surplus.own[i - 1] == "--vary";
    const bool continues = is_in_list && may_continue(words.back(), word);
    if (continues) {
      continue_list(words, word);
    } else {
      words.push_back(word);
    }
    is_in_list = begins ? word.find('=') != std::string::npos : continues;
  }
  return "a list is one word, with commas: " + command_of(surplus.verb(), words);
}

// "config.json h100 64 512", "config.json on 64 h100": the whole command with their options.
std::string help_for_placed(const SurplusWord& surplus) {
  const std::string first = first_argument(surplus.usage);
  if (first != "MODEL" && first != "CONFIG") return "";
  const Arguments& own = surplus.own;
  Arguments left = surplus.left, kept;
  const auto options = words_as_options(left, own, surplus.asked);
  if (!options) return first == "CONFIG" ? placed_command("plan", own) : "";
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto found = std::find(left.begin(), left.end(), own[i]);
    if (found != left.end() && (i == 0 || !surplus.asked.index().takes_value(own[i - 1]))) {
      left.erase(found);
    } else {
      kept.push_back(own[i]);
    }
  }
  kept.insert(kept.end(), options->begin(), options->end());
  return "write " + command_of(surplus.verb(), kept);
}

// "tp 8 pp 4" and no value.
std::string help_for_bare_degrees(const SurplusWord& surplus) {
  const bool may_be = surplus.word.find('=') == std::string::npos && surplus.own.size() > 1 &&
                      !is_there(surplus.word) && !surplus.is_given("--layout");
  return may_be ? help_for_degrees(surplus) : "";
}

std::string help_for_moved_word(const SurplusWord& surplus) {
  return help_for_moved(surplus.own, surplus.left, surplus.asked);
}

// "--gpus 8 nodes" of a verb that counts nodes.
std::string command_with_nodes(const SurplusWord& surplus) {
  Arguments own = surplus.own;
  const auto at = std::find(own.begin(), own.end(), surplus.word);
  const bool is_of_gpus = at - own.begin() > 1 && *(at - 2) == "--gpus";
  if (!is_of_gpus) return "--nodes " + *(at - 1);
  *(at - 2) = "--nodes";
  own.erase(at);
  return whole_command(surplus.verb(), own);
}

std::string gpus_of_nodes(const std::string& nodes) {
  constexpr std::int64_t kUsual = 8, kMost = 1 << 14;
  std::int64_t count = 0;
  std::from_chars(nodes.data(), nodes.data() + nodes.size(), count);
  const bool is_count = count > 0 && count <= kMost;
  return std::string("--gpus takes the GPUs of all nodes") +
         (is_count ? fmt::format("; of {} with {} each write --gpus {}", count_of(count, "node"),
                                 kUsual, count * kUsual)
                   : "");
}

// "8 nodes".
std::string help_for_nodes(const SurplusWord& surplus) {
  if (surplus.word != "nodes" && surplus.word != "node") return "";
  const auto at = surplus.place();
  if (at == surplus.own.begin() || !is_number(*(at - 1))) return "";
  if (surplus.has("--nodes")) return "write " + command_with_nodes(surplus);
  return surplus.has("--gpus") ? gpus_of_nodes(*(at - 1)) : "";
}

// "gpus 64", "/gpus 64".
std::string help_for_dashes(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (word.starts_with('/') && !is_there(word) && surplus.has("--" + word.substr(1))) {
    return fmt::format("it begins with two dashes: --{}", word.substr(1));
  }
  return surplus.has("--" + word) ? fmt::format("it begins with two dashes: --{}", word) : "";
}

// Of verbs that answer about one thing.
std::string help_for_one_at_a_time(const SurplusWord& surplus) {
  const Arguments& own = surplus.own;
  if (surplus.usage.starts_with("completions")) {
    return fmt::format("one shell at a time: penstock completions {}", own[0]);
  }
  if (surplus.usage.starts_with("tell ") && own.size() > 2 && !is_number(surplus.word)) {
    return fmt::format("one machine at a time: penstock tell {} {} {}", own[0], own[1], own[2]);
  }
  if (surplus.usage != "man") return "";
  return "the manual is one page; penstock " + surplus.word + " --help explains one verb";
}

// "export plan.json megatron", "--vary tp 1,2".
std::string help_for_choice(const SurplusWord& surplus) {
  const auto at = surplus.place();
  const bool is_of_keys = at - surplus.own.begin() > 1 &&
                          is_among({"--vary", "--why-not"}, *(at - 2)) &&
                          (at - 1)->find('=') == std::string::npos;
  if (is_of_keys) return help_for_parted_list(surplus);
  return surplus.choice.empty() ? "" : "it follows its option: " + joined(surplus.choice, " ");
}

// "schedule 1f1b 4 8", "explain plan.json 2".
std::string help_for_number(const SurplusWord& surplus) {
  const std::string& word = surplus.word;
  if (!is_number(word)) return "";
  if (surplus.has("--gpus") && !surplus.is_given("--gpus")) {
    return "a number of GPUs follows its option: --gpus " + word;
  }
  if (surplus.has("-P")) {
    const bool has_second = surplus.left.size() > 1 && is_digits(surplus.left[1]);
    return fmt::format("ranks and micro-batches have options: -P {} -M {}", word,
                       has_second ? surplus.left[1] : "8");
  }
  if (!surplus.has("--why-not")) return "";
  return fmt::format(
      "a file holds one plan; another row of the answer is asked for by what stands in it: {}",
      command_of(surplus.verb(), {surplus.own[0], "--why-not", "TP=8,PP=4"}));
}

std::string help_for_pair(const SurplusWord& surplus) {
  return surplus.word.find('=') == std::string::npos ? "" : help_for_assignment(surplus);
}

std::string help_for_needed_device(const SurplusWord& surplus) {
  const bool needs_device =
      surplus.usage.find(" --device NAME") != std::string::npos && !surplus.is_given("--device");
  return needs_device && !looks_like_file(surplus.word)
             ? "it follows its option: --device " + surplus.word
             : "";
}

// "manage job.json machines.csv".
std::string help_for_recording(const SurplusWord& surplus) {
  if (!surplus.usage.starts_with("manage") || !surplus.word.ends_with(".csv")) return "";
  return fmt::format(
      "a running job hears of machines by penstock tell; penstock morph --book book.json --trace "
      "{} replays a recording",
      surplus.word);
}

// "schedule 1f1b zb-h1".
std::string help_for_schedules(const SurplusWord& surplus) {
  const auto first = std::find_if(surplus.own.begin(), surplus.own.end(), [](const auto& word) {
    return !schedule_spelled(word.substr(0, word.find(','))).empty();
  });
  if (surplus.verb() != "schedule" || first == surplus.own.end()) return "";
  Arguments schedules{*first};
  for (const std::string& each : surplus.left) {
    if (!schedule_spelled(each).empty()) schedules.push_back(each);
  }
  if (schedules.size() == 1) {
    return fmt::format("leave it out: usage: penstock {}", surplus.usage);
  }
  Arguments words = surplus.own;
  words[static_cast<std::size_t>(first - surplus.own.begin())] = joined(schedules, ",");
  for (const std::string& each : surplus.left) std::erase(words, each);
  return "several schedules are one word, with commas: " + whole_command("schedule", words);
}

// "explain plan.json why is it slow": what it says anyway, and how choices are asked for.
std::string help_for_question(const SurplusWord& surplus) {
  const std::string& plan = surplus.own[0];
  const bool is_asked = surplus.has("--why-not") && role_of(plan) == FileRole::kPlan;
  if (!is_asked || surplus.left.front() == "help") return "";
  return fmt::format("{} says what limits the plan; of a choice that it did not take: {}",
                     command_of("explain", {plan}),
                     command_of("explain", {plan, "--why-not", "TP=8,PP=4"}));
}

// "fingerprint config.json".
std::string help_for_hashed_file(const SurplusWord& surplus) {
  if (surplus.verb() != "fingerprint" || !looks_like_file(surplus.word)) return "";
  return fmt::format(
      "leave it out: {}; it hashes what this build predicts, to compare two builds, and reads no "
      "file; "
      "whether two files are the same, sha256sum {} tells; a plan names the hashes of what it was "
      "made from",
      command_of("fingerprint", surplus.others()), shell_word(surplus.word));
}

// Of words that nothing is known of: the command without them.
std::string help_for_rest(const SurplusWord& surplus) {
  const std::string verb = surplus.verb();
  if (surplus.left.front() == "help") return fmt::format("penstock {} --help explains it", verb);
  Arguments own = surplus.own;
  for (const std::string& word : surplus.left) own.erase(std::find(own.begin(), own.end(), word));
  return verb_takes(verb, own) ? "leave it out: " + whole_command(verb, own)
                               : "leave it out: usage: penstock " + surplus.usage;
}

}  // namespace

// "schedule -P 4 -M 8 1f1b --to-scale x": an option that was not given and lists the word.
Arguments Options::choice_called(const Arguments& own, const std::string& word) const {
  const std::string called = trainer_called(word);
  for (const Entry& entry : entries_) {
    if (entry.is_positional || entry.choices.empty()) continue;
    const std::string name = parse_list("option", entry.names).back();
    if (is_among(own, name)) continue;
    if (is_among(entry.choices, word)) return {name, word};
    if (is_among(entry.choices, called)) return {name, called};
  }
  return {};
}

std::string Options::help_for_surplus(const Arguments& own, const std::string& word) const {
  const std::vector<std::string> known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  const Asked asked{known, remarks_, make_index};
  const Arguments left = parser_->app.remaining();
  const SurplusWord surplus{word, own, left, usage_, asked, choice_called(own, word)};
  return first_help({help_for_backslash,      help_for_arguments_file,
                     help_for_blank_at_comma, help_for_environment,
                     help_for_further_pair,   help_for_varied_lists,
                     help_for_parted_time,    help_for_placed,
                     help_for_bare_degrees,   help_for_runs,
                     help_for_moved_word,     help_for_parted_count,
                     help_for_unit,           help_for_nodes,
                     help_for_dashes,         help_for_one_at_a_time,
                     help_for_choice,         help_for_value_of_flag,
                     help_for_needed,         help_for_number,
                     help_for_pair,           help_for_parted_device,
                     help_for_needed_device,  help_for_parted_list,
                     help_for_script,         help_for_recording,
                     help_for_subcommand,     help_for_file,
                     help_for_schedules,      help_for_question,
                     help_for_hashed_file,    help_for_rest},
                    surplus);
}

}  // namespace penstock
