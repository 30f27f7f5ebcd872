// What the readers and writers of profiles and clusters share: keys that must be there, names that
// must be unique and must resolve, and the list of sources. Private to core/.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/read_values.h"
#include "core/values/collective_kind.h"
#include "core/values/json_reader.h"
#include "core/values/profile.h"

namespace penstock {

// JsonReader::at() whose complaint says what the missing key means.
inline JsonReader need(JsonReader& object, std::string_view key, const std::string& meaning) {
  if (object.value().kind() == Json::Kind::kObject && !object.has(key)) {
    object.fail("the key " + to_text(Json(std::string(key))) +
                " is missing here; add it: " + meaning);
  }
  return object.at(key);
}

// The elements of an array that must not be empty; `meaning` says what one of them is.
inline std::vector<JsonReader> need_elements(JsonReader& object, std::string_view key,
                                             const std::string& meaning) {
  const JsonReader array = need(object, key, "an array, each element " + meaning);
  std::vector<JsonReader> elements = array.elements();
  if (elements.empty()) array.fail("expected at least one element, " + meaning + ", got none");
  return elements;
}

// The text of a name or an id.
inline std::string read_name(const JsonReader& value) {
  std::string name = value.string();
  if (name.empty()) value.expected("a name that is not empty");
  return name;
}

inline void read_format(JsonReader& file, const std::string& format) {
  const JsonReader found = need(file, "format", "\"" + format + "\"");
  if (found.string() != format) found.expected("\"" + format + "\"");
}

// The names of one kind of thing, numbered in the order they were added.
class Names {
 public:
  explicit Names(std::string kind) : kind_(std::move(kind)) {}

  std::string add(const JsonReader& value) {
    std::string name = read_name(value);
    if (!index_.emplace(name, static_cast<int>(index_.size())).second) {
      value.fail("there are two " + kind_ + "s with the name " + to_text(Json(name)) +
                 "; rename one");
    }
    return name;
  }

  [[nodiscard]] int resolve(const JsonReader& value) const {
    const auto found = index_.find(value.string());
    if (found == index_.end()) {
      value.fail("there is no " + kind_ + " " + to_text(value.value()) + "; there is " + listing());
    }
    return found->second;
  }

  // Absent means `otherwise`.
  [[nodiscard]] int resolve(JsonReader& object, std::string_view key, int otherwise) const {
    const std::optional<JsonReader> value = object.get(key);
    return value ? resolve(*value) : otherwise;
  }

 private:
  [[nodiscard]] std::string listing() const {
    constexpr std::size_t kMost = 8;
    std::string list;
    std::size_t listed = 0;
    for (const auto& [name, index] : index_) {
      if (listed == kMost) return list + ", ...";
      list += (listed++ == 0 ? "" : ", ") + to_text(Json(name));
    }
    return list;
  }

  std::string kind_;
  std::map<std::string, int, std::less<>> index_;
};

// The counts of a TensorTraffic, by their keys.
inline constexpr std::array<std::pair<std::string_view, int TensorTraffic::*>, 6> kTrafficCounts{
    {{"forward", &TensorTraffic::forward},
     {"input_gradient", &TensorTraffic::input_gradient},
     {"weight_gradient", &TensorTraffic::weight_gradient},
     {"recompute", &TensorTraffic::recompute},
     {"beside_input_gradient", &TensorTraffic::beside_input_gradient},
     {"beside_weight_gradient", &TensorTraffic::beside_weight_gradient}}};

// The times of a TimeTerm, by their keys without _ns.
inline constexpr std::array<std::pair<std::string_view, Duration TimeTerm::*>, 3> kTermTimes{
    {{"forward", &TimeTerm::forward},
     {"backward", &TimeTerm::backward},
     {"recompute", &TimeTerm::recompute}}};

inline constexpr std::array<std::string_view, 4> kOrigins{"measured", "datasheet", "derived",
                                                          "assumed"};

inline Origin read_origin(const JsonReader& value) {
  const std::string text = value.string();
  for (std::size_t i = 0; i < kOrigins.size(); ++i) {
    if (text == kOrigins[i]) return static_cast<Origin>(i);
  }
  value.expected("\"measured\", \"datasheet\", \"derived\" or \"assumed\"");
}

inline CollectiveKind read_collective_kind(JsonReader& object) {
  const JsonReader value = need(object, "kind", "all_reduce, reduce_scatter or all_gather");
  const std::optional<CollectiveKind> kind = collective_kind_named(value.string());
  if (!kind) value.expected("\"all_reduce\", \"reduce_scatter\" or \"all_gather\"");
  return *kind;
}

inline ErrorBand read_error_band(JsonReader object) {
  ErrorBand band;
  band.below = need(object, "below", "how much shorter measurements were").number(0.0, 1.0);
  band.above = need(object, "above", "how much longer measurements were").number(0.0, 100.0);
  object.finish();
  return band;
}

// The ids go into `ids`.
inline std::vector<Source> read_sources(JsonReader& file, Names& ids) {
  std::vector<Source> sources;
  for (JsonReader& element : need_elements(file, "sources", "where numbers come from")) {
    Source source;
    source.id = ids.add(need(element, "id", "what the numbers refer to this source by"));
    source.origin = read_origin(
        need(element, "origin", "\"measured\", \"datasheet\", \"derived\" or \"assumed\""));
    source.text = read_name(need(element, "text", "who measured it, where and when"));
    if (const auto licence = element.get("licence")) source.licence = licence->string();
    if (auto error = element.get("error")) source.error = read_error_band(std::move(*error));
    element.finish();
    sources.push_back(std::move(source));
  }
  return sources;
}

inline Json write_sources(const std::vector<Source>& sources) {
  Json array = Json::array();
  for (const Source& source : sources) {
    Json object = Json::object();
    object.set("id", source.id)
        .set("origin", std::string(kOrigins[static_cast<std::size_t>(source.origin)]))
        .set("text", source.text);
    if (!source.licence.empty()) object.set("licence", source.licence);
    if (source.error) {
      object.set(
          "error",
          Json::object().set("below", source.error->below).set("above", source.error->above));
    }
    array.push(std::move(object));
  }
  return array;
}

inline const std::string& id_of(const std::vector<Source>& sources, int index) {
  return sources[static_cast<std::size_t>(index)].id;
}

}  // namespace penstock
