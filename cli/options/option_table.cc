#include "cli/options/option_table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "report/json_array.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 6> kPaths{"FILE", "DIR", "PLAN", "PROFILE", "MODEL", "RUN"};

std::vector<std::string> texts_of(const Json& json) {
  std::vector<std::string> texts;
  texts.reserve(json.elements().size());
  for (const Json& element : json.elements()) texts.push_back(element.text());
  return texts;
}

}  // namespace

bool OptionRow::is_list() const { return value_name.ends_with(",..."); }

bool OptionRow::is_file() const {
  const std::string_view what = positional ? names.front() : value_name;
  return std::any_of(kPaths.begin(), kPaths.end(), [&](std::string_view path) {
    return what.find(path) != std::string_view::npos;
  });
}

Json write_option_table(const OptionTable& table) {
  Json rows = Json::array();
  for (const OptionRow& row : table.rows) {
    Json json = Json::object();
    json.set("heading", row.heading);
    json.set("names", strings(row.names));
    json.set("value", row.value_name);
    json.set("help", row.help);
    json.set("choices", strings(row.choices));
    json.set("positional", row.positional);
    json.set("repeated", row.repeated);
    rows.push(std::move(json));
  }
  Json json = Json::object();
  json.set("usage", "penstock " + table.usage);
  json.set("about", table.about);
  json.set("options", std::move(rows));
  return json.set("examples", table.examples);
}

OptionTable read_option_table(const Json& json) {
  OptionTable table;
  table.usage = json.find("usage")->text().substr(std::string_view("penstock ").size());
  table.about = json.find("about")->text();
  for (const Json& from : json.find("options")->elements()) {
    OptionRow row;
    row.heading = from.find("heading")->text();
    row.names = texts_of(*from.find("names"));
    row.value_name = from.find("value")->text();
    row.help = from.find("help")->text();
    row.choices = texts_of(*from.find("choices"));
    row.positional = from.find("positional")->boolean();
    row.repeated = from.find("repeated")->boolean();
    table.rows.push_back(std::move(row));
  }
  table.examples = json.find("examples")->text();
  return table;
}

}  // namespace penstock
