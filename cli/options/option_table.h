// The options of one verb as data. Completions and the manual are made of it, and `penstock VERB
// --help --json` prints it, for those who put a face of their own on a verb.
#pragma once

#include <string>
#include <vector>

#include "core/values/json.h"

namespace penstock {

struct OptionRow {
  std::string heading;               // under which it stands in the help
  std::vector<std::string> names;    // "-P", "--ranks"; of a positional "FILE"
  std::string value_name;            // "N"; empty of flags and positionals
  std::string help;                  // one paragraph
  std::vector<std::string> choices;  // every value there is; empty when they cannot be listed
  bool positional = false;
  bool repeated = false;  // may be given several times

  [[nodiscard]] bool takes_value() const { return positional || !value_name.empty(); }
  [[nodiscard]] bool is_list() const;  // "NAME,...": values joined by commas
  [[nodiscard]] bool is_file() const;  // the value is, or may be, a path
  bool operator==(const OptionRow&) const = default;
};

struct OptionTable {
  std::string usage;  // behind "usage: penstock "
  std::string about;  // one paragraph
  std::vector<OptionRow> rows;
  std::string examples;  // whole lines
  bool operator==(const OptionTable&) const = default;
};

Json write_option_table(const OptionTable& table);
// Of what write_option_table() made.
OptionTable read_option_table(const Json& json);

}  // namespace penstock
