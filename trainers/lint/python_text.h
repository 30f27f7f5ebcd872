// Python source as far as a reader of recipes needs it: statements, calls and their keywords, with
// lines. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

constexpr bool is_in_python_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A piece of the source, and where it begins.
struct PythonText {
  std::string_view text;
  int line = 0;
};

struct PythonStatement {
  PythonText whole;  // over several lines where brackets are open
  int indent = 0;    // blanks before it
};

struct PythonArgument {
  std::string_view name;  // empty: by position
  PythonText value;
};

// Error{kBadInput} for quotes and brackets that are not closed.
std::vector<PythonStatement> read_python_statements(std::string_view text, const std::string& file);

// What a statement without blanks before it defines as a function: "recipe" of "def recipe(..):".
std::optional<std::string> defined_function(const PythonStatement& statement);

// The arguments of a call whose ( stands at `open`; ends behind its ).
std::vector<PythonArgument> read_python_arguments(const PythonText& statement, std::size_t open);

// Behind the bracket that closes the one at `open`, strings and comments passed over.
std::size_t end_of_python_bracket(std::string_view text, std::size_t open);

}  // namespace penstock
