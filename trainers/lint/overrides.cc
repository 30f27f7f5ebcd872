// A name of the table is a path of an override or, where it begins with "--", a flag. Of a flag and
// an override the override wins, wherever it stands: recipes are built by the flags, and overrides
// put over them (Megatron-Bridge's run_recipe.py says so). Of two overrides for the same the first
// of the table does, and of two words that set one name the last.
#include "trainers/lint/overrides.h"

#include <cstddef>
#include <utility>

namespace penstock {
namespace {

bool is_flag(std::string_view name) { return name.starts_with("--"); }

bool is_off(const Json& value) {
  if (value.kind() != Json::Kind::kString) return false;
  const std::string& text = value.text();
  return text == "False" || text == "false" || text == "null" || text == "None";
}

const LaunchSettings& settings_with(const LaunchScript& script, std::string_view name) {
  return is_flag(name) ? script.flags : script.overrides;
}

// Those that win come last.
std::vector<const Json::Member*> by_weight(const Json& table) {
  std::vector<const Json::Member*> names;
  for (const Json::Member& member : table.members()) {
    if (is_flag(member.first)) names.push_back(&member);
  }
  for (auto member = table.members().rbegin(); member != table.members().rend(); ++member) {
    if (!is_flag(member->first)) names.push_back(&*member);
  }
  return names;
}

bool continues_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

LaunchSettings settings_by_table(const LaunchScript& script, const Json& table) {
  LaunchSettings settings(script.flags.file());
  settings.set_lines(script.lines);
  for (const Json::Member* member : by_weight(table)) {
    const auto& [name, flag] = *member;
    const LaunchSettings& from = settings_with(script, name);
    const LaunchSetting* found = from.find(name);
    if (const std::optional<int> line = from.condition_of(name)) {
      settings.add_conditional(flag.text(), *line);
    }
    if (found == nullptr) continue;
    settings.drop(flag.text());
    settings.close(flag.text());
    if (is_off(found->value)) continue;
    LaunchSetting setting = *found;
    setting.name = flag.text();
    settings.add(std::move(setting));
  }
  return settings;
}

std::string as_overrides(std::string sentence, const LaunchScript& script, const Json& table) {
  const std::vector<const Json::Member*> weighed = by_weight(table);
  for (const auto& [name, flag_json] : table.members()) {
    const std::string& flag = flag_json.text();
    // As the script writes it, or else as the first of the table that can be written there.
    const std::string* written = &name;
    for (const Json::Member* member : weighed) {
      const auto& [other, of_flag] = *member;
      if (of_flag.text() == flag && settings_with(script, other).has(other)) written = &other;
    }
    // A switch alone is what to write: model.sequence_parallel=True.
    if (sentence == flag) return is_flag(*written) ? *written : *written + "=True";
    const std::string_view between = is_flag(*written) ? " " : "=";
    for (std::size_t at = sentence.find(flag); at != std::string::npos;
         at = sentence.find(flag, at + 1)) {
      const std::size_t end = at + flag.size();
      if (end < sentence.size() && continues_name(sentence[end])) continue;
      if (at > 0 && continues_name(sentence[at - 1])) continue;
      const bool has_value =
          end + 1 < sentence.size() && sentence[end] == ' ' &&
          (sentence[end + 1] == '"' || (sentence[end + 1] >= '0' && sentence[end + 1] <= '9'));
      std::string put = *written;
      if (has_value) put += between;
      sentence.replace(at, flag.size() + (has_value ? 1 : 0), put);
      at += put.size();
    }
  }
  return sentence;
}

bool sets_one_of(std::string_view text, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) {
    for (std::size_t at = text.find(name); at != std::string_view::npos;
         at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool begins = at == 0 || (!continues_name(text[at - 1]) && text[at - 1] != '.');
      const char next = end < text.size() ? text[end] : '\n';
      if (begins && (next == '=' || (is_flag(name) && next == ' '))) return true;
    }
  }
  return false;
}

}  // namespace penstock
