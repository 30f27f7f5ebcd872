// What to do about arguments that a verb does not have: the nearest option, what another tool's
// option is called here. Every answer names the next thing to write; words without dashes are in
// surplus_words.cc.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <system_error>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/options/field_words.h"
#include "cli/options/longest_name.h"
#include "cli/options/option_aliases.h"
#include "cli/options/option_parts.h"
#include "cli/options/options_entry.h"
#include "cli/options/parse.h"
#include "cli/options/schedule_called.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "report/words.h"
#include "trainers/flag_names.h"

namespace penstock {

// "import nccl.txt": what stands in the first place is none of the words that belong there, and
// that is why a later one is missing.
void Options::refuse_other_choice(const Entry& missing) const {
  for (const Entry& entry : entries_) {
    if (&entry == &missing) return;
    if (!entry.is_positional || entry.choices.empty() || entry.option->results().empty()) continue;
    const std::string& word = entry.option->results()[0];
    if (std::find(entry.choices.begin(), entry.choices.end(), word) != entry.choices.end())
      continue;
    bad_option(entry.names, fmt::format("'{}' is none of {}", word, joined(entry.choices, ", ")),
               fmt::format("usage: penstock {}", usage_));
  }
}

// Two values of an option that takes one.
std::string Options::help_for_repeated(const std::string& names, const std::string& value_name,
                                       const std::vector<std::string>& values) const {
  const std::string name = parse_list("option", names).back();
  const bool are_equal =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (are_equal) return "keep one of them";
  if (value_name.find(",...") != std::string::npos || value_name == "LIST") {
    return fmt::format("write them as one: {} {}", name, joined(values, ","));
  }
  const bool has_range = std::any_of(values.begin(), values.end(), [](const std::string& each) {
    return each.find("..") != std::string::npos;
  });
  if (has_range) return "keep one of them";
  if (name == "--device" && has("--gpus")) {
    return fmt::format(
        "penstock compare ... --vary device={} plans for each; GPUs of several "
        "types at once are a cluster file: --cluster FILE",
        joined(values, ","));
  }
  if (name == "--gpus" || name == "--global-batch" || name == "--sequence-length") {
    return fmt::format("keep one of them; penstock compare ... --vary {}={} plans for each",
                       name.substr(2), joined(values, ","));
  }
  return "keep one of them";
}

std::string Options::help_for_value(const std::string& name) const {
  for (const Entry& entry : entries_) {
    const std::vector<std::string> names = parse_list("option", entry.names);
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    return fmt::format("write {} {}: {}", name, entry.value_name, entry.help);
  }
  return fmt::format("usage: penstock {}", usage_);
}

bool Options::has(const char* name) const {
  const std::vector<std::string> known = known_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

std::string help_for_launch_file(const std::string& path, const std::vector<std::string>& known) {
  const auto has = [&known](std::string_view option) {
    return std::find(known.begin(), known.end(), option) != known.end();
  };
  if (has("--as")) return fmt::format("it is the argument without a name: penstock check {}", path);
  return use_of_launch_file(
      path, has("--pin")      ? "--gpus, --global-batch, --pin TP=8,PP=4, --for TRAINER"
            : has("--layout") ? "--layout \"TP=8 PP=4 mbs=1 gbs=512\", --for TRAINER"
                              : "");
}

// Of a verb with many options those that most questions need.
std::string Options::main_options(const std::string& verb) const {
  std::string list;
  for (const char* option :
       {"--device", "--gpus", "--cluster", "--layout", "--global-batch", "--sequence-length",
        "--precision", "--schedule", "--pin", "--recompute", "--sharding", "--for", "--vary",
        "--reserve-gib", "--measured", "--tokens", "--usd-per-gpu-hour", "--mtbf-hours",
        "--output"}) {
    if (has(option)) list += (list.empty() ? "" : ", ") + std::string(option);
  }
  return fmt::format(
      "leave it out, if it changes neither the layout nor the time of a step; the options that "
      "most questions need are {}; penstock {} --help has all",
      list, verb);
}

// "--no-pipeline", "--disable-zero": no misspelt option, but the opposite of one.
std::string Options::help_for_denied(const std::string& plain) const {
  for (const std::string_view no : {"no-", "disable-", "without-"}) {
    if (!plain.starts_with(no)) continue;
    const std::string rest = plain.substr(no.size());
    if (rest.starts_with("interleav") || rest.starts_with("virtual") || rest == "vpp") {
      return has("--pin") ? "write --pin VP=1" : "";
    }
    const std::string key = key_called(rest);
    if (!key.empty() && key.size() <= 2 && has("--pin")) {
      return fmt::format("write --pin {}=1", field_word(key));
    }
    if (word_for_parts(rest) == "activation-checkpointing") {
      if (has("--recompute")) return "write --recompute none";
      if (has("--layout")) return "write --layout \"... recompute=none\"";
    }
    for (const std::string_view sharded : {"zero", "fsdp", "sharding", "zero1", "shard"}) {
      if (rest == sharded && has("--sharding")) return "write --sharding none";
    }
  }
  // "--tp-range", "--mbs-list".
  for (const std::string_view many : {"-range", "-list", "-values", "-options", "-choices"}) {
    if (!plain.ends_with(many) || !has("--pin")) continue;
    const std::string key = key_called(plain.substr(0, plain.size() - many.size()));
    const std::string word = field_word(key);
    if (key == "M" || key.empty()) continue;
    const bool is_searched = word == "TP" || word == "PP" || word == "DP" || word == "VP" ||
                             word == "CP" || word == "EP" || word == "mbs";
    return fmt::format("{}penstock compare ... --vary {}=1,2,4 plans for each",
                       is_searched ? "all are tried; " : "", word);
  }
  return "";
}

// What no flag of a trainer and no option is near: said last.
std::string Options::help_for_filter(const std::string& plain) const {
  if (!has("--pin")) return "";
  for (const std::string_view no : {"no-", "disable-", "without-"}) {
    if (!plain.starts_with(no) || !has("--schedule")) continue;
    return "--schedule NAME,... names the schedules to try and --pin K=N,... fixes degrees: what "
           "is not named there is left out";
  }
  for (const std::string_view limit :
       {"min-", "max-", "least-", "most-", "at-least-", "at-most-"}) {
    if (!plain.starts_with(limit)) continue;
    return "no answer is filtered: plans are ranked by step time, with MFU, memory and price "
           "beside it (--top 20 prints more, --json all figures); --pin K=N,... fixes degrees";
  }
  return "";
}

// Options whose name or help has the words.
std::string Options::options_about(const std::string& typed) const {
  const std::vector<const OptionRow*> found = index().about(typed);
  if (found.empty()) return "";
  std::vector<std::string> shown;
  shown.reserve(found.size());
  for (const OptionRow* row : found) shown.push_back(option_shown(*row));
  return "did you mean " + joined(shown, "; or ");
}

namespace {

// An option by its exact name that other verbs have.
std::string help_for_other_verb(const std::string& name, const std::string& verb) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::string> others = verbs_with_option(name);
  if (others.empty()) return "";
  const Arguments named(others.begin(),
                        others.begin() + std::min<std::ptrdiff_t>(kMostNamed, std::ssize(others)));
  return fmt::format(
      "leave it out here: {} is an option of penstock {}{}; penstock {} --help lists those of {}",
      name, joined(named, ", "), others.size() > kMostNamed ? " and others" : "", verb, verb);
}

// "--recompute full or --recompute selective" as keys of --layout.
std::string as_keys(const std::string& words) {
  std::string out;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = words.find(' ', at);
    const bool is_option = words.compare(at, 2, "--") == 0 && end != std::string::npos;
    out += is_option ? words.substr(at + 2, end - at - 2) + '=' : std::string(1, words[at]);
    at = is_option ? end + 1 : at + 1;
  }
  return out;
}

// What `penstock plan` makes of it, said to a verb that takes what plan writes, or the same inputs.
std::string help_of_plan(const std::string& name, const std::string& value,
                         const std::string& usage) {
  const auto plan = std::find_if(verbs().begin(), verbs().end(),
                                 [](const Verb& verb) { return verb.name == "plan"; });
  const WordIndex index(options_of(*plan));
  std::vector<std::string> known;
  for (const OptionRow& row : index.rows()) {
    const bool is_of_question = row.heading != "What to print" && row.heading != "The search";
    if (row.positional || !is_of_question) continue;
    known.insert(known.end(), row.names.begin(), row.names.end());
  }
  const bool has_value = !value.empty() && !value.starts_with('-');
  const MeantOption meant = meant_option(name, has_value ? value : "N", known, {},
                                         [&index]() -> const WordIndex& { return index; });
  constexpr std::string_view kWrite = "write ";
  const bool is_said = meant.help.empty() || meant.help.starts_with("write --") ||
                       meant.help.starts_with("which one?") ||
                       !key_called(name.substr(name.find_first_not_of('-'))).empty();
  if (!is_said) return "";
  if (std::find(known.begin(), known.end(), meant.words.front()) == known.end() &&
      meant.help.empty())
    return "";
  if (usage.starts_with("check ")) return "the launch file says it; what is wrong with it is found";
  if (!meant.help.empty() && !meant.help.starts_with(kWrite)) {
    return "penstock plan is told that: " + meant.help;
  }
  if (usage.find(" PLAN") != std::string::npos && !name.starts_with("--")) {
    return "a plan file has it already; penstock schedule 1f1b -P 4 -M 8 --cost F=10ms,B=20ms "
           "replays a schedule without a plan";
  }
  const std::string words =
      meant.help.empty() ? joined(meant.words, " ") : meant.help.substr(kWrite.size());
  if (usage.starts_with("predict ")) return "it belongs into --layout: " + as_keys(words);
  return usage.find(" PLAN") == std::string::npos
             ? fmt::format("penstock plan takes it: penstock plan ... {}", words)
             : fmt::format("the plan says it; another one is made by penstock plan ... {}", words);
}

// "--tp2", "--pp:2" where a verb takes --tp, or what it says of --tp.
std::string help_for_number_behind(const std::string& plain, const std::vector<std::string>& known,
                                   const std::vector<OptionRemark>& remarks,
                                   const WordIndex& index) {
  const std::size_t digits = plain.find_last_not_of("0123456789") + 1;
  if (digits <= 1 || digits >= plain.size()) return "";
  const std::string letters = plain.substr(0, plain[digits - 1] == ':' ? digits - 1 : digits);
  if (key_called(letters).empty()) return "";
  const std::string name = "--" + letters, number = plain.substr(digits);
  const MeantOption meant =
      meant_option(name, number, known, remarks, [&index]() -> const WordIndex& { return index; });
  const bool is_taken =
      meant.words.front() != name || std::find(known.begin(), known.end(), name) != known.end();
  return meant.help.empty() && is_taken ? fmt::format("write {} {}", name, number) : meant.help;
}

}  // namespace

namespace {

// "--enable-loss-parallel" is a flag, and no --loss NAME.
bool is_flag_of_other(const std::string& typed, const std::string& value, const WordIndex& index) {
  if (!value.empty() && !value.starts_with('-')) return false;
  const std::vector<std::string> words = content_words(typed);
  const std::vector<const OptionRow*> found = index.about(typed);
  if (found.empty() || words.size() < 2 || found.front()->value_name.empty()) return false;
  const std::vector<std::string> name = content_words(found.front()->names.back()),
                                 help = content_words(found.front()->help);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(name.begin(), name.end(), word) == name.end() &&
           std::find(help.begin(), help.end(), word) == help.end();
  });
}

}  // namespace

// The dashes say nothing of how near two names are.
std::string Options::nearest_option(const std::string& name, const std::string& value,
                                    const std::string& verb) const {
  std::vector<std::string> words;
  for (const std::string& known : known_names()) {
    if (known.starts_with("--")) words.push_back(known.substr(2));
  }
  words.emplace_back("help");
  const std::size_t begin = std::min(name.find_first_not_of('-'), name.size());
  constexpr std::string_view kFound = "did you mean '";
  const std::string typed = name.substr(begin), plain = plain_word(typed);
  if (typed.size() > kLongestName) return fmt::format("penstock {} --help lists its options", verb);
  if (std::string argument = index().help_for_argument(typed); !argument.empty()) return argument;
  if (std::string apart = help_for_number_behind(plain, known_names(), remarks_, index());
      !apart.empty())
    return apart;
  const bool is_planned = has("--pin") || has("--layout");
  // "pipeline-parallel-microbatch-size": the end of it is a degree or a size of a batch.
  for (std::size_t dash = plain.find_first_of("-."); is_planned && dash != std::string::npos;
       dash = plain.find_first_of("-.", dash + 1)) {
    const std::string key = key_called(plain.substr(dash + 1));
    if (plain.find("device") != std::string::npos) continue;
    if (key == "M" && has("--pin")) {
      return "the micro-batches of a step follow from the global batch, DP and mbs: "
             "--global-batch, --pin DP=..,mbs=..";
    }
    const std::string_view end = std::string_view(plain).substr(dash + 1);
    const bool has_number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    const bool is_degree = end.ends_with("-size") || end.ends_with("-degree") ||
                           (end.size() == 2 && has_number);  // "--async-tp" is a flag
    if (is_degree && (key == "T" || key == "P" || key == "C" || key == "EP")) {
      return fmt::format("did you mean {} {}=N?", has("--pin") ? "--pin" : "--layout",
                         field_word(key));
    }
    if (key == "sequence-length" && plain[dash] == '-') {
      return has("--layout") ? "write --layout \"... seq=N\"" : "write --sequence-length N";
    }
    if (key != "b") continue;
    return fmt::format("write {} mbs=N, the micro-batch of one GPU",
                       has("--pin") ? "--pin" : "--layout");
  }
  const std::string trainer = usage_.starts_with("report") ? "" : trainer_with_flag(typed);
  std::string by_parts = help_by_parts(plain, known_names());
  if (std::string denied = help_for_denied(plain); !denied.empty()) return denied;
  const bool is_compound = plain.find_first_of("-.") != std::string::npos;
  if (is_planned && !by_parts.empty() && is_compound) return by_parts;
  const bool takes_plan = usage_.find(" PLAN") != std::string::npos || has("--as");
  const std::size_t digits = plain.find_last_not_of("0123456789") + 1;
  const bool has_number = digits > 1 && digits < plain.size() &&
                          !key_called(plain.substr(0, digits)).empty();  // "--tp2"
  std::string planned =
      has("--pin") ? ""
      : has_number ? help_of_plan("--" + plain.substr(0, digits), plain.substr(digits), usage_)
                   : help_of_plan(name, value, usage_);
  if ((takes_plan || is_planned) && !planned.empty()) return planned;
  if (!trainer.empty() && has("--to")) {
    return fmt::format("a flag of {}: set it in the job that -o FOLDER writes", trainer);
  }
  if (!trainer.empty() && has("--as")) {
    return fmt::format("a flag of {}: it belongs into the launch file, which is judged as it is",
                       trainer);
  }
  if (!trainer.empty() && is_planned) {
    return fmt::format(
        "a flag of {} for which there is no option here: leave it out, and keep it in "
        "the launch script (penstock check train.sh judges that)",
        trainer);
  }
  if (is_planned && !is_flag_of_other(typed, value, index())) {
    if (std::string about = options_about(typed); !about.empty()) return about;
  }
  const bool is_denied = plain.starts_with("no-") || plain.starts_with("disable-");
  if (!is_planned) {
    if (std::string about = options_about(typed); !about.empty()) return about;
    if (!planned.empty()) return planned;
  }
  if (by_parts.empty()) {
    if (std::string other = help_for_other_verb(name, verb); !other.empty()) return other;
  }
  std::string near = is_denied ? "" : did_you_mean(typed, words);
  if (!near.starts_with(kFound) && !by_parts.empty()) return by_parts;
  if (near.starts_with(kFound)) {
    near.insert(kFound.size(), "--");
    const std::string name_found = near.substr(kFound.size(), near.rfind('\'') - kFound.size());
    for (const OptionRow& row : index().rows()) {
      if (row.names.back() == name_found) near += ' ' + option_shown(row);
    }
    return near;
  }
  if (typed.size() > 4 && !is_denied) {
    near = did_you_mean(plain, other_names(known_names()));
    if (near.starts_with(kFound)) {  // of another name the option that it stands for
      const std::string other = near.substr(kFound.size(), near.rfind('\'') - kFound.size());
      const Arguments meant = meant_option("--" + other, "N", known_names(), remarks_).words;
      if (meant.front() != "--" + other) return "did you mean " + joined(meant, " ") + "?";
    }
  }
  if (!near.starts_with(kFound)) {
    if (std::string filter = help_for_filter(plain); !filter.empty()) return filter;
    constexpr std::size_t kMostNamed = 12;
    if (words.size() > kMostNamed && has("--gpus")) return main_options(verb);
    if (words.empty() || words.size() > kMostNamed) {
      return fmt::format(
          "leave it out: there is no such option; penstock {} --help lists those "
          "there are",
          verb);
    }
    return fmt::format("leave it out: penstock {} takes --{}", verb, joined(words, ", --"));
  }
  return near.insert(kFound.size(), "--");
}

namespace {

// What is unknown by its name may be known by its value: one of the choices of another option, or
// degrees such as "TP=8 PP=4".
std::string help_for_kind_of_value(const WordIndex& index, const std::string& value) {
  if (value.empty() || value.starts_with('-')) return "";
  const std::string key = key_called(value.substr(0, std::min(value.find('='), value.size())));
  if (value.find('=') != std::string::npos && !key.empty()) {
    for (const OptionRow& row : index.rows()) {
      const std::string& option = row.names.back();
      if (option != "--layout" && option != "--pin") continue;
      return fmt::format("did you mean {} \"{}\"?", option, value);
    }
  }
  const std::string word = plain_word(value);
  // A name of what is written says where it goes.
  for (const auto& [end, option] :
       {std::pair{".csv", "--csv"}, std::pair{".svg", "--output"}, std::pair{".png", "--output"},
        std::pair{".html", "--output"}}) {
    const bool is_taken =
        std::any_of(index.rows().begin(), index.rows().end(),
                    [name = option](const auto& row) { return row.names.back() == name; });
    if (is_taken && value.ends_with(end)) return fmt::format("did you mean {} {}?", option, value);
  }
  const OptionRow* found = nullptr;
  for (const OptionRow& row : index.rows()) {
    const bool is_choice =
        std::find(row.choices.begin(), row.choices.end(), word) != row.choices.end();
    constexpr std::size_t kShortest = 4;  // "none", "on", "csv" are no evidence
    if (row.positional || !is_choice || word.size() <= kShortest) continue;
    if (row.names.back() == "--color" || row.names.back() == "--format") continue;
    if (found != nullptr) return "";  // then the name decides
    found = &row;
  }
  return found == nullptr ? "" : fmt::format("did you mean {} {}?", found->names.back(), word);
}

}  // namespace

namespace {

// "compare 1f1b zb-h1 -P 8 -M 32": costs without a model.
void refuse_schedule(const Arguments& own) {
  std::error_code error;
  const std::string_view schedule = schedule_spelled(own[0].substr(0, own[0].find(',')));
  if (schedule.empty() || std::filesystem::exists(own[0], error)) return;
  throw_bad_input(
      fmt::format("'{}' is a schedule, and no file\nhelp: without a model: penstock schedule {} -P "
                  "4 -M 8 --cost "
                  "F=10ms,I=10ms,W=10ms; of a model: penstock compare config.json ... --vary "
                  "schedule=1f1b,zb-h1",
                  own[0].substr(0, kLongestName), schedule));
}

}  // namespace

void Options::refuse_leftovers(const Arguments& own) const {
  const std::vector<std::string> leftovers = parser_->app.remaining();
  if (leftovers.empty()) return;
  if (!has("--cost")) refuse_schedule(own);
  const auto option = std::find_if(leftovers.begin(), leftovers.end(),
                                   [](const std::string& text) { return text.starts_with('-'); });
  if (option == leftovers.end()) {
    const auto equals = std::find(own.begin(), own.end(), "=");
    if (equals != own.end() && equals != own.begin() && equals + 1 != own.end()) {
      throw_bad_input(
          fmt::format("'=' stands alone\nhelp: write {} {}", *(equals - 1), *(equals + 1)));
    }
    throw_bad_input(fmt::format("'{}' is one argument too many\nhelp: {}", leftovers[0],
                                help_for_surplus(own, leftovers[0])));
  }
  const std::string name = option->substr(0, option->find('='));
  const auto at = std::find(own.begin(), own.end(), *option);
  const std::string value = option->size() > name.size() ? option->substr(name.size() + 1)
                            : at == own.end() || at + 1 == own.end() ? ""
                                                                     : *(at + 1);
  const std::string verb = usage_.substr(0, usage_.find(' '));
  // Where a trainer's settings are given, a file that has them says more than the option's name.
  const bool takes_settings = has("--pin") || has("--layout") || has("--as");
  std::string help = takes_settings && is_launch_file(value)
                         ? help_for_launch_file(value, known_names())
                         : help_for_kind_of_value(index(), value);
  if (name.find(' ') != std::string::npos) {
    help = "quotes make one word of it: leave them out";
  }
  if (help.empty()) help = nearest_option(name, value, verb);
  if (help.starts_with("leave it out: there is no such") && is_launch_file(value)) {
    help = help_for_launch_file(value, known_names());
  }
  const bool is_long = name.size() > kLongestName;
  throw_bad_input(fmt::format("unknown option '{}'{}\nhelp: {}", name.substr(0, kLongestName),
                              is_long ? "..." : "", help));
}

std::vector<std::string> Options::known_names() const {
  std::vector<std::string> known;
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr || entry.is_positional) continue;
    for (const std::string& name : parse_list("option", entry.names)) known.push_back(name);
  }
  return known;
}

}  // namespace penstock
