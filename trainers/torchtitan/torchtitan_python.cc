// Statements are read one by one, and no expression is evaluated beyond arithmetic on constants of
// the file: what is looked for are the few constructors and assignments that torchtitan's recipes
// consist of, function by function. Values are literals, such numbers, and files beside the recipe;
// anything else is an unresolved setting, which no rule judges.
#include "trainers/torchtitan/torchtitan_python.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/values/error.h"
#include "trainers/lint/python_text.h"
#include "trainers/lint/read_toml.h"
#include "trainers/lint/shell_arithmetic.h"

namespace penstock {
namespace {

// Classes of torchtitan, and the table that they are; which of them the recipe gives a policy.
struct Table {
  std::string_view constructor, name;
};
constexpr std::array<Table, 3> kTables{Table{"ParallelismConfig", "parallelism"},
                                       Table{"TrainingConfig", "training"},
                                       Table{"CheckpointManager.Config", "checkpoint"}};
// Settings that recipes take over: two calls a function double them with every function.
constexpr std::size_t kMostCopied = 100'000;
constexpr std::string_view kPolicy = "activation_checkpoint";

// "FullAC.Config(..)" -> "full"; empty: none that is known.
std::string_view policy_of(std::string_view value) {
  if (value.substr(0, value.find_first_of(" \t#\n")) == "None") return "none";
  if (value.starts_with("FullAC")) return "full";
  if (value.starts_with("SelectiveAC")) return "selective";
  return "";
}

class RecipeReader {
 public:
  explicit RecipeReader(const std::string& file) : file_(file) {}

  std::vector<TorchtitanRecipe> read(std::string_view text) {
    recipes_.push_back({"", 1, LaunchSettings(file_)});
    for (const PythonStatement& statement : read_python_statements(text, file_)) {
      if (begin_function(statement)) continue;
      if (statement.indent == 0) current_ = 0;
      read_statement(statement.whole);
    }
    std::erase_if(recipes_,
                  [](const TorchtitanRecipe& recipe) { return recipe.settings.all().empty(); });
    return std::move(recipes_);
  }

 private:
  bool begin_function(const PythonStatement& statement) {
    std::optional<std::string> name = defined_function(statement);
    if (!name) return false;
    recipes_.push_back({std::move(*name), statement.whole.line, LaunchSettings(file_)});
    current_ = recipes_.size() - 1;
    return true;
  }

  void read_statement(const PythonText& statement) {
    std::size_t target_end = 0;
    while (target_end < statement.text.size() &&
           (is_in_python_name(statement.text[target_end]) || statement.text[target_end] == '.')) {
      ++target_end;
    }
    const std::string_view target = statement.text.substr(0, target_end);
    const std::size_t equals = statement.text.find_first_not_of(" \t", target_end);
    const bool assigns = !target.empty() && equals != std::string_view::npos &&
                         statement.text[equals] == '=' && statement.text.substr(equals, 2) != "==";
    constexpr std::string_view kReturn = "return ";
    if (statement.text.starts_with(kReturn) &&
        begin_with({statement.text.substr(kReturn.size()), statement.line})) {
      return;
    }
    if (assigns) {
      std::size_t begin = statement.text.find_first_not_of(" \t", equals + 1);
      if (begin == std::string_view::npos) return;
      const PythonText value{statement.text.substr(begin), statement.line};
      if (assign(std::string(target), value)) return;
    }
    read_calls(statement);
  }

  // True where nothing in the value needs to be read any more.
  bool assign(const std::string& target, const PythonText& value) {
    const std::size_t dot = target.find('.');
    if (dot == std::string::npos) {
      if (const auto number = number_of(value.text)) constants_[target] = *number;
      if (!policy_of(value.text).empty()) policies_[target] = policy_of(value.text);
      return begin_with(value);
    }
    const std::string path = target.substr(dot + 1);  // without "config."
    for (const Table& table : kTables) {
      if (path != table.name) continue;
      // A new object has the defaults where it sets nothing.
      recipes_[current_].settings.drop(fmt::format("{}.", table.name));
      return false;
    }
    if (path == kPolicy) {
      set_policy(value);
      return true;
    }
    if (path.find('.') == std::string::npos) return false;
    set(path, {path, value});
    return true;
  }

  // config = llama3_8b(): all that this recipe sets.
  bool begin_with(const PythonText& begun) {
    const std::string_view value = begun.text;
    const std::size_t open = value.find('(');
    if (open == std::string_view::npos) return false;
    for (std::size_t r = 1; r < recipes_.size(); ++r) {
      if (r == current_ || recipes_[r].name != value.substr(0, open)) continue;
      copied_ += recipes_[r].settings.all().size();
      if (copied_ > kMostCopied) refuse_too_many(begun.line);
      for (const LaunchSetting& setting : recipes_[r].settings.all()) {
        recipes_[current_].settings.add(setting);
      }
      return true;
    }
    return false;
  }

  [[noreturn]] void refuse_too_many(int line) const {
    throw_bad_input(fmt::format(
        "{}:{}: recipes that begin with each other: together they set more than {} values\nhelp: "
        "name the file of one recipe",
        file_, line, kMostCopied));
  }

  void read_calls(const PythonText& statement) {
    for (const Table& table : kTables) {
      const std::string call = fmt::format("{}(", table.constructor);
      const std::size_t at = statement.text.find(call);
      if (at == std::string_view::npos || (at > 0 && is_in_python_name(statement.text[at - 1])))
        continue;
      for (const PythonArgument& argument :
           read_python_arguments(statement, at + call.size() - 1)) {
        if (argument.name.empty()) continue;
        set(fmt::format("{}.{}", table.name, argument.name), argument);
      }
    }
    const std::string policy = fmt::format("{}=", kPolicy);
    const std::size_t at = statement.text.find(policy);
    if (at == std::string_view::npos || (at > 0 && is_in_python_name(statement.text[at - 1])))
      return;
    const std::string_view before = statement.text.substr(0, at);
    set_policy({statement.text.substr(at + policy.size()),
                statement.line + static_cast<int>(std::count(before.begin(), before.end(), '\n'))});
  }

  void set_policy(const PythonText& value) {
    const std::size_t end = std::min(value.text.find_first_of(",)\n"), value.text.size());
    LaunchSetting setting;
    setting.name = fmt::format("{}.mode", kPolicy);
    setting.line = value.line;
    setting.text = fmt::format("{}={}", kPolicy, value.text.substr(0, end));
    std::string_view policy = policy_of(value.text.substr(0, end));
    const auto named = policies_.find(std::string(value.text.substr(0, end)));
    if (policy.empty() && named != policies_.end()) policy = named->second;
    setting.value = Json(std::string(policy));
    if (policy.empty()) setting.unresolved = std::string(value.text.substr(0, end));
    recipes_[current_].settings.add(std::move(setting));
  }

  void set(const std::string& name, const PythonArgument& argument) {
    constexpr std::size_t kShown = 60;
    LaunchSetting setting;
    setting.name = name;
    setting.line = argument.value.line;
    const std::string written(argument.value.text.substr(0, argument.value.text.find('\n')));
    setting.text = fmt::format("{}={}", argument.name, written.substr(0, kShown));
    if (const auto number = number_of(argument.value.text)) {
      setting.value = Json::number(fmt::format("{}", *number));
    } else if (!read_literal(argument.value, setting.value)) {
      setting.unresolved = written.substr(0, kShown);
    }
    recipes_[current_].settings.add(std::move(setting));
  }

  // 8 * 2048, and names that the file sets to numbers.
  [[nodiscard]] std::optional<std::int64_t> number_of(std::string_view value) const {
    std::string plain;
    bool in_number = false;
    for (const char c : value.substr(0, value.find('#'))) {
      const bool is_digit = c >= '0' && c <= '9';
      in_number = is_in_python_name(c) &&
                  (in_number || (is_digit && (plain.empty() || !is_in_python_name(plain.back()))));
      if (c != '_' || !in_number) plain += c;  // 100_000
    }
    if (plain.find("//") != std::string::npos) plain.replace(plain.find("//"), 2, "/");
    return shell_arithmetic(plain, [this](const std::string& name) -> std::optional<std::int64_t> {
      const auto found = constants_.find(name);
      if (found == constants_.end()) return {};
      return found->second;
    });
  }

  // A string, True, False, None, or a list of such.
  bool read_literal(const PythonText& value, Json& json) const {
    const std::string_view text = value.text;
    if (text.empty()) return false;
    if (const auto name = file_beside(text)) {
      json = Json(*name);
      return true;
    }
    const bool is_word =
        text.starts_with("True") || text.starts_with("False") || text.starts_with("None");
    const bool is_string = text[0] == '"' || text[0] == '\'';
    if (!is_word && !is_string && !is_plain_list(text)) return false;
    std::size_t at = 0;
    int line = value.line;
    json = read_toml_value(text, at, line, file_);
    return true;
  }

  // os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedule.csv")
  static std::optional<std::string> file_beside(std::string_view text) {
    if (!text.starts_with("os.path.join(") || text.find("(__file__)") == std::string_view::npos) {
      return {};
    }
    const std::size_t begin = text.find('"');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('"', begin + 1);
    if (end == std::string_view::npos || text.substr(end + 1, 1) != ")") return {};
    return std::string(text.substr(begin + 1, end - begin - 1));
  }

  // Of strings and lists alone: [["tok_embeddings", "layers.0"], ..].
  static bool is_plain_list(std::string_view text) {
    if (text[0] != '[') return false;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '"' || c == '\'') {
        at = text.find(c, at + 1);
        if (at == std::string_view::npos) return false;
      } else if (std::string_view("[], \t\r\n").find(c) == std::string_view::npos) {
        return false;
      }
    }
    return true;
  }

  const std::string& file_;
  std::vector<TorchtitanRecipe> recipes_;  // the first: what stands outside of functions
  std::size_t current_ = 0, copied_ = 0;
  std::map<std::string, std::int64_t> constants_;
  std::map<std::string, std::string_view> policies_;  // recompute = None
};

}  // namespace

bool is_job(const TorchtitanRecipe& recipe) {
  const auto& all = recipe.settings.all();
  return std::any_of(all.begin(), all.end(), [](const LaunchSetting& setting) {
    return setting.name.starts_with("parallelism.") || setting.name.starts_with("training.");
  });
}

std::vector<TorchtitanRecipe> read_torchtitan_recipes(std::string_view text,
                                                      const std::string& file) {
  return RecipeReader(file).read(text);
}

}  // namespace penstock
