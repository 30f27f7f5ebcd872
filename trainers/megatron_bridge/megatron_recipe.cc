// Assignments to a field, cfg.model.tensor_model_parallel_size = 4, and keywords of calls that
// stand in a statement, are the settings of the function they are in. A recipe begins with a
// model's own configuration, or another's recipe: a field that it does not set is not known, and
// not the default of a flag.
#include "trainers/megatron_bridge/megatron_recipe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "trainers/lint/overrides.h"
#include "trainers/lint/python_text.h"
#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// What recipes are read by: the newest version.
const TrainerVersion& recipe_version() {
  return find_trainer_row("megatron-bridge")->versions.front();
}

struct Field {
  std::string_view name, flag;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> kFields = [] {
    std::vector<Field> all;
    for (const auto& [name, flag] : fact(*recipe_version().facts, "fields").members()) {
      all.push_back({name, flag.text()});
    }
    return all;
  }();
  return kFields;
}
constexpr std::string_view kLayout = "--pipeline-model-parallel-layout";
constexpr std::string_view kVirtual = "--num-virtual-stages-per-pipeline-rank";

const Field* field_named(std::string_view name) {
  for (const Field& field : fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

class RecipeReader {
 public:
  RecipeReader(const std::string& file, int first_line) : file_(file), before_(first_line - 1) {
    recipes_.push_back({"", LaunchSettings(file)});
  }

  std::vector<MegatronRecipe> read(std::string_view text) {
    for (const PythonStatement& statement : read_python_statements(text, file_)) {
      if (begin_function(statement)) continue;
      if (statement.indent == 0) current_ = 0;
      read_statement(statement);
    }
    std::erase_if(recipes_, [](const MegatronRecipe& one) { return one.settings.all().empty(); });
    for (MegatronRecipe& recipe : recipes_) {
      finish_recipe(recipe.settings, "the configuration that the recipe begins with");
    }
    return std::move(recipes_);
  }

 private:
  bool begin_function(const PythonStatement& statement) {
    std::optional<std::string> name = defined_function(statement);
    if (!name) return false;
    recipes_.push_back({std::move(*name), LaunchSettings(file_)});
    current_ = recipes_.size() - 1;
    return true;
  }

  // What an if, a loop or a try puts there is not certain.
  void read_statement(const PythonStatement& statement) {
    constexpr int kBody = 4;
    const std::string_view text = statement.whole.text;
    std::size_t end = 0;
    while (end < text.size() && (is_in_python_name(text[end]) || text[end] == '.')) ++end;
    const std::size_t equals = text.find_first_not_of(" \t", end);
    const bool assigns =
        equals != std::string_view::npos && text[equals] == '=' && text.substr(equals, 2) != "==";
    const std::string_view target = text.substr(0, end);
    const std::size_t dot = target.find_last_of('.');
    if (assigns && dot != std::string_view::npos) {
      if (const Field* field = field_named(target.substr(dot + 1))) {
        const std::size_t value = text.find_first_not_of(" \t", equals + 1);
        if (value == std::string_view::npos) return;
        set(*field, std::string(target), {text.substr(value), statement.whole.line},
            statement.indent > kBody);
        return;
      }
    }
    read_keywords(statement.whole, statement.indent > kBody);
  }

  // model = Provider(tensor_model_parallel_size=2, ..)
  void read_keywords(const PythonText& statement, bool is_conditional) {
    const std::size_t open = statement.text.find('(');
    if (open == std::string_view::npos || open == 0 || !is_in_python_name(statement.text[open - 1]))
      return;
    for (const PythonArgument& argument : read_python_arguments(statement, open)) {
      const Field* field = field_named(argument.name);
      if (field != nullptr) set(*field, std::string(argument.name), argument.value, is_conditional);
    }
  }

  void set(const Field& field, const std::string& written, const PythonText& value,
           bool is_conditional) {
    constexpr std::size_t kShown = 60;
    std::string text(value.text.substr(0, value.text.find_first_of("#\n")));
    while (!text.empty() && (text.back() == ' ' || text.back() == ',')) text.pop_back();
    LaunchSettings& settings = recipes_[current_].settings;
    const int line = value.line + before_;
    if (is_conditional) settings.add_conditional(std::string(field.flag), line);
    settings.drop(field.flag);
    settings.close(std::string(field.flag));
    if (text == "None" || text == "False") return;
    LaunchSetting setting;
    setting.name = field.flag;
    setting.line = line;
    setting.text = fmt::format("{} = {}", written, text.substr(0, kShown));
    const bool is_quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                           text.find(text.front(), 1) == text.size() - 1;
    std::string number = text;
    std::erase(number, '_');
    if (text == "True") {
      setting.value = Json(true);
    } else if (is_quoted) {
      setting.value = Json(text.substr(1, text.size() - 2));
    } else if (!number.empty() && number.find_first_not_of("0123456789") == std::string::npos) {
      setting.value = Json(number);
    } else {
      setting.value = Json(text);
      setting.unresolved = text.substr(0, kShown);
    }
    settings.add(std::move(setting));
  }

  const std::string& file_;
  int before_;
  std::vector<MegatronRecipe> recipes_;
  std::size_t current_ = 0;
};

}  // namespace

bool is_megatron_recipe(std::string_view text, const std::string& file) {
  if (!file.ends_with(".py")) return false;
  const auto has = [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  return has("pipeline_model_parallel_size") &&
         (has("megatron.bridge") || has("nemo.collections") || has("nemo_run"));
}

std::vector<MegatronRecipe> read_megatron_recipes(std::string_view text, const std::string& file,
                                                  int first_line) {
  return RecipeReader(file, first_line).read(text);
}

void finish_recipe(LaunchSettings& settings, const std::string& begins_with) {
  if (settings.has(kLayout)) {
    // Beside a layout the field must only agree; Megatron-LM's parser takes one of the two flags.
    if (const LaunchSetting* found = settings.find(kVirtual)) {
      LaunchSetting beside_layout = *found;
      beside_layout.name = kVirtualBesideLayout;
      settings.drop(kVirtual);
      settings.add(std::move(beside_layout));
    }
    // With a layout Megatron-LM refuses the other ways of splitting.
    for (const Field& field : fields()) {
      if (field.name.find("_pipeline_s") != std::string_view::npos) {
        settings.close(std::string(field.flag));
      }
    }
    settings.close(std::string(kVirtual));
  }
  // Of these a recipe has one or none.
  if (settings.has(kVirtual)) settings.close(std::string(kLayout));
  for (const char* none :
       {"--num-layers-per-virtual-pipeline-stage", "--hybrid-layer-pattern", "--decoder-num-layers",
        "--no-overlap-p2p-communication", "--deepspeed"}) {
    settings.close(none);
  }
  settings.open(begins_with);
}

const Json& recipe_overrides() { return fact(*recipe_version().facts, "overrides"); }

bool starts_recipe(std::string_view text) {
  return sets_one_of(text, fact_names(*recipe_version().facts, "marks"));
}

std::optional<MegatronRecipe> recipe_of_overrides(const LaunchScript& script) {
  MegatronRecipe recipe{"", settings_by_table(script, recipe_overrides())};
  const bool has_override = std::any_of(
      script.overrides.all().begin(), script.overrides.all().end(),
      [](const LaunchSetting& one) { return recipe_overrides().find(one.name) != nullptr; });
  // Other programs have flags of these names, too: not degrees.
  const bool has_degree = recipe.settings.has("--tensor-model-parallel-size") ||
                          recipe.settings.has("--pipeline-model-parallel-size");
  const bool is_megatron = script.flags.has("--tensor-model-parallel-size") ||
                           script.flags.has("--pipeline-model-parallel-size");
  if (!has_override && (!has_degree || is_megatron)) return {};
  finish_recipe(recipe.settings, "the recipe that the script names");
  return recipe;
}

namespace {

// A number of GPUs or nodes; nothing, and why, where the script does not say one: trainer.devices
// may be -1, auto or a list.
std::optional<std::int64_t> count_said(const LaunchScript& script, const std::string& name,
                                       std::string& why_not) {
  const LaunchSettings& from = name.starts_with("--") ? script.flags : script.overrides;
  const LaunchSetting* setting = from.find(name);
  if (setting == nullptr && !from.condition_of(name)) return {};
  why_not = from.doubt_of(name);
  if (!why_not.empty()) return {};
  const std::string& text = setting->value.text();
  const bool is_number = setting->value.kind() == Json::Kind::kString &&
                         setting->unresolved.empty() && !text.empty() && text.size() < 7 &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  const std::int64_t count = is_number ? std::stoll(text) : 0;
  if (count >= 1) return count;
  why_not =
      fmt::format("{} is no number of GPUs ({})", setting->text, from.lines().words(setting->line));
  return {};
}

}  // namespace

void take_gpus_of_overrides(LaunchScript& script) {
  constexpr std::int64_t kMost = 1'000'000;
  std::string why_not;
  for (const Json& factors : fact(*recipe_version().facts, "gpus").elements()) {
    std::int64_t gpus = 1;
    for (const Json& name : factors.elements()) {
      const auto number = count_said(script, name.text(), why_not);
      gpus = number ? product_of({gpus, *number}) : kMost + 1;
      if (!number) break;
    }
    if (gpus > kMost) continue;
    script.gpus = static_cast<int>(gpus);
    return;
  }
  if (!why_not.empty()) script.why_no_gpus = why_not;
}

void put_over(LaunchSettings& recipe, const LaunchScript& script) {
  const LaunchSettings over = settings_by_table(script, recipe_overrides());
  const auto rename = [&recipe](std::string_view from, std::string_view to) {
    const LaunchSetting* found = recipe.find(from);
    if (found == nullptr) return;
    LaunchSetting renamed = *found;
    renamed.name = to;
    recipe.drop(from);
    recipe.add(std::move(renamed));
  };
  for (const auto& [name, flag_json] : recipe_overrides().members()) {
    const std::string& flag = flag_json.text();
    if (const auto line = over.condition_of(flag)) recipe.add_conditional(flag, *line);
    const LaunchSetting* set = over.find(flag);
    if (set == nullptr && !over.is_closed(flag)) continue;
    recipe.drop(flag);
    if (flag == kVirtual) recipe.drop(kVirtualBesideLayout);
    recipe.close(flag);
    if (set != nullptr) recipe.add(*set);
    // Without its layout the recipe's VP splits the layers.
    if (flag == kLayout && set == nullptr) rename(kVirtualBesideLayout, kVirtual);
  }
  finish_recipe(recipe, "the configuration that the recipe begins with");
}

std::string in_fields(std::string sentence) {
  constexpr std::string_view kSerial = "--sequence-parallel";
  if (sentence == kSerial) return "sequence_parallel = True";
  for (const Field& field : fields()) {
    for (std::size_t at = sentence.find(field.flag); at != std::string::npos;
         at = sentence.find(field.flag, at + 1)) {
      const std::size_t end = at + field.flag.size();
      if (end < sentence.size() && (is_in_python_name(sentence[end]) || sentence[end] == '-'))
        continue;
      const bool has_value =
          end + 1 < sentence.size() && sentence[end] == ' ' &&
          (sentence[end + 1] == '"' || (sentence[end + 1] >= '0' && sentence[end + 1] <= '9'));
      sentence.replace(at, field.flag.size(), std::string(field.name) + (has_value ? " =" : ""));
    }
  }
  return sentence;
}

}  // namespace penstock
