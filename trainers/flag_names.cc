#include "trainers/flag_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <unordered_map>

#include "trainers/trainer_facts.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// The place of the first facts, in the order in which they are shipped, that list a name.
using PlacesOfNames = std::unordered_map<std::string, std::size_t>;

// "training.steps" is found by "steps", too.
void add_name(PlacesOfNames& places, const std::string& name, std::size_t place) {
  places.emplace(name, place);
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    places.emplace(name.substr(dot + 1), place);
  }
}

// Names lie in lists, as texts or as objects with a "name" (flags that were renamed).
void add_names(PlacesOfNames& places, const Json& json, std::size_t place) {
  for (const auto& [key, value] : json.members()) {
    if (key != "limits" && key != "models") add_names(places, value, place);
  }
  for (const Json& element : json.elements()) {
    if (element.kind() == Json::Kind::kString) add_name(places, element.text(), place);
    const Json* of_object = element.find("name");
    if (of_object != nullptr) places.emplace(of_object->text(), place);
  }
}

// Read once: a hundred kilobytes, and a command may have many options that nobody knows.
const PlacesOfNames& places_of_names() {
  static const PlacesOfNames places = [] {
    PlacesOfNames all;
    std::size_t place = 0;
    for (const ShippedFacts& facts : shipped_facts()) {
      add_names(all, parse_json(facts.text, std::string(facts.name)), place++);
    }
    return all;
  }();
  return places;
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
  const PlacesOfNames& places = places_of_names();
  const auto as_typed = places.find(lower), with_dashes = places.find(dashed);
  std::size_t place = shipped_facts().size();
  if (as_typed != places.end()) place = std::min(place, as_typed->second);
  if (with_dashes != places.end()) place = std::min(place, with_dashes->second);
  return place == shipped_facts().size() ? "" : title_of(shipped_facts()[place].folder);
}

}  // namespace penstock
