// One declaration of an option serves the parser (CLI11), --help, --help --json, completions and
// the manual. CLI11 keeps all values as text and refuses nothing by itself: repetitions, unknown
// names and missing values are refused here, in our words and with the nearest name.
#include "cli/options/options.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/files/file_pattern.h"
#include "cli/answers/files/misplaced_files.h"
#include "cli/answers/options/named_argument.h"
#include "cli/answers/options/output_names.h"
#include "cli/answers/verbs/other_wishes.h"
#include "cli/answers/words/odd_values.h"
#include "cli/answers/words/options_in_values.h"
#include "cli/answers/words/pasted_command.h"
#include "cli/options/options_entry.h"
#include "cli/words/parse.h"
#include "core/values/error.h"
#include "report/words.h"

namespace penstock {

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

// What "; " divides outside of brackets: of a long list each item has its line.
std::vector<std::string> items_of(const std::string& help) {
  constexpr std::size_t kLongest = 600;
  std::vector<std::string> items(1);
  int depth = 0;
  for (std::size_t i = 0; i < help.size(); ++i) {
    depth += help[i] == '(' ? 1 : help[i] == ')' ? -1 : 0;
    const bool ends = help.size() > kLongest && depth == 0 && help.compare(i, 2, "; ") == 0;
    if (ends) {
      items.emplace_back();
      ++i;
    } else {
      items.back() += help[i];
    }
  }
  return items;
}

// "--to megatron profile.json": what is said of the file that a verb takes holds wherever it
// stands.
Arguments with_file_first(const OptionTable& table, Arguments words) {
  if (words.empty() || !words.front().starts_with('-')) return words;
  const GivenWords given = given_words(table, words);
  std::error_code error;
  if (given.bare.empty() || !std::filesystem::exists(given.bare.front(), error)) return words;
  const auto file = std::find(words.begin(), words.end(), given.bare.front());
  if (file != words.end()) std::rotate(words.begin(), file, file + 1);
  return words;
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

std::optional<std::string> Options::parse(const Arguments& typed, Screen screen) {
  const Arguments arguments = without_stray_signs(typed);
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
  refuse_blank_options(arguments);
  refuse_pasted_command(usage_, arguments);
  refuse_quoted(arguments);
  refuse_file_pattern(table(), arguments);
  refuse_other_wish(table(), arguments);
  refuse_gpus(arguments);
  refuse_named_argument(index(), arguments);
  refuse_other_file(usage_, with_file_first(table(), arguments));
  refuse_misplaced_files(table(), arguments);
  const Arguments own = in_own_options(arguments, known_names(), remarks_,
                                       [this]() -> const WordIndex& { return index(); });
  refuse_missing_values(own);
  refuse_options_in_values(table(), own);
  refuse_odd_values(table(), own);
  refuse_form_as_output(table(), own);
  try {
    parser_->app.parse(Arguments(own.rbegin(), own.rend()));
  } catch (const CLI::ArgumentMismatch&) {  // the library's exceptions end here
    bad_option(arguments.back(), "needs a value", help_for_value(own.back()));
  } catch (const CLI::ParseError& error) {
    throw_bad_input(fmt::format("{}\nhelp: usage: penstock {}", error.what(), usage_));
  }
  refuse_leftovers(own);
  if (kept_ != nullptr) *kept_ = typed_command(own);
  for (const Entry& entry : entries_) {
    if (entry.option == nullptr) continue;
    std::vector<std::string> results = entry.option->results();
    if (entry.names == further_plans_) {
      const std::vector<std::string> further = further_plans();
      results.insert(results.end(), further.begin(), further.end());
    }
    for (std::vector<std::string>* names : given_) {
      if (results.empty()) break;
      for (std::string& name : parse_list("option", entry.names)) names->push_back(std::move(name));
    }
    if (entry.flag != nullptr) *entry.flag = !results.empty();
    if (entry.list != nullptr) *entry.list = results;
    if (entry.is_positional && entry.optional == nullptr && results.empty()) {
      refuse_other_choice(entry);
      refuse_missing(own, entry);
    }
    if (entry.text != nullptr) *entry.text = results[0];
    if (entry.optional == nullptr || results.empty()) continue;
    if (results.size() > 1) {
      const std::string other = other_name_of(entry.names, typed);
      bad_option(spaced(entry.names),
                 fmt::format("given {} times{}", results.size(),
                             other.empty() ? "" : ", of which one is called " + other),
                 help_for_repeated(own, entry.names, entry.value_name, results) +
                     command_once(own, entry.names, results) +
                     (other.starts_with("--device") &&
                              std::find(own.begin(), own.end(), "--device") == own.end()
                          ? "; --device NAME is the kind of GPU, for example --device h100-sxm"
                          : ""));
    }
    *entry.optional = results[0];
  }
  return {};
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
    const std::vector<std::string> items = items_of(entry.help);
    const std::string behind(kColumn + (items.size() > 1 ? 2 : 0), ' ');
    for (const std::string& item : items) {
      out += wrapped(item, screen.width(), left, behind);
      left.assign(kColumn, ' ');
    }
  }
  out += wrapped(kColor, screen.width(), fmt::format("{:<{}}", "  --color WHEN", kColumn),
                 std::string(kColumn, ' '));
  out += wrapped(kSelf, screen.width(), fmt::format("{:<{}}", "  -h, --help", kColumn), "");
  return out + "\nExamples:\n" + examples_;
}

const WordIndex& Options::index() const {
  if (!index_) index_ = std::make_unique<WordIndex>(table());
  return *index_;
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
