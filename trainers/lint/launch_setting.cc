#include "trainers/lint/launch_setting.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "core/values/error.h"

namespace penstock {
namespace {

std::string shown(const Json& value) {
  constexpr std::size_t kLongest = 60;
  std::string text = value.kind() == Json::Kind::kString ? value.text() : to_text(value);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

}  // namespace

const LaunchSetting* LaunchSettings::find(std::string_view name) const {
  const LaunchSetting* found = nullptr;
  for (const LaunchSetting& setting : all_) {
    if (setting.name == name) found = &setting;
  }
  return found;
}

std::optional<LaunchNumber> LaunchSettings::number(std::string_view name,
                                                   std::int64_t least) const {
  const LaunchSetting* setting = find(name);
  if (setting == nullptr || !setting->unresolved.empty()) return {};
  const Json& value = setting->value;
  if (value.kind() == Json::Kind::kNull) return {};
  const bool is_text = value.kind() == Json::Kind::kNumber || value.kind() == Json::Kind::kString;
  const std::string& text = value.text();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!is_text || error != std::errc() || end != text.data() + text.size() || number < least ||
      number > kLargestLaunchNumber) {
    refuse(*setting,
           fmt::format("expected a whole number from {} to {}, got '{}'", least,
                       kLargestLaunchNumber, shown(value)),
           fmt::format("write a number, as in {} {}", name, least < 1 ? 1 : least));
  }
  return LaunchNumber{number, setting};
}

std::optional<std::string> LaunchSettings::text(std::string_view name) const {
  const LaunchSetting* setting = find(name);
  if (setting == nullptr || !setting->unresolved.empty()) return {};
  if (setting->value.kind() != Json::Kind::kString) return {};
  return setting->value.text();
}

bool LaunchSettings::on(std::string_view name) const {
  const LaunchSetting* setting = find(name);
  if (setting == nullptr) return false;
  const Json& value = setting->value;
  if (value.kind() == Json::Kind::kBool) return value.boolean();
  return value.kind() != Json::Kind::kString ||
         (value.text() != "false" && value.text() != "False" && value.text() != "0");
}

std::string LaunchSettings::doubt_of(std::string_view name) const {
  const auto found = conditional_.find(name);
  if (found != conditional_.end()) {
    return fmt::format("{} is set under a condition ({})", name, lines_.words(found->second));
  }
  if (!more_.empty() && !has(name) && !closed_.contains(name))
    return fmt::format("{} may set {}", more_, name);
  return "";
}

void LaunchSettings::refuse(const LaunchSetting& setting, const std::string& what,
                            const std::string& help) const {
  const std::string read = lines_.file_of(setting.line);
  throw_bad_input(fmt::format("{}:{}: {}: {}\nhelp: {}", read.empty() ? file_ : read,
                              lines_.line_in_file(setting.line), setting.name, what, help));
}

std::int64_t product_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor > kTooLarge / product) return kTooLarge;
    product *= factor;
  }
  return product;
}

}  // namespace penstock
