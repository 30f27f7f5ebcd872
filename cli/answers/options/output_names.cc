#include "cli/answers/options/output_names.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/verbs/trainer_asked.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 20> kForms{
    "json", "yaml", "yml",    "csv",    "table", "wide", "markdown", "md",       "html", "text",
    "txt",  "xml",  "pretty", "stdout", "pdf",   "svg",  "png",      "perfetto", "tsv",  "toml"};

bool is_form(const std::string& word) {
  std::error_code error;
  return std::find(kForms.begin(), kForms.end(), word) != kForms.end() &&
         !std::filesystem::exists(word, error);
}

// The value of -o, also "-oFILE" and "-o=FILE", whose sign is a part of it.
std::optional<GivenOption> output_in(const OptionTable& table, const Arguments& words) {
  const OptionRow* row = row_named(table, "--output");
  if (row == nullptr || row->names.front() != "-o" || row->value_name == "DIR") return std::nullopt;
  for (GivenOption& option : given_words(table, words).options) {
    if (option.name == "-o" || option.name == "--output") {
      const bool has_sign = words[option.begin].starts_with("-o=");
      return GivenOption{"-o", (has_sign ? "=" : "") + option.value, option.begin, option.end};
    }
    if (option.name.starts_with("-o")) {
      return GivenOption{"-o", words[option.begin].substr(2), option.begin, option.end};
    }
  }
  return std::nullopt;
}

// What the verb writes in such a form, or in the one that it has.
std::string file_of(const OptionTable& table, const std::string& form) {
  const std::string verb = verb_of(table), &help = row_named(table, "--output")->help;
  const bool draws = verb == "trace" || verb == "schedule";
  if (draws)
    return form == "png"                          ? "step.png"
           : form == "json" || form == "perfetto" ? "step.json"
                                                  : "step.svg";
  if (help.find("page") != std::string::npos) return "report.html";
  return verb == "plan" || verb == "predict"       ? "plan.json"
         : verb == "import" || verb == "calibrate" ? "new.json"
                                                   : "profile.json";
}

// "plan ... -o train_config.toml": a plan for the trainer whose file that is, then its job.
void refuse_trainers_file(const OptionTable& table, const Arguments& words,
                          const GivenOption& output) {
  const std::string verb = verb_of(table), of_file = trainer_of_file(output.value);
  if ((verb != "plan" && verb != "predict") || of_file.empty()) return;
  Arguments others = with_instead(words, output, {});
  const auto planned = value_of(others, {"--for"});
  const std::string trainer = planned.value_or(of_file);
  if (!planned) others.insert(others.end(), {"--for", trainer});
  others.insert(others.end(), {"-o", "plan.json"});
  bad_option(
      "--output",
      fmt::format("plans and books are JSON files, and {} is one of {}'s", output.value, trainer),
      fmt::format("write the plan, then its job: {}; then {}", whole_command(verb, others),
                  command_of_export("plan.json", trainer, {})));
}

bool has_tables(const OptionTable& table) {
  const OptionRow* row = row_named(table, "--format");
  return row != nullptr &&
         std::find(row->choices.begin(), row->choices.end(), "csv") != row->choices.end();
}

}  // namespace

void refuse_form_as_output(const OptionTable& table, const Arguments& words) {
  const auto output = output_in(table, words);
  if (!output) return;
  refuse_trainers_file(table, words, *output);
  const std::string& value = output->value;
  const std::size_t equals = value.find('=');
  const auto command = [&](const std::string& file) {
    return whole_command(verb_of(table), with_instead(words, *output, {"-o", file}));
  };
  const std::string form = value.substr(0, equals);
  const bool has_file = equals != std::string::npos && equals + 1 < value.size();
  if (has_file && form.empty()) {
    bad_option("-o", fmt::format("'{}' begins with a sign", value.substr(0, 60)),
               "one dash and a blank, or --output=FILE: " + command(value.substr(1)));
  }
  if (!is_form(form)) return;
  bad_option(
      "-o", fmt::format("a file is named here, and '{}' is a form", form),
      fmt::format(
          "write {}{}", command(has_file ? value.substr(equals + 1) : file_of(table, form)),
          has_tables(table) ? "; --json, --format csv or --format markdown choose what is printed"
          : row_named(table, "--json") != nullptr ? "; --json prints the result for programs"
                                                  : ""));
}

}  // namespace penstock
