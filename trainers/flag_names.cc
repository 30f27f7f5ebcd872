#include "trainers/flag_names.h"

#include <algorithm>
#include <cctype>

#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// Names lie in lists, as texts or as objects with a "name" (flags that were renamed).
bool lists_name(const Json& json, std::string_view name) {
  for (const auto& [key, value] : json.members()) {
    if (key != "limits" && key != "models" && lists_name(value, name)) return true;
  }
  for (const Json& element : json.elements()) {
    if (element.kind() == Json::Kind::kString) {
      const std::string& text = element.text();
      if (text == name || text.ends_with("." + std::string(name))) return true;
    }
    const Json* of_object = element.find("name");
    if (of_object != nullptr && of_object->text() == name) return true;
  }
  return false;
}

std::string title_of(std::string_view folder) {
  for (const TrainerRow& row : trainer_table()) {
    if (row.folder == folder) return std::string(row.title);
  }
  return std::string(folder);
}

}  // namespace

std::string trainer_with_flag(std::string_view typed) {
  std::string lower(typed), dashed;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  dashed = lower;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const ShippedFacts& facts : shipped_facts()) {
    const Json json = parse_json(facts.text, std::string(facts.name));
    if (lists_name(json, lower) || lists_name(json, dashed)) return title_of(facts.folder);
  }
  return "";
}

}  // namespace penstock
