// The one table of verbs. Each has a file of its own, NAME.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/answer.h"
#include "cli/options/option_table.h"
#include "report/screen.h"

namespace penstock {

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line of `penstock --help`
  Answer (*run)(const Arguments& arguments, Screen screen);
};

std::span<const Verb> verbs();
// Null where none is called so.
const Verb* find_verb(std::string_view name);
// The table of options of a verb; empty when this build lacks the verb.
OptionTable options_of(const Verb& verb);
// Those that have an option of exactly this name ("--budget").
std::vector<std::string> verbs_with_option(const std::string& name);

Answer run_plan(const Arguments& arguments, Screen screen);
Answer run_predict(const Arguments& arguments, Screen screen);
Answer run_simulate(const Arguments& arguments, Screen screen);
Answer run_schedule(const Arguments& arguments, Screen screen);
Answer run_compare(const Arguments& arguments, Screen screen);
Answer run_dynamic(const Arguments& arguments, Screen screen);
Answer run_morph(const Arguments& arguments, Screen screen);
Answer run_multi(const Arguments& arguments, Screen screen);
Answer run_explain(const Arguments& arguments, Screen screen);
Answer run_calibrate(const Arguments& arguments, Screen screen);
Answer run_estimate(const Arguments& arguments, Screen screen);
Answer run_devices(const Arguments& arguments, Screen screen);
Answer run_profile(const Arguments& arguments, Screen screen);
Answer run_train(const Arguments& arguments, Screen screen);
Answer run_planner(const Arguments& arguments, Screen screen);
Answer run_manage(const Arguments& arguments, Screen screen);
Answer run_status(const Arguments& arguments, Screen screen);
Answer run_tell(const Arguments& arguments, Screen screen);
Answer run_listen(const Arguments& arguments, Screen screen);
Answer run_validate(const Arguments& arguments, Screen screen);
Answer run_report(const Arguments& arguments, Screen screen);
Answer run_trace(const Arguments& arguments, Screen screen);
Answer run_import(const Arguments& arguments, Screen screen);
Answer run_export(const Arguments& arguments, Screen screen);
Answer run_check(const Arguments& arguments, Screen screen);
Answer run_fingerprint(const Arguments& arguments, Screen screen);
Answer run_completions(const Arguments& arguments, Screen screen);
Answer run_man(const Arguments& arguments, Screen screen);

// The exit codes, as --help lists them: whole lines.
std::string_view exit_codes();

// The whole program behind its name: finds the verb and runs it; `penstock` alone, --help and
// --version. The text is written for `screen`. Throws Error.
Answer run_penstock(const Arguments& arguments, Screen screen = {});

// "0.1.0"
std::string_view version();

}  // namespace penstock
