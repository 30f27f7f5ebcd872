#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/options.h"
#include "cli/verbs/verbs.h"

namespace penstock {
namespace {

constexpr const char* kExamples =
    R"(  penstock man | man -l -
  penstock man > /usr/local/share/man/man1/penstock.1
)";

// Text as roff shows it: no line begins a request, no hyphen becomes a dash.
std::string roff(std::string_view text) {
  std::string out;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_start = c == '\n';
  }
  return out;
}

std::string paragraph_of(const OptionRow& row) {
  std::string names;
  for (const std::string& name : row.names) {
    names += (names.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  }
  if (!row.value_name.empty()) names += fmt::format(" \\fI{}\\fR", roff(row.value_name));
  return fmt::format(".TP\n{}\n{}\n", names, roff(row.help));
}

std::string verbatim(std::string_view lines) { return fmt::format(".nf\n{}.fi\n", roff(lines)); }

std::string section_of(const Verb& verb) {
  const OptionTable table = options_of(verb);
  std::string out = fmt::format(".SH PENSTOCK {}\n", verb.name);
  if (table.rows.empty())
    return out + fmt::format("{}. Not part of this build.\n", roff(verb.summary));
  out += fmt::format("\\fBpenstock {}\\fR\n.PP\n{}\n", roff(table.usage), roff(table.about));
  std::string heading;
  for (const OptionRow& row : table.rows) {
    if (row.heading != heading) out += fmt::format(".SS {}\n", roff(row.heading));
    heading = row.heading;
    out += paragraph_of(row);
  }
  return out + ".SS Examples\n" + verbatim(table.examples);
}

std::string page() {
  std::string out = fmt::format(
      ".TH PENSTOCK 1 \"\" \"penstock {}\" \"User Commands\"\n"
      ".SH NAME\npenstock \\- plans how to train a model on N GPUs with pipeline parallelism\n"
      ".SH SYNOPSIS\n\\fBpenstock\\fR \\fIVERB\\fR [\\fIARGUMENTS\\fR]\n"
      ".SH DESCRIPTION\nThe verbs:\n",
      roff(version()));
  for (const Verb& verb : verbs()) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(verb.name), roff(verb.summary));
  }
  for (const Verb& verb : verbs()) out += section_of(verb);
  return out + ".SH EXIT STATUS\n" + verbatim(exit_codes());
}

}  // namespace

Answer run_man(const Arguments& arguments, Screen screen) {
  Options options("man", "Prints the manual page: every verb of this build with its options.",
                  kExamples);
  options.heading("Options");
  if (auto help = options.parse(arguments, screen)) return help_answer(*help);
  return {page()};
}

}  // namespace penstock
