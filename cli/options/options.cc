// One declaration of an option serves the parser (CLI11), --help, --help --json, completions and
// the manual. CLI11 keeps all values as text and refuses nothing by itself: repetitions, unknown
// names and missing values are refused here, in our words and with the nearest name.
#include "cli/options/options.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/options/parse.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {

// A line of the help, and where its value goes; a heading has neither.
struct Options::Entry {
  std::string names, value_name, help;
  std::vector<std::string> choices;
  CLI::Option* option = nullptr;
  bool is_positional = false;
  std::string* text = nullptr;
  std::optional<std::string>* optional = nullptr;
  std::vector<std::string>* list = nullptr;
  bool* flag = nullptr;
};

struct Options::Parser {
  CLI::App app;
};

namespace {

constexpr const char* kSelf = "this text";
constexpr int kMostPositionals = 1 << 20;
// main() takes it out of the arguments of any verb.
constexpr const char* kColor =
    "auto (default): in a terminal, unless NO_COLOR or TERM=dumb; always; never";

std::string spaced(const std::string& names) {
  std::string out;
  for (const char c : names) out += c == ',' ? std::string(", ") : std::string(1, c);
  return out;
}

// "on|off" names its values itself.
std::vector<std::string> alternatives(const std::string& value_name) {
  std::vector<std::string> out;
  if (value_name.find('|') == std::string::npos) return out;
  std::istringstream parts(value_name);
  for (std::string part; std::getline(parts, part, '|');) out.push_back(part);
  return out;
}

}  // namespace

Options::Options(std::string usage, std::string about, std::string examples)
    : usage_(std::move(usage)),
      about_(std::move(about)),
      examples_(std::move(examples)),
      parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag("");
  parser_->app.allow_extras();
}

Options::~Options() = default;

Options::Entry& Options::add(const std::string& names, std::string value_name, std::string help) {
  Entry entry;
  entry.names = names;
  entry.value_name = std::move(value_name);
  entry.help = std::move(help);
  return entries_.emplace_back(std::move(entry));
}

void Options::heading(const std::string& title) { add(title, "", ""); }

void Options::positional(const std::string& name, std::string help, std::string& value) {
  Entry& entry = add(name, "", std::move(help));
  entry.option = parser_->app.add_option(name);
  entry.is_positional = true;
  entry.text = &value;
}

void Options::positional_if_any(const std::string& name, std::string help,
                                std::optional<std::string>& value) {
  Entry& entry = add(name, "", std::move(help));
  entry.option = parser_->app.add_option(name);
  entry.is_positional = true;
  entry.optional = &value;
}

void Options::positionals(const std::string& name, std::string help,
                          std::vector<std::string>& values) {
  Entry& entry = add(name, "", std::move(help));
  entry.option = parser_->app.add_option(name);
  entry.is_positional = true;
  entry.list = &values;
}

void Options::option(const std::string& names, std::string value_name, std::string help,
                     std::optional<std::string>& value) {
  Entry& entry = add(names, std::move(value_name), std::move(help));
  entry.option = parser_->app.add_option(names);
  entry.optional = &value;
}

void Options::repeated(const std::string& names, std::string value_name, std::string help,
                       std::vector<std::string>& values) {
  Entry& entry = add(names, std::move(value_name), std::move(help));
  entry.option = parser_->app.add_option(names);
  entry.list = &values;
}

void Options::flag(const std::string& names, std::string help, bool& value) {
  Entry& entry = add(names, "", std::move(help));
  entry.option = parser_->app.add_flag(names);
  entry.flag = &value;
}

void Options::remark(std::vector<std::string> typed, std::string help) {
  remarks_.push_back({std::move(typed), std::move(help)});
}

void Options::choices(std::vector<std::string> values) {
  entries_.back().choices = std::move(values);
}

std::optional<std::string> Options::parse(const Arguments& arguments, Screen screen) {
  const auto options_end = std::find(arguments.begin(), arguments.end(), "--");
  const auto given = [&](const char* name) {
    return std::find(arguments.begin(), options_end, name) != options_end;
  };
  if (given("--help") || given("-h")) {
    return given("--json") ? to_text(write_option_table(table())) + '\n' : help(screen);
  }
  for (Entry& entry : entries_) {
    if (entry.option == nullptr || entry.flag != nullptr) continue;
    // All values are kept, one per name, so that a repetition can be refused in our words.
    entry.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
    if (entry.is_positional && entry.list == nullptr) entry.option->expected(1);
    if (entry.is_positional && entry.list != nullptr) {
      entry.option->allow_extra_args()->expected(1, kMostPositionals);
    }
  }
  const Arguments own = in_own_options(arguments, known_names(), remarks_);
  try {
    parser_->app.parse(Arguments(own.rbegin(), own.rend()));
  } catch (const CLI::ArgumentMismatch&) {  // the library's exceptions end here
    bad_option(arguments.back(), "needs a value", help_for_value(own.back()));
  } catch (const CLI::ParseError& error) {
    throw_bad_input(fmt::format("{}\nhelp: usage: penstock {}", error.what(), usage_));
  }
  refuse_leftovers(own);
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr) continue;
    const std::vector<std::string>& results = entry.option->results();
    for (std::vector<std::string>* names : given_) {
      if (results.empty()) break;
      for (std::string& name : parse_list("option", entry.names)) names->push_back(std::move(name));
    }
    if (entry.flag != nullptr) *entry.flag = !results.empty();
    if (entry.list != nullptr) *entry.list = results;
    if (entry.is_positional && entry.optional == nullptr && results.empty()) {
      bad_option(entry.names, "missing", fmt::format("usage: penstock {}", usage_));
    }
    if (entry.text != nullptr) *entry.text = results[0];
    if (entry.optional == nullptr || results.empty()) continue;
    if (results.size() > 1) {
      bad_option(spaced(entry.names), fmt::format("given {} times", results.size()),
                 "keep one of them");
    }
    *entry.optional = results[0];
  }
  return {};
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

// "--schedule 1f1b zb-h1", "--vary tp 1,2": a list whose words stand apart.
std::string Options::help_for_parted(const Arguments& own, const std::string& word) const {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at - own.begin() < 2) return "";
  const std::string &option = *(at - 2), &value = *(at - 1);
  for (const Entry& entry : entries_) {
    const std::vector<std::string> names = parse_list("option", entry.names);
    if (entry.is_positional || entry.value_name.find(",...") == std::string::npos) continue;
    if (std::find(names.begin(), names.end(), option) == names.end()) continue;
    const bool has_keys = entry.value_name.find('=') != std::string::npos;
    const char* between = has_keys && value.find('=') == std::string::npos ? "=" : ",";
    return fmt::format("write it as one word: {} {}{}{}", option, value, between, word);
  }
  return "";
}

// "schedule 1f1b 4 8", "simulate plan.json --jitter 5".
std::string Options::help_for_number(const Arguments& own, const std::string& word) const {
  if (has("--gpus")) return "a number of GPUs follows its option: --gpus " + word;
  const auto at = std::find(own.begin(), own.end(), word);
  if (at != own.begin() && *(at - 1) == "--jitter") return "write --jitter-percent " + word;
  if (has("-P")) return "ranks and micro-batches have options: -P " + word + " -M 8";
  return "";
}

// "--cost F=10ms B=20ms", "--layout TP=8 PP=4".
std::string Options::help_for_assignment(const Arguments& own) const {
  if (has("--cost")) return "costs are one word, with commas: --cost F=10ms,B=20ms";
  const auto from = std::find(own.begin(), own.end(), "--layout");
  if (from == own.end()) return "";
  const auto to = std::find_if(from + 1, own.end(),
                               [](const std::string& each) { return each.starts_with('-'); });
  return "quote it: --layout \"" + joined(Arguments(from + 1, to), " ") + "\"";
}

// "--device GB200 NVL72".
std::string Options::help_for_device(const Arguments& own, const std::string& word) const {
  const auto at = std::find(own.begin(), own.end(), word);
  if (at - own.begin() < 2 || *(at - 2) != "--device") return "";
  return fmt::format("quote a name with blanks: --device \"{} {}\"", *(at - 1), word);
}

std::string Options::help_for_file(const std::string& word) const {
  if (has("--book") && has("--trace")) {
    return "the book and the recording have options: --book book.json --trace trace.csv";
  }
  for (const std::string_view end : {".html", ".svg", ".png", ".csv", ".md"}) {
    if (word.ends_with(end) && has("--output")) return "to write a file: -o " + word;
  }
  if (!word.ends_with(".json")) return "";
  if (has("--vary")) {
    return "one model is planned with several settings (--vary); penstock plan ... --baseline "
           "plan.json compares the best plan with another";
  }
  if (has("--global-batch")) {
    return "one model is planned at a time; a cluster file follows --cluster";
  }
  return "";
}

// What people write for one value and the shell takes apart, or where an option belongs.
std::string Options::help_for_surplus(const Arguments& own, const std::string& word) const {
  for (const std::string_view number : {"thousand", "million", "billion", "trillion"}) {
    if (word == number) return "write the number and a letter as one word, for example 2T";
  }
  if (usage_ == "man") return "penstock " + word + " --help explains one verb";
  std::string help;
  if (word.find_first_not_of("0123456789") == std::string::npos) help = help_for_number(own, word);
  if (help.empty() && word.find('=') != std::string::npos) help = help_for_assignment(own);
  if (help.empty()) help = help_for_device(own, word);
  if (help.empty()) help = help_for_file(word);
  if (help.empty()) help = help_for_parted(own, word);
  return help.empty() ? fmt::format("usage: penstock {}", usage_) : help;
}

// The dashes say nothing of how near two names are.
std::string Options::nearest_option(const std::string& name, const std::string& verb) const {
  std::vector<std::string> words;
  for (const std::string& known : known_names()) {
    if (known.starts_with("--")) words.push_back(known.substr(2));
  }
  const std::size_t begin = std::min(name.find_first_not_of('-'), name.size());
  constexpr std::string_view kFound = "did you mean '";
  std::string near = did_you_mean(std::string_view(name).substr(begin), words);
  if (!near.starts_with(kFound)) {
    constexpr std::size_t kMostNamed = 45;
    if (words.empty() || words.size() > kMostNamed) {
      return fmt::format("penstock {} --help explains the options", verb);
    }
    return fmt::format("there are --{}; penstock {} --help explains them", joined(words, ", --"),
                       verb);
  }
  return near.insert(kFound.size(), "--");
}

void Options::refuse_leftovers(const Arguments& own) const {
  const std::vector<std::string> leftovers = parser_->app.remaining();
  if (leftovers.empty()) return;
  const auto option = std::find_if(leftovers.begin(), leftovers.end(),
                                   [](const std::string& text) { return text.starts_with('-'); });
  if (option == leftovers.end()) {
    throw_bad_input(fmt::format("'{}' is one argument too many\nhelp: {}", leftovers[0],
                                help_for_surplus(own, leftovers[0])));
  }
  const std::string name = option->substr(0, option->find('='));
  const std::string verb = usage_.substr(0, usage_.find(' '));
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", name, nearest_option(name, verb)));
}

std::vector<std::string> Options::known_names() const {
  std::vector<std::string> known;
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr || entry.is_positional) continue;
    for (const std::string& name : parse_list("option", entry.names)) known.push_back(name);
  }
  return known;
}

std::string Options::help(Screen screen) const {
  constexpr std::size_t kColumn = 30;
  std::string out =
      fmt::format("usage: penstock {}\n\n", usage_) + wrapped(about_, screen.width(), "", "");
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr) {
      out += '\n' + entry.names + ":\n";
      continue;
    }
    std::string left = "  " + spaced(entry.names);
    if (!entry.value_name.empty()) left += ' ' + entry.value_name;
    if (left.size() + 2 > kColumn) {
      out += left + '\n';
      left.clear();
    }
    left.resize(kColumn, ' ');
    out += wrapped(entry.help, screen.width(), left, std::string(kColumn, ' '));
  }
  out += wrapped(kColor, screen.width(), fmt::format("{:<{}}", "  --color WHEN", kColumn),
                 std::string(kColumn, ' '));
  out += wrapped(kSelf, screen.width(), fmt::format("{:<{}}", "  -h, --help", kColumn), "");
  return out + "\nExamples:\n" + examples_;
}

OptionTable Options::table() const {
  OptionTable table{.usage = usage_, .about = about_, .rows = {}, .examples = examples_};
  std::string heading;
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr) {
      heading = entry.names;
      continue;
    }
    OptionRow row;
    row.heading = heading;
    row.names = parse_list("option", entry.names);
    row.value_name = entry.value_name;
    row.help = entry.help;
    row.choices = entry.choices.empty() ? alternatives(entry.value_name) : entry.choices;
    row.positional = entry.is_positional;
    row.repeated = entry.list != nullptr;
    table.rows.push_back(std::move(row));
  }
  OptionRow color;
  color.heading = heading;
  color.names = {"--color"};
  color.value_name = "WHEN";
  color.help = kColor;
  color.choices = {"auto", "always", "never"};
  table.rows.push_back(std::move(color));
  OptionRow self;
  self.heading = heading;
  self.names = {"-h", "--help"};
  self.help = kSelf;
  table.rows.push_back(std::move(self));
  return table;
}

const std::string& required(const std::optional<std::string>& value, const std::string& option,
                            const std::string& example) {
  if (!value) bad_option(option, "missing", fmt::format("add it, for example {}", example));
  return *value;
}

void refuse_given(const std::vector<std::string>& given, const std::vector<std::string>& options,
                  const std::string& why, const std::string& help) {
  for (const std::string& option : options) {
    if (std::find(given.begin(), given.end(), option) != given.end()) bad_option(option, why, help);
  }
}

}  // namespace penstock
