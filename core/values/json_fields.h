// One list of fields for both directions: a function fields_of(fields, value) names every member of
// `value` once, and WriteFields makes of that list the JSON object that ReadFields reads, in the
// list's order and within its bounds. For values whose members can be judged one by one; what must
// be held against other members is read by hand. fields_of() is found by the type of its value, so
// it stands in namespace penstock and in no unnamed one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/values/finite_or_null.h"
#include "core/values/json.h"
#include "core/values/json_reader.h"
#include "core/values/units.h"

namespace penstock {

// What fields_of() takes: only a reader may change it.
template <class Fields, class T>
using FieldsOf = std::conditional_t<Fields::kReads, T, const T>;

template <class T>
concept List = requires(T list) {
  list.push_back(*list.begin());
};

template <class T>
Json json_of(const T& value);
template <class T, class... Bounds>
void read_json(const JsonReader& reader, T& value, const Bounds&... bounds);

class WriteFields {
 public:
  static constexpr bool kReads = false;
  explicit WriteFields(Json& object) : object_(&object) {}

  void format(const char* name) { object_->set("format", name); }

  // Always there. The bounds (least, most) are those of numbers, or of the elements of a list;
  // without them integers and durations are at least 0, and other numbers only finite.
  template <class T, class... Bounds>
  void operator()(const std::string& key, const T& value, const Bounds&...) {
    object_->set(key, json_of(value));
  }
  // The same, but files of before it was there are read, too: then the member stays as it is.
  template <class T, class... Bounds>
  void later(const std::string& key, const T& value, const Bounds&...) {
    object_->set(key, json_of(value));
  }
  // Left out where there is none: an optional without a value, an empty text or list.
  template <class T, class... Bounds>
  void if_any(const std::string& key, const std::optional<T>& value, const Bounds&...) {
    if (value) object_->set(key, json_of(*value));
  }
  template <class T, class... Bounds>
  void if_any(const std::string& key, const T& value, const Bounds&...) {
    if (!value.empty()) object_->set(key, json_of(value));
  }
  // Left out where it is 0.
  template <class T>
  void unless_zero(const std::string& key, const T& value) {
    if (value != T{}) object_->set(key, json_of(value));
  }
  // A duration, whose unit files may choose: "start" is written as start_ns.
  void time(std::string_view stem, Duration value) {
    object_->set(std::string(stem) + "_ns", json_of(value));
  }
  void time_if_any(std::string_view stem, const std::optional<Duration>& value) {
    if (value) time(stem, *value);
  }
  void time_unless_zero(std::string_view stem, Duration value) {
    if (value != Duration{}) time(stem, value);
  }
  // An enumeration; its values are the places of their names.
  template <class Enum, std::size_t N>
  void word(const std::string& key, Enum value, const std::array<std::string_view, N>& names) {
    object_->set(key, std::string(names[static_cast<std::size_t>(value)]));
  }
  // Or a table of values and their words (plan_words.h).
  template <class Enum, class Words>
  void word(const std::string& key, Enum value, const Words& words) {
    object_->set(key, word_of(words, value));
  }
  template <class Enum, class Words>
  void later_word(const std::string& key, Enum value, const Words& words) {
    word(key, value, words);
  }
  // A number that may be none (`null` then), which JSON does not have.
  void or_null(const std::string& key, double value, double = 0.0) {
    object_->set(key, finite_or_null(value));
  }
  // By functions of its own.
  template <class T, class Write, class Read>
  void as(const std::string& key, const T& value, const Write& write, const Read&) {
    object_->set(key, write(value));
  }
  template <class T, class Write, class Read>
  void later_as(const std::string& key, const T& value, const Write& write, const Read&) {
    object_->set(key, write(value));
  }
  template <class T, class Write, class Read>
  void as_if_any(const std::string& key, const std::optional<T>& value, const Write& write,
                 const Read&) {
    if (value) object_->set(key, write(*value));
  }
  template <class T, class Write, class Read>
  void as_if_any(const std::string& key, const std::vector<T>& value, const Write& write,
                 const Read&) {
    if (!value.empty()) object_->set(key, write(value));
  }
  // Whether there is this key, and what belongs to it: `written` says so for the writer.
  [[nodiscard]] bool holds(const std::string& /*key*/, bool written) const { return written; }
  // An object of its own for some members of the same value.
  template <class List>
  void part(const std::string& key, const List& list) {
    Json object = Json::object();
    WriteFields fields(object);
    list(fields);
    object_->set(key, std::move(object));
  }

 private:
  Json* object_;
};

class ReadFields {
 public:
  static constexpr bool kReads = true;
  explicit ReadFields(JsonReader& reader) : reader_(&reader) {}

  void format(const char* name) {
    const std::string wanted = "\"" + std::string(name) + "\"";
    if (!reader_->has("format")) reader_->fail("the key \"format\" is missing: " + wanted);
    const JsonReader found = reader_->at("format");
    if (found.string() != name) found.expected(wanted);
  }
  template <class T, class... Bounds>
  void operator()(const std::string& key, T& value, const Bounds&... bounds) {
    read_json(reader_->at(key), value, bounds...);
  }
  template <class T, class... Bounds>
  void later(const std::string& key, T& value, const Bounds&... bounds) {
    if (const auto found = reader_->get(key)) read_json(*found, value, bounds...);
  }
  template <class T, class... Bounds>
  void if_any(const std::string& key, std::optional<T>& value, const Bounds&... bounds) {
    if (const auto found = reader_->get(key)) read_json(*found, value.emplace(), bounds...);
  }
  template <class T, class... Bounds>
  void if_any(const std::string& key, T& value, const Bounds&... bounds) {
    later(key, value, bounds...);
  }
  template <class T>
  void unless_zero(const std::string& key, T& value) {
    later(key, value);
  }
  void time(std::string_view stem, Duration& value) { value = reader_->duration(stem); }
  void time_if_any(std::string_view stem, std::optional<Duration>& value) {
    value = reader_->get_duration(stem);
  }
  void time_unless_zero(std::string_view stem, Duration& value) {
    value = reader_->get_duration(stem).value_or(Duration{});
  }
  template <class Enum, std::size_t N>
  void word(const std::string& key, Enum& value, const std::array<std::string_view, N>& names) {
    value = named<Enum>(reader_->at(key), names);
  }
  template <class Enum, class Words>
  void word(const std::string& key, Enum& value, const Words& words) {
    value = read_word(reader_->at(key), words);
  }
  template <class Enum, class Words>
  void later_word(const std::string& key, Enum& value, const Words& words) {
    if (reader_->has(key)) word(key, value, words);
  }
  void or_null(const std::string& key, double& value,
               double null = std::numeric_limits<double>::quiet_NaN()) {
    value = number_or_null(reader_->at(key), null);
  }
  template <class T, class Write, class Read>
  void as(const std::string& key, T& value, const Write&, const Read& read) {
    value = read(reader_->at(key));
  }
  template <class T, class Write, class Read>
  void later_as(const std::string& key, T& value, const Write&, const Read& read) {
    if (const auto found = reader_->get(key)) value = read(*found);
  }
  template <class T, class Write, class Read>
  void as_if_any(const std::string& key, T& value, const Write&, const Read& read) {
    if (const auto found = reader_->get(key)) value = read(*found);
  }
  [[nodiscard]] bool holds(const std::string& key, bool) const { return reader_->has(key); }
  template <class List>
  void part(const std::string& key, const List& list) {
    JsonReader object = reader_->at(key);
    ReadFields fields(object);
    list(fields);
    object.finish();
  }

  // For what is read only: of older files.
  [[nodiscard]] JsonReader& reader() { return *reader_; }

 private:
  template <class Enum, std::size_t N>
  static Enum named(const JsonReader& reader, const std::array<std::string_view, N>& names) {
    const std::string text = reader.string();
    std::string known;
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i] == text) return static_cast<Enum>(i);
      known += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    reader.expected("one of " + known);
  }

  JsonReader* reader_;
};

template <class T>
Json json_of(const T& value) {
  if constexpr (std::is_constructible_v<Json, const T&>) {
    return Json(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    return Json(std::uint64_t{value});
  } else if constexpr (requires { value.time_since_epoch(); }) {
    return json_of(value.time_since_epoch());
  } else if constexpr (std::is_same_v<T, Duration>) {
    return Json(std::int64_t{value.count()});
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Json(value.count);
  } else if constexpr (List<T>) {
    Json list = Json::array();
    for (const auto& each : value) list.push(json_of(each));
    return list;
  } else {
    Json object = Json::object();
    WriteFields fields(object);
    fields_of(fields, value);
    return object;
  }
}

template <class T, class... Bounds>
void read_json(const JsonReader& reader, T& value, const Bounds&... bounds) {
  if constexpr (std::is_same_v<T, bool>) {
    value = reader.boolean();
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = reader.string();
  } else if constexpr (std::is_same_v<T, double> && sizeof...(bounds) == 0) {
    constexpr double kMost = std::numeric_limits<double>::max();
    value = reader.number(-kMost, kMost);
  } else if constexpr (std::is_same_v<T, double>) {
    value = reader.number(bounds...);
  } else if constexpr (std::is_integral_v<T> && sizeof...(bounds) == 0) {
    constexpr auto kMost = std::min<std::uint64_t>(std::numeric_limits<T>::max(),
                                                   std::numeric_limits<std::int64_t>::max());
    value = static_cast<T>(reader.integer(0, static_cast<std::int64_t>(kMost)));
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(reader.integer(bounds...));
  } else if constexpr (std::is_same_v<T, Duration>) {
    std::int64_t count = 0;
    read_json(reader, count, bounds...);
    value = Duration{count};
  } else if constexpr (std::is_same_v<T, Bytes>) {
    value = reader.bytes();
  } else if constexpr (requires { value.time_since_epoch(); }) {
    using Count = std::numeric_limits<std::int64_t>;
    value = T{Duration{reader.integer(Count::min(), Count::max())}};
  } else if constexpr (List<T>) {
    value.clear();
    for (const JsonReader& each : reader.elements()) {
      read_json(each, value.emplace_back(), bounds...);
    }
  } else {
    JsonReader object = reader;
    ReadFields fields(object);
    fields_of(fields, value);
    object.finish();
  }
}

template <class T>
T read_json(const JsonReader& reader) {
  T value;
  read_json(reader, value);
  return value;
}

}  // namespace penstock
