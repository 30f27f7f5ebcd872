#include "cli/options/term_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/words/parse.h"
#include "studies/change_terms.h"

namespace penstock {
namespace {

constexpr const char* kTerm = "term.";

std::string key_of(const std::string& name) {
  std::string key = kTerm + name;
  std::replace(key.begin(), key.end(), ' ', '-');
  return key;
}

std::string name_called(const ModelProfile& profile, const std::string& option,
                        const std::string& key) {
  const std::vector<std::string> names = term_names(profile);
  for (const std::string& name : names) {
    if (key_of(name) == key) return name;
  }
  if (names.empty()) {
    bad_option(option, "the times of this profile are not divided into terms",
               "give a config.json, whose estimate is a sum of them");
  }
  bad_option(option, fmt::format("the estimate has no term '{}'", key.substr(5)),
             did_you_mean(key, term_keys(profile)));
}

}  // namespace

bool set_term(ModelProfile& profile, const std::string& option, const std::string& key,
              const std::string& value) {
  if (!key.starts_with(kTerm)) return false;
  const std::string name = name_called(profile, option, key);
  const double factor = parse_number(option, value, 1e-3, 1e3);
  scale_term(profile, name, factor);
  return true;
}

std::vector<std::string> term_keys(const ModelProfile& profile) {
  std::vector<std::string> keys;
  for (const std::string& name : term_names(profile)) keys.push_back(key_of(name));
  return keys;
}

}  // namespace penstock
