// Where a word without dashes belongs that a verb has no place for: people part lists and units,
// leave the option out that a file or a name follows, or give a value to what has none. Every
// answer names the next thing to write.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/near_files.h"
#include "cli/io/shell_word.h"
#include "cli/io/text_file.h"
#include "cli/options/able_verbs.h"
#include "cli/options/environment_words.h"
#include "cli/options/field_words.h"
#include "cli/options/launch_counts.h"
#include "cli/options/measured_time.h"
#include "cli/options/moved_words.h"
#include "cli/options/option_readings.h"
#include "cli/options/options_entry.h"
#include "cli/options/parse.h"
#include "cli/options/pasted_pairs.h"
#include "cli/options/placed_words.h"
#include "cli/options/schedule_spelled.h"
#include "cli/options/trainer_called.h"
#include "cli/options/typed_files.h"
#include "cli/options/whole_command.h"
#include "core/files/plan_format.h"
#include "report/words.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool is_written_so(const std::string& word, std::string_view ending) {
  return word.size() > ending.size() && word.ends_with(ending);
}

// Of any word: one that is too long for a name is no error of the file system's here.
bool is_there(const std::string& word) {
  std::error_code error;
  return std::filesystem::exists(word, error);
}

bool looks_like_file(const std::string& word) {
  return word.find('/') != std::string::npos || is_there(word) ||
         (word.find('.') != std::string::npos &&
          word.find_first_not_of("0123456789.") != std::string::npos);
}

bool is_unit(const std::string& word) {
  for (const std::string_view unit :
       {"tokens",  "sequences", "samples", "gpus",   "GPUs", "hours", "hour", "h",
        "days",    "day",       "minutes", "minute", "min",  "GiB",   "GB",   "MiB",
        "dollars", "seconds",   "second",  "sec",    "s",    "ms",    "us",   "ns",
        "percent", "%",         "GB/s",    "Gbit/s", "Gbps"}) {
    if (word == unit) return true;
  }
  return false;
}

// "minutes" as "min", which can stand behind a number.
std::string short_unit(const std::string& unit) {
  if (unit.starts_with("min")) return "min";
  if (unit.starts_with("sec")) return "s";
  return unit.starts_with("hour") ? "h" : unit;
}

// The file or the name that a verb was given.
std::string first_word_of(const std::vector<std::string>& own) {
  const auto first = std::find_if(own.begin(), own.end(),
                                  [](const std::string& word) { return !word.starts_with('-'); });
  return first == own.end() ? "FILE" : *first;
}

}  // namespace

// "calibrate runs.json": the usage line names, outside of brackets, the option that is needed.
std::string Options::help_for_needed(const Arguments& own, const std::string& word) const {
  if (!looks_like_file(word)) return "";
  for (std::size_t at = usage_.find(" --"); at != std::string::npos;
       at = usage_.find(" --", at + 1)) {
    const std::string option = usage_.substr(at + 1, usage_.find(' ', at + 1) - at - 1);
    if (!usage_.substr(at + 1 + option.size()).starts_with(" FILE")) continue;
    if (std::find(own.begin(), own.end(), option) != own.end()) continue;
    const std::string help = help_for_misplaced(word, option);
    return help.empty() ? fmt::format("it follows its option: {} {}", option, word) : help;
  }
  return "";
}

// "export plan.json megatron", "schedule -P 4 -M 8 1f1b --to-scale x": a name that one option
// takes.
std::string Options::help_for_choice(const Arguments& own, const std::string& word) const {
  const std::string called = trainer_called(word);
  for (const Entry& entry : entries_) {
    if (entry.is_positional || entry.choices.empty()) continue;
    const std::string name = parse_list("option", entry.names).back();
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    for (const std::string& each : {word, called}) {
      if (std::find(entry.choices.begin(), entry.choices.end(), each) == entry.choices.end()) {
        continue;
      }
      return fmt::format("it follows its option: {} {}", name, each);
    }
  }
  return "";
}

namespace {

// "--resume ckpt": the help of the flag tells of the option that takes it.
std::string help_for_flag(const WordIndex& index, const std::string& flag,
                          const std::string& word) {
  std::vector<std::string> told;
  for (const OptionRow& row : index.rows()) {
    if (row.names.back() == flag) told = content_words(row.help);
  }
  const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
  for (const OptionRow& row : index.rows()) {
    const std::vector<std::string> name = content_words(row.names.back());
    const bool takes_word = !row.positional && (row.is_file() || row.value_name == "FOLDER");
    const bool is_told =
        !name.empty() && std::all_of(name.begin(), name.end(), [&](const auto& each) {
          return std::find(told.begin(), told.end(), each) != told.end();
        });
    if (!takes_word || !is_told || is_number) continue;
    return fmt::format("{} takes no value; write {} {} {}", flag, row.names.back(), word, flag);
  }
  return fmt::format("{} takes no value: leave '{}' out", flag, word);
}

}  // namespace

// "--verbose 2", "--jitter 5", "--budget 1 minute".
std::string Options::help_for_value_of_flag(const Arguments& own, const std::string& word) const {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at == own.begin() || at == own.end()) return "";
  // Another file that exists is no place for output.
  const bool is_plan_file = role_of(word) == FileRole::kPlan;
  if (*(at - 1) == "--json" && has("--json") && (is_plan_file || !std::ifstream(word))) {
    if (!usage_.starts_with("plan ") || !word.ends_with(".json")) {
      return fmt::format("--json takes no value and prints to stdout: --json > {}", word);
    }
    Arguments words = own;
    words.erase(words.begin() + (at - 1 - own.begin()), words.begin() + (at + 1 - own.begin()));
    words.insert(words.end(), {"-o", word});
    return fmt::format(
        "--json takes no value and prints to stdout (--json > {}); a plan file is written by -o: "
        "{}",
        word, whole_command("plan", words));
  }
  if (looks_like_file(word)) return "";
  for (const Entry& entry : entries_) {
    if (entry.is_positional || entry.option == nullptr) continue;
    const std::vector<std::string> names = parse_list("option", entry.names);
    const auto is_named = [&names](const std::string& each) {
      return std::find(names.begin(), names.end(), each) != names.end();
    };
    if (entry.flag != nullptr && is_named(*(at - 1))) {
      const std::string percent = *(at - 1) + "-percent";
      const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
      if (has(percent.c_str())) return fmt::format("write {} {}", percent, is_number ? word : "5");
      return help_for_flag(index(), *(at - 1), word);
    }
    const bool follows_number = at - own.begin() > 1 && is_named(*(at - 2)) &&
                                (at - 1)->find_first_not_of("0123456789.,") == std::string::npos;
    if (follows_number && is_unit(word)) {
      const bool has_unit = entry.value_name == "TIME" || entry.value_name == "RUN";
      return fmt::format("write {} {}{}: {}", *(at - 2), *(at - 1),
                         has_unit ? short_unit(word) : "",
                         entry.help.substr(0, entry.help.find(';')));
    }
  }
  return "";
}

namespace {

// "F=18.5 ms, I=18.1 ms" and "F=10ms B=20ms" as one word, up to the next option.
std::string costs_of(Arguments::const_iterator word, Arguments::const_iterator end) {
  std::string costs;
  for (; word != end && !word->starts_with('-'); ++word) {
    const bool begins_pair = word->find('=') != std::string::npos;
    if (begins_pair && !costs.empty() && !costs.ends_with(',')) costs += ',';
    costs += *word;
  }
  if (costs.ends_with(',')) costs.pop_back();
  return costs;
}

}  // namespace

namespace {

// "--vary schedule=1f1b, zb-h1", "--cost F=1ms ,B=2ms": the value of an option, parted at a comma.
std::string help_for_blank_at_comma(const Arguments& own, const std::string& word) {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at - own.begin() < 2 || !(at - 2)->starts_with("--")) return "";
  std::string value = *(at - 1);
  for (auto next = at; next != own.end(); ++next) {
    if (!value.ends_with(',') && !next->starts_with(',')) break;
    if (next->starts_with('-')) break;
    value += *next;
  }
  if (value == *(at - 1)) return "";
  if (value.ends_with(',')) value.pop_back();
  return fmt::format("a blank ends the value; write it as one word: {} {}", *(at - 2), value);
}

}  // namespace

// "--schedule 1f1b zb-h1", "--vary tp 1,2": a list whose words stand apart.
std::string Options::help_for_parted(const Arguments& own, const std::string& word) const {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at - own.begin() < 2) return "";
  const std::string &option = *(at - 2), &value = *(at - 1);
  for (const Entry& entry : entries_) {
    const std::vector<std::string> names = parse_list("option", entry.names);
    if (entry.is_positional || entry.value_name.find(",...") == std::string::npos) continue;
    if (std::find(names.begin(), names.end(), option) == names.end()) continue;
    const auto is_number = [](const std::string& text) {
      return text.find_first_not_of("0123456789.,") == std::string::npos;
    };
    if (is_number(value) && !is_number(word)) continue;  // "-M 8 gpipe"
    if (option == "--cost") return "write it as one word: --cost " + costs_of(at - 1, own.end());
    const bool has_keys = entry.value_name.find('=') != std::string::npos;
    const char* between = has_keys && value.ends_with('=')                   ? ""
                          : has_keys && value.find('=') == std::string::npos ? "="
                                                                             : ",";
    const auto end =
        std::find_if(at, own.end(), [](const auto& each) { return each.starts_with('-'); });
    std::vector<std::string> words(at, end);
    std::erase_if(words, [](const std::string& each) {
      return each == "vs" || each == "and" || each == "or" || each == "versus";
    });
    for (std::string& each : words) {
      if (const std::string_view schedule = schedule_spelled(each); !schedule.empty()) {
        each = schedule;
      }
    }
    // "--device h100 --vary device h200": with the one that was typed.
    const auto given = std::find(own.begin(), own.end(), "--" + value);
    if (option == "--vary" && has_keys && given != own.end() && own.end() - given > 1) {
      words.insert(words.begin(), *(given + 1));
    }
    if (option == "--schedule" && has("--vary")) {
      return fmt::format("write --vary schedule={},{}", value, joined(words, ","));
    }
    const bool is_zero = option == "--vary" && plain_word(value).starts_with("zero");
    return fmt::format("write it as one word: {} {}{}{}", option, is_zero ? "sharding" : value,
                       between, joined(words, ","));
  }
  return "";
}

// "config.json h100 64 512", "config.json on 64 h100": the whole command with their options.
std::string Options::help_for_placed(const Arguments& own) const {
  const std::string first = first_argument(usage_);
  if (first != "MODEL" && first != "CONFIG") return "";
  Arguments left = parser_->app.remaining(), kept;
  const std::vector<std::string> known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  const auto options = words_as_options(left, own, Asked{known, remarks_, make_index});
  if (!options) return first == "CONFIG" ? placed_command("plan", own) : "";
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto found = std::find(left.begin(), left.end(), own[i]);
    if (found != left.end() && (i == 0 || !takes_value(own[i - 1]))) {
      left.erase(found);
    } else {
      kept.push_back(own[i]);
    }
  }
  kept.insert(kept.end(), options->begin(), options->end());
  return "write " + command_of(usage_.substr(0, usage_.find(' ')), kept);
}

namespace {

// "calibrate plan.json train.log", "calibrate runs.json".
std::string help_for_runs(const Arguments& files) {
  std::string plan = "plan.json", log = "train.log";
  bool is_run = false;
  for (const std::string& file : files) {
    const bool is_plan = is_plan_format(format_of_file(file));
    const bool is_log = is_written_so(file, ".log") || is_written_so(file, ".jsonl") ||
                        is_written_so(file, ".out") || is_written_so(file, ".txt");
    if (is_plan) plan = file;
    if (is_log) log = file;
    is_run = is_run || is_plan || is_log;
  }
  if (!is_run && files.size() == 1) {
    const std::string help = help_for_misplaced(files[0], "--runs");
    return help.empty() ? "it follows its option: --runs " + files[0] : help;
  }
  return fmt::format(
      "penstock validate {} {} --add-to runs.json adds a run; then penstock calibrate "
      "--runs runs.json",
      plan, log);
}

}  // namespace

// "schedule 1f1b 4 8", "explain plan.json 2".
std::string Options::help_for_number(const Arguments& own, const std::string& word) const {
  const bool has_gpus = std::find(own.begin(), own.end(), "--gpus") != own.end();
  if (has("--gpus") && !has_gpus) return "a number of GPUs follows its option: --gpus " + word;
  if (has("-P")) {
    const Arguments left = parser_->app.remaining();
    const bool has_second = left.size() > 1 && is_digits(left[1]);
    return fmt::format("ranks and micro-batches have options: -P {} -M {}", word,
                       has_second ? left[1] : "8");
  }
  if (has("--why-not")) {
    return fmt::format(
        "a file holds one plan; another row of the answer is asked for by what stands in it: {}",
        command_of(usage_.substr(0, usage_.find(' ')), {own[0], "--why-not", "TP=8,PP=4"}));
  }
  return "";
}

namespace {

// "trainer.num_nodes=4 trainer.devices=8" among the words, as the options that other tools have.
Arguments assignments_as_options(Arguments words, const Arguments& left) {
  for (std::string& word : words) {
    const bool is_left = std::find(left.begin(), left.end(), word) != left.end();
    const std::size_t equals = word.find('='), begin = word.find_first_not_of("+~");
    if (is_left && equals != std::string::npos && begin < equals) word = "--" + word.substr(begin);
  }
  return words;
}

}  // namespace

// "--cost F=10ms B=20ms", "--layout TP=8 PP=4", "tp=8 pp=4 gpus=64", "+model.seq_length=4096": an
// option as other tools write it, unless it is the rest of a list.
std::string Options::help_for_assignment(const Arguments& own) const {
  const auto from = std::find(own.begin(), own.end(), "--layout");
  if (from != own.end()) {
    const auto to = std::find_if(from + 1, own.end(),
                                 [](const std::string& each) { return each.starts_with('-'); });
    return "quote it: --layout \"" + joined(Arguments(from + 1, to), " ") + "\"";
  }
  const std::vector<std::string> known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  const Asked asked{known, remarks_, make_index};
  const std::vector<CountsMeant> counts =
      counts_meant(assignments_as_options(own, parser_->app.remaining()), asked);
  Arguments as_options;
  std::size_t pins = 0;        // where in it the value of --pin stands
  std::set<std::string> said;  // options, and keys of --pin
  for (const std::string& word : parser_->app.remaining()) {
    const std::size_t equals = word.find('='), begin = word.find_first_not_of("+~");
    if (equals == std::string::npos || word.starts_with('-') || begin >= equals) continue;
    if (is_environment_setting(word) && is_of_a_library(word)) continue;
    const std::string key = word.substr(begin, equals - begin);
    if (key.find('/') != std::string::npos || is_there(word)) continue;  // "runs/lr=0.1/train.sh"
    const std::string value = word.substr(equals + 1);
    if (has("--cost") && parse_duration(value)) {
      const auto cost = std::find(own.begin(), own.end(), "--cost");
      return cost == own.end() ? "costs are one word, with commas: --cost F=10ms,B=20ms"
                               : "write it as one word: --cost " + costs_of(cost + 1, own.end());
    }
    const Arguments option{(key.size() == 1 ? "-" : "--") + key, value};
    const auto group = std::find_if(counts.begin(), counts.end(), [&](const CountsMeant& each) {
      return std::find(each.names.begin(), each.names.end(), option[0]) != each.names.end();
    });
    if (group != counts.end() && group->words.empty()) return group->help;
    if (group != counts.end()) {  // once for all of its words
      const Arguments& words = group->words;
      if (said.insert(words.front()).second) {
        as_options.insert(as_options.end(), words.begin(), words.end());
      }
      continue;
    }
    const MeantOption found = meant_option(option[0], value, known, remarks_, make_index);
    if (!found.help.empty()) return found.help;
    const Arguments& meant = found.words;
    const bool has_key = meant.size() > 1 && meant[1].find('=') != std::string::npos;
    if (has("--vary") && meant.front() == "--pin") return "each has its own: --vary " + meant[1];
    // What is unknown even so has its answer as an option.
    const bool is_own = has(option.front().c_str());
    if (meant == option && !is_own && is_environment_setting(word)) continue;
    if (meant == option && !is_own) return best_guess(option.front(), value, asked);
    const bool is_pin = meant.front() == "--pin" && meant.size() > 1;
    if (!said.insert(has_key ? meant[1].substr(0, meant[1].find('=')) : meant.front()).second)
      continue;
    const bool is_layout = meant.front() == "--layout" && meant.size() > 1;
    if ((is_pin || is_layout) && pins > 0) {
      as_options[pins] += (is_pin ? "," : " ") + meant[1];
      continue;
    }
    if (is_pin || is_layout) pins = as_options.size() + 1;
    as_options.insert(as_options.end(), meant.begin(), meant.end());
  }
  const auto given = std::find(own.begin(), own.end(), "--pin");
  const bool has_layout = pins > 0 && as_options[pins - 1] == "--layout";
  if (has_layout) as_options[pins] = '"' + as_options[pins] + '"';
  if (pins > 0 && own.end() - given > 1) as_options[pins] = *(given + 1) + ',' + as_options[pins];
  return as_options.empty() ? "" : "write " + joined(as_options, " ");
}

// "--device GB200 NVL72".
std::string Options::help_for_device(const Arguments& own, const std::string& word) const {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at - own.begin() < 2 || *(at - 2) != "--device") return "";
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const std::string& before = *(at - 1);
  const bool are_two = std::any_of(before.begin(), before.end(), is_digit) && word.size() > 2 &&
                       std::isalpha(static_cast<unsigned char>(word[0])) != 0 &&
                       std::isdigit(static_cast<unsigned char>(word[1])) != 0;
  if (are_two) {
    return fmt::format(
        "penstock compare ... --vary device={},{} plans for each; GPUs of several "
        "types at once are a cluster file: --cluster FILE",
        before, word);
  }
  return fmt::format("quote a name with blanks: --device \"{} {}\"", *(at - 1), word);
}

namespace {

// "compare config.json other.json": `compare` has one model, and a page any number of plans.
std::string help_for_two_models(const Arguments& models, Arguments own) {
  std::erase_if(own, [&models](const std::string& word) {
    return std::find(models.begin(), models.end(), word) != models.end();
  });
  const auto command = [&own](const std::string& model, const char* plan) {
    Arguments words = with_taken("plan", {model}, own);
    const auto device = std::find(words.begin(), words.end(), "--device");
    const bool is_profile = role_of(model) == FileRole::kProfile;
    if (is_profile && words.end() - device > 1)
      words.erase(device, device + 2);  // it names its own
    const auto output = std::find(words.begin(), words.end(), "-o");
    if (words.end() - output > 1) words.erase(output, output + 2);
    words.insert(words.end(), {"-o", plan});
    return whole_command("plan", words);
  };
  return fmt::format(
      "one model is planned with several settings here; of two make a plan each, and a page of "
      "both: {}; {}; penstock report plan_a.json plan_b.json -o report.html",
      command(models[0], "plan_a.json"), command(models[1], "plan_b.json"));
}

}  // namespace

// "config.json profile.json", "profile.json config.json", "config.json cluster.json".
std::string Options::help_for_second_model(const Arguments& own, const std::string& word) const {
  if (first_argument(usage_) != "MODEL" || own.size() < 2 || own.front().starts_with('-')) {
    return "";
  }
  const std::string verb = usage_.substr(0, usage_.find(' ')), format = format_of_file(word);
  const std::string first = format_of_file(own.front());
  if (const Arguments models = typed_files({own.front(), word}).models;
      has("--vary") && models.size() == 2) {
    return help_for_two_models(models, own);
  }
  Arguments words = own;
  words.erase(std::find(words.begin() + 1, words.end(), word));
  if (format.starts_with("penstock.profile") && first.empty()) {
    words.front() = word;
    return fmt::format("a profile takes the place of {}: {}", own.front(), command_of(verb, words));
  }
  if (format.empty() && first.starts_with("penstock.profile") && word.ends_with("config.json")) {
    return fmt::format("the profile has the model's times; leave {} out: {}", word,
                       command_of(verb, words));
  }
  const bool has_cluster = std::find(own.begin(), own.end(), "--cluster") != own.end();
  const bool has_device = std::find(own.begin(), own.end(), "--device") != own.end();
  if (!format.starts_with("penstock.cluster") || has_cluster || has_device || !has("--cluster")) {
    return "";
  }
  words.insert(words.begin() + 1, {"--cluster", word});
  return "a cluster follows its option: " + command_of(verb, words);
}

namespace {

// "plan data/models/*.json": one of them, with the options.
std::string help_for_many(const std::string& usage, Arguments own, const Arguments& surplus) {
  for (const std::string& word : surplus) own.erase(std::find(own.begin(), own.end(), word));
  return "one model is planned at a time; a cluster file follows --cluster: " +
         whole_command(usage.substr(0, usage.find(' ')), own);
}

// "export plan.json deepspeed_config.yaml": the trainer that the name says, or an example.
std::string help_for_trainers_file(Arguments own, const std::string& word) {
  std::string name = plain_word(std::filesystem::path(word).stem().string()), trainer = "megatron";
  std::replace(name.begin(), name.end(), '-', ' ');
  std::istringstream parts(name);
  for (std::string part; parts >> part;) {
    if (find_trainer(trainer_called(part)) != nullptr) trainer = trainer_called(part);
  }
  own.erase(std::find(own.begin(), own.end(), word));
  const bool is_named = std::find(own.begin(), own.end(), "--to") != own.end();
  if (!is_named) {
    own.insert(own.end(), {"--to", trainer});
  }
  const bool has_folder = std::any_of(own.begin(), own.end(), [](const std::string& each) {
    return each.starts_with("-o") || each.starts_with("--output");
  });
  if (!has_folder) own.insert(own.end(), {"-o", "job"});
  if (is_named) {
    return "the trainer's files, their names among them, are written into a folder: " +
           whole_command("export", own);
  }
  return fmt::format(
      "no file of a trainer is read; one is named (--to pytorch, torchtitan, megatron, deepspeed "
      "...: penstock export --help), and its files are written into a folder: {}",
      whole_command("export", own));
}

// "manage start plan.json": a job file names a book, and no plan.
constexpr const char* kJobOfBook =
    "a job file (penstock.job/1) belongs here, which names a book of plans: penstock manage "
    "job.json; data/jobs/two_machines.json is one to copy, and penstock plan ... --gpus 8..64 -o "
    "book.json writes a book";

}  // namespace

// "manage start job.json": a word before the only argument, as tools with subcommands have it.
std::string Options::help_for_subcommand(const Arguments& own, const std::string& word) const {
  const auto places = std::count_if(entries_.begin(), entries_.end(),
                                    [](const Entry& entry) { return entry.is_positional; });
  const bool is_word = !own.empty() && own[0].find_first_of("./-") == std::string::npos &&
                       schedule_spelled(own[0]).empty() && !is_there(own[0]) &&
                       find_trainer(trainer_called(own[0])) == nullptr;
  if (places != 1 || !is_word || own[0] == word || !looks_like_file(word)) return "";
  if (usage_.starts_with("manage ") && role_of(word) == FileRole::kPlan) {
    return fmt::format("leave '{}' out; {}", own[0], kJobOfBook);
  }
  return fmt::format(
      "leave '{}' out: {}", own[0],
      command_of(usage_.substr(0, usage_.find(' ')), Arguments(own.begin() + 1, own.end())));
}

std::string Options::help_for_file(const Arguments& own, const std::string& word) const {
  const bool is_log = is_written_so(word, ".jsonl") || is_written_so(word, ".log");
  if (is_log && has("--run")) return "the run follows its option: --run " + word;
  const std::string format = format_of_file(word);
  const bool takes_plan =
      usage_.find(" PLAN") != std::string::npos && !usage_.starts_with("report");
  const bool is_other = !format.empty() && !format.starts_with("penstock.cluster");
  if (has("--to") && role_of(word) == FileRole::kScript) {
    return help_for_trainers_file(own, word);
  }
  if (has("--to") && (is_other || word.ends_with(".json"))) {
    return "one plan is exported at a time: penstock export plan.json --to megatron";
  }
  if (has("--as") && (is_launch_file(word) || word.ends_with("config.json"))) {
    const std::string first = first_word_of(own);
    if (find_trainer(trainer_called(first)) != nullptr) {
      return fmt::format("the trainer follows its option: penstock check {} --as {}", word, first);
    }
    const bool is_config = word.ends_with("config.json") && !is_launch_file(word);
    if (!is_config && role_of(first) != FileRole::kModel) {  // "check job/*.sh"
      return fmt::format("one file at a time: {}; all files of a folder: penstock check .",
                         command_of("check", {first}));
    }
    return fmt::format(
        "a launch file comes first, and the model follows its option: penstock "
        "check {} --config {}",
        is_config ? first : word, is_config ? word : first);
  }
  if (usage_.starts_with("check") && !own.empty() && is_there(word)) {
    return fmt::format(
        "one file at a time: penstock check {}; all files of a folder: penstock check .",
        first_word_of(own));
  }
  if (is_other && takes_plan && role_of(own[0]) == FileRole::kLog) {
    return "the log of a run comes after its plan: " + command_of("validate", {word, own[0]});
  }
  if (is_other && !own.empty() && takes_plan) {
    return fmt::format("one file at a time: penstock {} {}", usage_.substr(0, usage_.find(' ')),
                       first_word_of(own));
  }
  if (has("--book") && has("--trace")) {
    return "the book and the recording have options: --book book.json --trace trace.csv";
  }
  for (const std::string_view end : {".html", ".svg", ".png", ".csv", ".md"}) {
    if (word.ends_with(end) && has("--output")) return "to write a file: -o " + word;
  }
  if (!word.ends_with(".json")) return "";
  if (usage_.starts_with("multi")) {
    return "all models and GPUs are one file: penstock multi jobs.json --gpus N (docs/multi.md)";
  }
  if (usage_.starts_with("report")) {
    return format.starts_with("penstock.book/")
               ? "that is a book of plans, and a page shows plans: penstock plan ... --gpus N -o "
                 "plan.json writes the one for N GPUs"
           : is_there(word)
               ? "plans follow the first one: penstock report plan.json other.json -o report.html"
               : fmt::format("there is no file {}; plans follow the first one", word);
  }
  const auto cluster = std::find(own.begin(), own.end(), "--cluster");
  if (has("--vary") && own.end() - cluster > 2 && *(cluster + 2) == word) {
    return fmt::format("write --vary cluster={},{} in place of --cluster", *(cluster + 1), word);
  }
  if (std::string help = help_for_second_model(own, word); !help.empty()) return help;
  if (has("--vary")) {
    Arguments words = own;
    words.erase(std::find(words.begin(), words.end(), word));
    return fmt::format(
        "one model is planned with several settings: {}; penstock plan ... --baseline plan.json "
        "compares the best plan with another",
        whole_command("compare", words));
  }
  if (has("--global-batch")) return help_for_many(usage_, own, parser_->app.remaining());
  if (has("--cost-file")) return "costs in a file follow their option: --cost-file " + word;
  if (is_there(word)) {
    return has("--cluster") ? "a cluster file follows its option: --cluster " + word : "";
  }
  const bool is_named = std::any_of(own.begin(), own.end(), [](const std::string& each) {
    return each == "-o" || each == "--output";
  });
  return has("--output") && !is_named ? "to write a file: -o " + word : "";
}

// "tp 8 pp 4", "why not pp=4", and of `compare` "tp 1,2,4": degrees without their option.
std::string Options::help_for_degrees() const {
  const Arguments left = parser_->app.remaining();
  if (has("--vary")) {
    std::vector<std::string> varied;
    for (std::size_t i = 0; i + 1 < left.size(); i += 2) {
      const std::string key = key_called(left[i]);
      const bool are_numbers = left[i + 1].find_first_not_of("0123456789,") == std::string::npos;
      if (key.empty() || !are_numbers) return "";
      varied.push_back(fmt::format("--vary {}={}", field_word(key), left[i + 1]));
    }
    return varied.empty() || left.size() % 2 != 0 ? "" : "write " + joined(varied, " ");
  }
  if (std::any_of(left.begin(), left.end(), is_like_gpu)) return "";  // "h100 64 512 TP=8"
  const std::string prose = joined(left, " ");
  std::string pairs = pairs_in_prose(prose);
  if (has("--why-not") && pairs.empty()) pairs = degree_in_prose(prose);
  if (pairs.empty()) return "";
  if (has("--pin")) return can_be_pinned(pairs) ? "write --pin " + pairs : "";
  const std::string listed = ',' + pairs;
  if (listed.find(",gbs=") != std::string::npos || listed.find(",M=") != std::string::npos)
    return "";
  if (has("--why-not")) return "write --why-not " + pairs;
  if (!has("--layout")) return "";
  std::replace(pairs.begin(), pairs.end(), ',', ' ');
  return fmt::format("write --layout \"{}\"", pairs);
}

namespace {

// "--gpus 64 \\ --global-batch 512": the backslash of a line's end, in the middle of one.
std::string help_for_backslash(const std::string& usage, Arguments own) {
  for (std::string& word : own) word.erase(0, std::min(word.find_first_not_of(' '), word.size()));
  std::erase(own, "");
  return "a backslash makes the blank behind it a part of the word; leave it out: " +
         command_of(usage.substr(0, usage.find(' ')), own);
}

// "explain plan.json why is it slow": what it says anyway, and how choices are asked for.
std::string help_for_question(const Arguments& own) {
  return fmt::format("{} says what limits the plan; of a choice that it did not take: {}",
                     command_of("explain", {own[0]}),
                     command_of("explain", {own[0], "--why-not", "TP=8,PP=4"}));
}

// "--gpus 8 nodes" of a verb that counts nodes.
std::string command_with_nodes(const std::string& usage, Arguments own, const std::string& word) {
  const auto at = std::find(own.begin(), own.end(), word);
  const bool is_of_gpus = at - own.begin() > 1 && *(at - 2) == "--gpus";
  if (!is_of_gpus) return "--nodes " + *(at - 1);
  *(at - 2) = "--nodes";
  own.erase(at);
  return whole_command(usage.substr(0, usage.find(' ')), own);
}

std::string help_for_nodes(const std::string& nodes) {
  constexpr std::int64_t kUsual = 8, kMost = 1 << 14;
  std::int64_t count = 0;
  std::from_chars(nodes.data(), nodes.data() + nodes.size(), count);
  const bool is_count = count > 0 && count <= kMost;
  return std::string("--gpus takes the GPUs of all nodes") +
         (is_count ? fmt::format("; of {} with {} each write --gpus {}", count_of(count, "node"),
                                 kUsual, count * kUsual)
                   : "");
}

// Of words that nothing is known of: the command without them.
std::string help_for_rest(const std::string& usage, Arguments own, const Arguments& surplus) {
  const std::string verb = usage.substr(0, usage.find(' '));
  if (surplus.front() == "help") return fmt::format("penstock {} --help explains it", verb);
  for (const std::string& word : surplus) own.erase(std::find(own.begin(), own.end(), word));
  return verb_takes(verb, own) ? "leave it out: " + whole_command(verb, own)
                               : "leave it out: usage: penstock " + usage;
}

}  // namespace

// What people write for one value and the shell takes apart, or where an option belongs.
namespace {

// "--measured 3.2 s/it", as progress bars print it: the unit is a part of the value.
std::string help_for_parted_time(const std::string& usage, Arguments own, const std::string& word) {
  const auto unit = std::find(own.begin(), own.end(), word);
  const bool follows_time = unit - own.begin() > 1 && unit != own.end() && *(unit - 2) == kMeasured;
  if (!follows_time) return "";
  const std::string joined = *(unit - 1) + word, time = plain_step_time(joined);
  const bool is_rate = word.find("/s") != std::string::npos;  // is told in its turn
  if (time.empty() && !is_rate) return "";
  *(unit - 1) = time.empty() ? joined : time;
  own.erase(unit);
  return "the unit follows its number without a blank: " +
         whole_command(usage.substr(0, usage.find(' ')), own);
}

}  // namespace

std::string Options::help_for_surplus(const Arguments& own, const std::string& word) const {
  if (word.starts_with(' ')) return help_for_backslash(usage_, own);
  if (std::string help = help_for_blank_at_comma(own, word); !help.empty()) return help;
  if (is_environment_setting(word)) {
    std::string help = is_of_a_library(word) ? "" : help_for_assignment(own);
    if (!help.empty()) return help;
    return "leave it out here: a setting of the environment stands before the command, and none "
           "changes the answer";
  }
  const auto place = std::find(own.begin(), own.end(), word);
  const bool is_further_pair = word.find('=') != std::string::npos && place - own.begin() > 1 &&
                               (*(place - 2) == "--why-not" || *(place - 2) == "--pin") &&
                               (place - 1)->find('=') != std::string::npos;
  if (is_further_pair) return help_for_parted(own, word);  // "--why-not PP=8 DP=8"
  if (std::string help = help_for_parted_time(usage_, own, word); !help.empty()) return help;
  if (std::string help = help_for_placed(own); !help.empty()) return help;
  if (word.find('=') == std::string::npos && own.size() > 1 && !is_there(word)) {
    const bool is_value = std::find(own.begin(), own.end(), "--layout") != own.end();
    if (std::string help = is_value ? "" : help_for_degrees(); !help.empty()) return help;
  }
  if (usage_.starts_with("calibrate")) {
    return help_for_runs(parser_->app.remaining());
  }
  const std::vector<std::string> known = known_names();
  const std::function<const WordIndex&()> make_index = [this]() -> const WordIndex& {
    return index();
  };
  const Arguments surplus = parser_->app.remaining();
  const Asked asked{known, remarks_, make_index};
  if (std::string help = help_for_moved(own, surplus, asked); !help.empty()) return help;
  const auto stands = std::find(own.begin(), own.end(), word);
  const bool has_option = stands - own.begin() > 1 && (stands - 2)->starts_with('-');
  for (const auto& [number, letter] :
       {std::pair{"thousand", 'K'}, std::pair{"million", 'M'}, std::pair{"billion", 'B'},
        std::pair{"trillion", 'T'}, std::pair{"K", 'K'}, std::pair{"M", 'M'}, std::pair{"B", 'B'},
        std::pair{"T", 'T'}}) {
    if (word != number && word != std::string(number) + 's') continue;
    return has_option
               ? fmt::format("write it as one word: {} {}{}", *(stands - 2), *(stands - 1), letter)
               : "write the number and a letter as one word, for example 2T";
  }
  if (is_unit(word)) {
    const std::string help = help_for_value_of_flag(own, word);
    return help.empty() ? "leave out the unit, or write it and the number as one word" : help;
  }
  if (word == "nodes" || word == "node") {
    const auto at = std::find(own.begin(), own.end(), word);
    if (at != own.begin() && (at - 1)->find_first_not_of("0123456789") == std::string::npos) {
      if (has("--nodes")) return "write " + command_with_nodes(usage_, own, word);
      if (has("--gpus")) return help_for_nodes(*(at - 1));
    }
  }
  if (word.starts_with('/') && !is_there(word) && has(("--" + word.substr(1)).c_str())) {
    return fmt::format("it begins with two dashes: --{}", word.substr(1));
  }
  if (has(("--" + word).c_str())) return fmt::format("it begins with two dashes: --{}", word);
  if (usage_.starts_with("completions")) {
    return fmt::format("one shell at a time: penstock completions {}", own[0]);
  }
  if (usage_.starts_with("tell ") && own.size() > 2 &&
      word.find_first_not_of("0123456789") != std::string::npos) {
    return fmt::format("one machine at a time: penstock tell {} {} {}", own[0], own[1], own[2]);
  }
  if (usage_ == "man") {
    return "the manual is one page; penstock " + word + " --help explains one verb";
  }
  const bool is_of_keys = stands - own.begin() > 1 && *(stands - 2) == "--vary" &&
                          (stands - 1)->find('=') == std::string::npos;
  std::string help = is_of_keys ? help_for_parted(own, word) : help_for_choice(own, word);
  if (help.empty()) help = help_for_value_of_flag(own, word);
  if (help.empty()) help = help_for_needed(own, word);
  if (!help.empty()) return help;
  if (word.find_first_not_of("0123456789") == std::string::npos) help = help_for_number(own, word);
  if (help.empty() && word.find('=') != std::string::npos) help = help_for_assignment(own);
  if (help.empty()) help = help_for_device(own, word);
  const bool needs_device = usage_.find(" --device NAME") != std::string::npos &&
                            std::find(own.begin(), own.end(), "--device") == own.end();
  if (help.empty() && needs_device && !looks_like_file(word)) {
    help = "it follows its option: --device " + word;
  }
  if (help.empty()) help = help_for_parted(own, word);
  if (help.empty() && has("--to") && (is_launch_file(word) || role_of(word) == FileRole::kScript)) {
    help = help_for_trainers_file(own, word);
  }
  if (help.empty() && !has("--as") && is_launch_file(word))
    help = help_for_launch_file(word, known_names());
  if (help.empty() && usage_.starts_with("manage") && word.ends_with(".csv")) {
    help = fmt::format(
        "a running job hears of machines by penstock tell; penstock morph --book book.json --trace "
        "{} replays a recording",
        word);
  }
  if (help.empty()) help = help_for_subcommand(own, word);
  if (help.empty()) help = help_for_file(own, word);
  if (help.empty() && usage_.starts_with("schedule") && own[0][0] != '-') {
    Arguments schedules{own[0]};
    for (const std::string& each : parser_->app.remaining()) {
      if (!schedule_spelled(each).empty()) schedules.push_back(each);
    }
    return schedules.size() == 1
               ? fmt::format("leave it out: usage: penstock {}", usage_)
               : fmt::format("several schedules are one word, with commas: penstock schedule {}",
                             joined(schedules, ","));
  }
  const bool is_asked = has("--why-not") && role_of(own[0]) == FileRole::kPlan;
  if (help.empty() && is_asked && surplus.front() != "help") return help_for_question(own);
  return help.empty() ? help_for_rest(usage_, own, surplus) : help;
}

}  // namespace penstock
