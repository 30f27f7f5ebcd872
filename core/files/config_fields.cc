#include "core/files/config_fields.h"

namespace penstock {
namespace {

int number_of(const JsonReader& value, int least) {
  const auto whole = [&](const JsonReader& number) {
    return static_cast<int>(number.integer(least, ConfigFields::kLargestSize));
  };
  if (value.value().kind() != Json::Kind::kArray || value.elements().empty()) return whole(value);
  const int first = whole(value.elements().front());
  for (const JsonReader& element : value.elements()) {
    if (whole(element) != first) {
      element.fail("its layers are not alike (" + std::to_string(first) + " and " +
                   std::to_string(whole(element)) +
                   "); such a model is not estimated: measure it with penstock profile");
    }
  }
  return first;
}

}  // namespace

std::optional<JsonReader> ConfigFields::present(std::string_view name) {
  asked_.emplace(name);
  auto value = reader_.get(name);
  if (value && value->value().kind() == Json::Kind::kNull) return std::nullopt;
  return value;
}

std::optional<int> ConfigFields::size(Names names, int least) {
  std::optional<int> found;
  for (const std::string_view name : names) {
    const auto value = present(name);  // asked of all, so that none counts as unknown
    if (value && !found) found = number_of(*value, least);
  }
  return found;
}

int ConfigFields::required(Names names) {
  if (const auto value = size(names)) return *value;
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : " or ") + std::string(name);
  }
  reader_.fail("expected " + text + "; add one of them");
}

std::optional<bool> ConfigFields::boolean(std::string_view name) {
  if (auto value = present(name)) return value->boolean();
  return std::nullopt;
}

std::optional<std::string> ConfigFields::text(std::string_view name) {
  if (auto value = present(name)) return value->string();
  return std::nullopt;
}

}  // namespace penstock
