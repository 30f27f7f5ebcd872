// Reading this table shows what the program is made of; nothing registers itself.
#include "cli/verbs/verbs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/asked_verb.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/told_verb.h"
#include "cli/answers/verbs/verb_called.h"
#include "cli/io/file_kinds.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::string_view kExamples = R"(Seven ways to begin (penstock VERB --help says more):

  penstock plan config.json --device h100-sxm --gpus 64 --global-batch 512 -o plan.json
  penstock predict config.json --device h100-sxm --layout "TP=2 PP=4 DP=2 mbs=1 gbs=64"
  penstock explain plan.json
  penstock report plan.json -o report.html
  penstock compare config.json --device h100-sxm --gpus 64 --global-batch 512 \
      --vary schedule=1f1b,zb-h1 --vary mbs=1,2
  penstock check train.sh --gpus 64
  penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost F=10ms,I=10ms,W=10ms,C=0.5ms
)";

constexpr std::string_view kAbout =
    "Plans how to train a model on N GPUs: pipeline, data and tensor parallelism.";

constexpr std::string_view kStreams =
    "Results go to stdout, everything else to stderr. With --json every answer is one JSON object, "
    "and penstock VERB --help --json prints the options of a verb.";

constexpr std::string_view kExitCodes = R"(  0   done
  1   the answer is no: nothing fits, or the checker found something
  2   bad usage, or a malformed file
  3   the machine lacks something: no such file, a full disk
  4   Ctrl-C or a budget ended the search; the best so far was printed
  70  internal error: please report it
)";

std::string help(Screen screen) {
  std::string out = "usage: penstock VERB [ARGUMENTS]\n\n" +
                    wrapped(kAbout, screen.width(), "", "") + "\nVerbs:\n";
  for (const Verb& verb : verbs()) out += fmt::format("  {:<13}{}\n", verb.name, verb.summary);
  return out + '\n' + std::string(kExamples) + '\n' + wrapped(kStreams, screen.width(), "", "") +
         "\nExit codes:\n" + std::string(kExitCodes);
}

const Verb& verb_named(const Arguments& arguments);

bool is_verb(std::string_view name) { return find_verb(name) != nullptr; }

// "describe plan plan.json", "get profile p.json": a verb that only says what kind of file follows.
bool is_noun_of_file(const Arguments& arguments) {
  if (arguments.size() < 3) return false;
  const FileRole role = role_of(arguments[2]);
  return (arguments[1] == "plan" && role == FileRole::kPlan) ||
         (arguments[1] == "profile" && role == FileRole::kProfile) ||
         (arguments[1] == "train" && role == FileRole::kScript);
}

// "penstock --verbose plan", "penstock config.json plan".
void refuse_late_verb(const Arguments& arguments) {
  const std::string& first = arguments[0];
  const bool is_name = !first.starts_with('-') && first.find_first_of("./") == std::string::npos;
  const auto verb = std::find_if(arguments.begin(), arguments.end(), is_verb);
  if (first.ends_with("/penstock")) return;
  const bool is_word = is_name && !is_verb(first) && first != "penstock" && first != "help";
  if (is_word && arguments.size() > 2 && is_verb(arguments[1])) {
    for (const Verb& each : verbs()) {  // "explian plan plan.json"
      if (slips_between(first, each.name) > 1) continue;
      throw_bad_input(fmt::format("unknown verb '{}'\nhelp: did you mean '{}'?", first, each.name));
    }
    if (is_noun_of_file(arguments)) {
      Arguments words = arguments;
      words.erase(words.begin() + 1);
      static_cast<void>(verb_named(words));
    }
    // "multi-node plan config.json"
    throw_bad_input(
        fmt::format("unknown verb '{}'\nhelp: leave it out: {}", first,
                    command_of(arguments[1], {arguments.begin() + 2, arguments.end()})));
  }
  if (is_name || verb == arguments.end()) return;
  Arguments others(arguments.begin(), verb);
  others.insert(others.end(), verb + 1, arguments.end());
  throw_bad_input(fmt::format("the verb comes first, before '{}'\nhelp: write {}", first,
                              command_of(*verb, others)));
}

// A file in the place of the verb: what takes it, and those of the words behind it that it takes.
std::string command_for_file(const Arguments& arguments) {
  const std::string& path = arguments[0];
  const Arguments rest(arguments.begin() + 1, arguments.end());
  const auto command = [&](std::string_view verb, Arguments before = {}) {
    Arguments words = before;
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (verb_takes(verb, words)) return whole_command(verb, words);
    before.push_back(path);
    return command_of_taken(verb, before, rest);
  };
  switch (role_of(path)) {
    case FileRole::kPlan:
      return command("explain");
    case FileRole::kScript:
      return command("check");
    case FileRole::kJob:
      return command("manage");
    case FileRole::kLog:
      return command("validate", {"plan.json"});
    case FileRole::kNone:
      if (path.ends_with(".csv")) return command("schedule");
      return path.ends_with(".json") ? command("plan") : "";
    case FileRole::kModel:
    case FileRole::kProfile:
      return command("plan");
    case FileRole::kCluster:
      return command("plan", {model_at_hand(), "--cluster"});
    case FileRole::kBook:
      return command("morph", {"--book"});
  }
  return "";
}

// "config.json --gpus 64", "--gpus 64", "./penstock plan", "planconfig.json": the whole command.
std::string command_without_verb(const Arguments& arguments) {
  const std::string& first = arguments[0];
  const Arguments rest(arguments.begin() + 1, arguments.end());
  std::error_code error;
  if (first == "penstock" || first.ends_with("/penstock")) {
    const bool has_verb = !rest.empty() && is_verb(rest[0]);
    return has_verb ? command_of(rest[0], {rest.begin() + 1, rest.end()}) : "";
  }
  for (const Verb& verb : verbs()) {
    const bool is_glued = first.size() > verb.name.size() && first.starts_with(verb.name) &&
                          std::filesystem::is_regular_file(first.substr(verb.name.size()), error);
    if (!is_glued) continue;
    Arguments words{first.substr(verb.name.size())};
    words.insert(words.end(), rest.begin(), rest.end());
    return command_of(std::string(verb.name), words);
  }
  const std::string bare = first.substr(std::min(first.find_first_not_of('-'), first.size()));
  if (bare != first && bare == "help") return "penstock --help";
  if (bare != first && is_verb(bare)) return whole_command(bare, rest);
  const std::string begin = first.substr(0, first.find(' '));
  if (begin != first && is_verb(begin)) {  // quotes around the whole command
    Arguments words;
    std::istringstream parts(first.substr(begin.size()));
    for (std::string word; parts >> word;) words.push_back(word);
    words.insert(words.end(), rest.begin(), rest.end());
    return command_of(begin, words);
  }
  const bool is_file = std::filesystem::is_regular_file(first, error) ||
                       first.find_first_of("./") != std::string::npos;
  if (std::string command = is_file && !first.starts_with('-') ? command_for_file(arguments) : "";
      !command.empty()) {
    return command;
  }
  if (first.starts_with("--")) {
    Arguments words{"config.json"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return verb_takes("plan", words) ? command_of("plan", words) : "";
  }
  return "";
}

// "--pp 8" and "--tp=8" as a choice of a plan: the pair, and how many words it took; else empty.
std::pair<std::string, std::size_t> choice_at(const Arguments& words, std::size_t at) {
  const std::string& word = words[at];
  const std::size_t dashes = word.find_first_not_of('-');
  if (dashes == std::string::npos) return {"", 1};
  if (dashes == 0) {
    const bool is_pair = word.find('=') != std::string::npos;
    return {is_pair ? word : pair_called(word), 1};
  }
  const std::size_t equals = word.find('=');
  const std::string key = key_called(word.substr(0, equals).substr(dashes));
  const bool is_apart = equals == std::string::npos;
  if (key.empty() || (is_apart && at + 1 == words.size())) return {"", 1};
  return {field_word(key) + '=' + (is_apart ? words[at + 1] : word.substr(equals + 1)),
          is_apart ? 2 : 1};
}

// "why plan.json TP=8", "whynot plan.json zb-h1", "why-not PP=8 plan.json": choices have an option.
Arguments with_choices(const std::string& verb, const Arguments& rest) {
  const bool is_said = std::any_of(rest.begin(), rest.end(), [](const std::string& word) {
    return word.starts_with("--why") || word.starts_with("--book");
  });
  if (verb != "explain" || is_said) return rest;
  Arguments pairs, others;
  for (std::size_t i = 0; i < rest.size();) {
    const bool is_file = role_of(rest[i]) != FileRole::kNone;
    const auto [pair, words] =
        is_file ? std::pair(std::string(), std::size_t{1}) : choice_at(rest, i);
    if (pair.empty()) {
      others.push_back(rest[i]);
    } else {
      pairs.push_back(pair);
    }
    i += words;
  }
  if (pairs.empty() || others.empty()) return rest;
  others.insert(others.begin() + 1, {"--why-not", joined(pairs, ",")});
  return others;
}

// "--Device h100-sxm": every option is written in small letters.
Arguments with_small_names(Arguments words) {
  for (std::string& word : words) {
    if (!word.starts_with("--")) continue;
    const auto end =
        word.begin() + static_cast<std::ptrdiff_t>(std::min(word.find('='), word.size()));
    std::transform(word.begin(), end, word.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return words;
}

// "--model llama-3-8b": the whole name of a model that lies with the program, as its file.
Arguments with_shipped_files(Arguments words) {
  for (std::string& word : words) {
    std::error_code error;
    if (word.starts_with('-') || std::filesystem::exists(word, error)) continue;
    if (const ShippedModels shipped = shipped_models(word); shipped.is_it) word = shipped.paths;
  }
  return words;
}

// What the verb itself says to an option that it has not, or to one that it needs first: "schedules
// --list", "morphing config.json --min-gpus 8".
std::string help_of_refusal(const std::string& verb, Arguments words) {
  words.insert(words.begin(), verb);
  const std::string refusal = refusal_of(words).value_or("");
  constexpr std::string_view kHelp = "\nhelp: ";
  const std::size_t at = refusal.find(kHelp);
  const bool is_of_option = refusal.starts_with("unknown option") || refusal.starts_with("--") ||
                            refusal.starts_with("TOOL: ");
  if (!is_of_option || at == std::string::npos) return "";
  const std::size_t begin = at + kHelp.size();
  const std::string help = refusal.substr(begin, refusal.find('\n', begin) - begin);
  return help.find("penstock ") == std::string::npos ? "" : help;
}

// The files of the words, with what the verb takes of the rest, and what it has not.
std::string command_of_known(const std::string& verb, const Arguments& rest) {
  Arguments words;
  for (const std::string& word : rest) {
    if (role_of(word) != FileRole::kNone) words.push_back(word);
  }
  if (words.empty() || !verb_takes(verb, words)) return "";
  return "write " + command_of_taken(verb, words, rest);
}

// "did you mean 'plan'?", and the whole command: of that verb where it takes the files.
std::string with_command(const std::string& help, const Arguments& arguments) {
  constexpr std::string_view kMeant = "did you mean '";
  const std::size_t begin = kMeant.size(), end = help.find('\'', begin);
  const bool is_one = help.starts_with(kMeant) && end != std::string::npos &&
                      help.compare(end, std::string::npos, "'?") == 0;
  if (!is_one) return help;
  const std::string verb = help.substr(begin, end - begin);
  if (find_verb(verb) == nullptr) return help;
  if (arguments.size() < 2) return help + " for example " + whole_command(verb, {});
  const Arguments rest = with_flag_called(arguments[0], verb,
                                          with_shipped_files(with_small_names(with_choices(
                                              verb, {arguments.begin() + 1, arguments.end()}))));
  if (std::string other = help_for_files(verb, rest); !other.empty()) return help + ' ' + other;
  if (std::string placed = placed_command(verb, rest); !placed.empty()) return help + ' ' + placed;
  const std::string own = help_of_refusal(verb, rest);
  if (verb == "import" && !own.empty()) return help + ' ' + own;
  if (verb_takes(verb, rest)) return help + " write " + whole_command(verb, rest);
  if (std::string known = command_of_known(verb, rest); !known.empty()) return help + ' ' + known;
  if (!own.empty()) return help + ' ' + own;
  return fmt::format("{} for example {}", help, whole_command(verb, {}));
}

const Verb& verb_named(const Arguments& arguments) {
  const std::string& name = arguments[0];
  std::vector<std::string> known;
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return verb;
    known.emplace_back(verb.name);
  }
  const std::string asked = help_for_asked(name, {arguments.begin() + 1, arguments.end()}, known);
  if (!asked.empty()) throw_bad_input(fmt::format("unknown verb '{}'\nhelp: {}", name, asked));
  const std::string command = command_without_verb(arguments);
  throw_bad_input(fmt::format(
      "unknown verb '{}'\nhelp: {}", name,
      command.empty()              ? with_command(help_for_verb(arguments, known), arguments)
      : name.ends_with("penstock") ? fmt::format("leave the second '{}' out: {}", name, command)
                                   : "a verb comes first: " + command));
}

}  // namespace

std::span<const Verb> verbs() {
  static constexpr std::array kVerbs{
      Verb{"plan", "find the fastest configurations for N GPUs", run_plan},
      Verb{"predict", "predict time and memory of one configuration", run_predict},
      Verb{"simulate", "replay a plan: step time, bubble, memory, timeline", run_simulate},
      Verb{"schedule", "replay pipeline schedules with given costs", run_schedule},
      Verb{"compare", "compare the best plans for several settings", run_compare},
      Verb{"dynamic", "plan training on samples of different lengths", run_dynamic},
      Verb{"morph", "replay GPUs that come and go: when to change the plan", run_morph},
      Verb{"multi", "put several models on the same GPUs", run_multi},
      Verb{"explain", "say what limits a plan, and what would make it faster", run_explain},
      Verb{"calibrate", "fit predictions to measured runs", run_calibrate},
      Verb{"devices", "list GPUs and what is assumed of them, to change it", run_devices},
      Verb{"estimate", "write an estimated profile from a config.json", run_estimate},
      Verb{"profile", "measure a model and the links on this machine", run_profile},
      Verb{"train", "train by a plan with LibTorch, or replay it in real time", run_train},
      Verb{"planner", "plan the steps of a job on documents on another machine", run_planner},
      Verb{"manage", "keep a job running on machines that come and go", run_manage},
      Verb{"status", "show a managed job: machines, speed, decisions", run_status},
      Verb{"tell", "give the manager of a job a command", run_tell},
      Verb{"listen", "tell a manager what a cloud announces to this machine", run_listen},
      Verb{"validate", "compare a prediction with a run", run_validate},
      Verb{"import", "put measured bandwidths and prices into a cluster file", run_import},
      Verb{"export", "write the job of a plan for a trainer", run_export},
      Verb{"report", "write an HTML page that shows a plan", run_report},
      Verb{"trace", "write a step as a trace for viewers, or as a picture", run_trace},
      Verb{"check", "find mistakes in launch scripts and plan files", run_check},
      Verb{"fingerprint", "print hashes that change when a prediction changes", run_fingerprint},
      Verb{"completions", "print completions for bash, zsh or fish", run_completions},
      Verb{"man", "print the manual page", run_man},
  };
  return kVerbs;
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::find_if(verbs().begin(), verbs().end(),
                                  [name](const Verb& verb) { return verb.name == name; });
  return found == verbs().end() ? nullptr : &*found;
}

OptionTable options_of(const Verb& verb) {
  try {
    const std::string table = verb.run({"--help", "--json"}, {}).text;
    return read_option_table(parse_json(table, std::string(verb.name)));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kMissingResource) throw;
    return {};
  }
}

std::vector<std::string> verbs_with_option(const std::string& name) {
  std::vector<std::string> found;
  for (const Verb& verb : verbs()) {
    const std::vector<OptionRow> rows = options_of(verb).rows;
    const bool has = std::any_of(rows.begin(), rows.end(), [&name](const OptionRow& row) {
      return std::find(row.names.begin(), row.names.end(), name) != row.names.end();
    });
    if (has) found.emplace_back(verb.name);
  }
  return found;
}

std::string_view exit_codes() { return kExitCodes; }

namespace {

// The bytes of the sign that stands in `text` at `at`; 0 where it is none of `signs`.
template <std::size_t kCount>
std::size_t sign_at(std::string_view text, std::size_t at,
                    const std::array<std::string_view, kCount>& signs) {
  for (const std::string_view sign : signs) {
    if (text.compare(at, sign.size(), sign) == 0) return sign.size();
  }
  return 0;
}

constexpr std::size_t kSignBytes = 3;  // of every dash and quote below
constexpr std::array<std::string_view, 7> kDashes{"\u2010", "\u2011", "\u2012", "\u2013",
                                                  "\u2014", "\u2015", "\u2212"};
constexpr std::array<std::string_view, 4> kQuotes{"\u201c", "\u201d", "\u2018", "\u2019"};

// Around the whole and around what follows the first '='; inside, a quote is part of a name.
std::string without_curly_quotes(std::string_view word) {
  while (sign_at(word, 0, kQuotes) > 0) word.remove_prefix(kSignBytes);
  while (word.size() >= kSignBytes && sign_at(word, word.size() - kSignBytes, kQuotes) > 0) {
    word.remove_suffix(kSignBytes);
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return std::string(word);
  std::string_view value = word.substr(equals + 1);
  while (sign_at(value, 0, kQuotes) > 0) value.remove_prefix(kSignBytes);
  return std::string(word.substr(0, equals + 1)).append(value);
}

// "\u2014tp" and "\u2013-tp" are "--tp", "\u2013P" is "-P", and before a number it is a minus sign.
std::string with_plain_dashes(const std::string& word) {
  std::size_t begin = 0;
  bool has_long = false;
  while (begin < word.size()) {
    const std::size_t bytes = sign_at(word, begin, kDashes);
    if (bytes == 0 && word[begin] != '-') break;
    has_long = has_long || bytes > 0;
    begin += std::max<std::size_t>(bytes, 1);
  }
  if (!has_long) return word;
  const std::string rest = word.substr(begin);
  const bool is_number = !rest.empty() && (rest[0] == '.' || (rest[0] >= '0' && rest[0] <= '9'));
  return (rest.size() > 1 && rest[1] != '=' && !is_number ? "--" : "-") + rest;
}

// Text processors and chats make one long dash of two, and curly quotes. A file of such a name is
// meant as it is.
Arguments in_plain_signs(Arguments arguments) {
  constexpr char kFirstByte = '\xE2';  // of all of these signs
  for (std::string& word : arguments) {
    std::error_code error;
    if (word.find(kFirstByte) == std::string::npos || std::filesystem::exists(word, error))
      continue;
    word = with_plain_dashes(without_curly_quotes(word));
  }
  return arguments;
}

}  // namespace

Answer run_penstock(const Arguments& given, Screen screen) {
  const Arguments arguments = in_plain_signs(given);
  if (arguments.empty()) return report_answer(std::string(kExamples));
  const std::string& first = arguments[0];
  const bool is_alone = arguments.size() == 1;  // "penstock -v plan .." asks for no version
  if (first == "--version" || first == "version" || (is_alone && (first == "-v" || first == "-V")))
    return {fmt::format("penstock {}\n", version())};
  if (first == "--help" || first == "-h" || first == "help") {
    // "help me choose tp for 70b" is a question.
    if (arguments.size() > 2 && !is_verb(arguments[1])) {
      static_cast<void>(verb_named({arguments.begin() + 1, arguments.end()}));
    }
    if (arguments.size() > 1) return verb_named({arguments[1]}).run({"--help"}, screen);
    return report_answer(help(screen));
  }
  refuse_late_verb(arguments);
  if (arguments.size() == 2 && arguments[1] == "help")
    return verb_named({first}).run({"--help"}, screen);
  return verb_named(arguments).run({arguments.begin() + 1, arguments.end()}, screen);
}

}  // namespace penstock
