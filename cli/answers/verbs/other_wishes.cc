#include "cli/answers/verbs/other_wishes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/lost_wishes.h"
#include "cli/answers/verbs/measured_asked.h"
#include "cli/answers/verbs/other_question.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/schedule_asked.h"
#include "cli/answers/verbs/train_asked.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parted_at_commas.h"
#include "cli/words/schedule_called.h"
#include "cli/words/schedule_spelled.h"
#include "cli/words/trainer_called.h"
#include "core/values/error.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

bool begins_with_plan(const Arguments& words) {
  return !words.empty() && role_of(words.front()) == FileRole::kPlan;
}

bool is_schedule(const std::string& word) {
  constexpr std::size_t kShortest = 2;  // "v", which is a family, and "-v"
  const std::string first = word.substr(0, word.find(','));
  return first.size() >= kShortest && !first.starts_with('-') && !is_there(word) &&
         (!schedule_spelled(first).empty() || !schedules_of_family(first).empty());
}

Arguments schedules_among(const Arguments& words) {
  Arguments schedules;
  std::copy_if(words.begin(), words.end(), std::back_inserter(schedules), is_schedule);
  return schedules;
}

// "compare 1f1b zb-h1 --device h100 --gpus 64": of a model, which is missing.
std::string command_of_varied(const Arguments& words) {
  std::string list;
  Arguments others;
  for (const std::string& word : words) {
    if (!is_schedule(word)) {
      others.push_back(word);
      continue;
    }
    for (const std::string& part : parted_at_commas(word)) {
      const std::string_view known = schedule_spelled(part);
      const std::string name =
          known.empty() ? schedules_of_family(part).front() : std::string(known);
      list += (list.empty() ? "" : ",") + name;
    }
  }
  if (list.find(',') == std::string::npos) list += list == "1f1b" ? ",zb-h1" : ",1f1b";
  Arguments command = with_taken("compare", {"config.json"}, others);
  command.insert(command.end(), {"--vary", "schedule=" + list});
  return whole_command("compare", command);
}

// "simulate 1f1b --stages 4 --ascii", "compare gpipe 1f1b zero-bubble --pp 8 --mb 32".
void refuse_schedules(const std::string& verb, const std::string& takes, const Arguments& words) {
  const bool takes_file = takes == "MODEL" || takes == "PLAN";
  if (!takes_file || words.empty() || !is_schedule(words.front())) return;
  const ScheduleView view =
      verb == "trace" || verb == "report" ? ScheduleView::kPicture : ScheduleView::kFigures;
  const std::string command = schedule_asked(words, view);
  throw_bad_input(fmt::format("'{}' is a schedule, and no file\nhelp: {}", words.front(),
                              command.empty() ? "the model comes first: " + command_of_varied(words)
                                              : "without a model: " + command + "; of a model: " +
                                                    command_of_varied(schedules_among(words))));
}

// "compare --schedule 1f1b,zb-h1 --pp 4 --mb 8": costs stand for the model that nobody names.
void refuse_schedules_of_none(const std::string& verb, const Arguments& words,
                              const GivenWords& given) {
  if (!is_among({"compare", "plan", "simulate", "schedule"}, verb) || !given.bare.empty()) return;
  bool is_named = false, is_counted = false;
  for (const GivenOption& option : given.options) {
    const bool is_name = verb != "schedule" || plain_name(option).find("schedule") == 0;
    is_named = is_named || (is_name && is_schedule(option.value));
    is_counted = is_counted || key_called(plain_name(option)) == "M";
  }
  const std::string command =
      is_named && is_counted ? schedule_asked(words, ScheduleView::kFigures) : "";
  if (command.empty()) return;
  throw_bad_input(verb == "schedule"
                      ? "the schedules come first, without a name\nhelp: " + command
                      : "no model is given, and schedules are\nhelp: without a model: " + command);
}

// "compare plan.json --log train.log", "compare plan.json train.log".
void refuse_log_of_plan(const Arguments& words, const GivenWords& given) {
  if (!begins_with_plan(words)) return;
  Arguments files = given.bare;
  for (const GivenOption& option : given.options) files.push_back(option.value);
  const auto log = std::find_if(files.begin(), files.end(), [](const std::string& file) {
    return role_of(file) == FileRole::kLog;
  });
  if (log == files.end()) return;
  throw_bad_input(
      fmt::format("{}: this is the log of a run, and settings are compared here\nhelp: a plan is "
                  "compared with its run by {}",
                  *log, command_of("validate", {words.front(), *log})));
}

// "export megatron plan.json".
void refuse_trainer_as_file(const Arguments& words, const GivenWords& given) {
  if (given.bare.size() < 2 || is_there(given.bare.front())) return;
  const std::string trainer = exported_trainer_called(given.bare.front());
  const FileRole role = role_of(given.bare[1]);
  const bool is_exported = find_trainer_row(trainer) != nullptr;
  if (!is_exported || (role != FileRole::kPlan && role != FileRole::kModel)) return;
  Arguments command = words;
  command.erase(std::find(command.begin(), command.end(), given.bare.front()));
  command.insert(command.end(), {"--to", trainer});
  const std::string help = role == FileRole::kPlan ? whole_command("export", command)
                                                   : help_for_plan_first("export", command);
  throw_bad_input(
      fmt::format("'{}' is a trainer, and a plan comes first\nhelp: {}", given.bare.front(), help));
}

// "compare --plans a.json,b.json", "compare a.json,b.json".
void refuse_plans_in_list(const Arguments& words, const GivenWords& given) {
  std::vector<std::string> plans;
  for (const GivenOption& option : given.options) {
    if (is_among({"plans", "plan", "files"}, plain_name(option)))
      plans = parted_at_commas(option.value);
  }
  for (const std::string& word : given.bare) {
    const std::vector<std::string> parts = parted_at_commas(word);
    plans.insert(plans.end(), parts.begin(), parts.end());
  }
  const bool are_plans =
      plans.size() > 1 && std::all_of(plans.begin(), plans.end(), [](const std::string& plan) {
        return role_of(plan) == FileRole::kPlan;
      });
  const bool is_list = std::none_of(words.begin(), words.end(), [&](const std::string& word) {
    return !plans.empty() && word == plans.front();
  });
  if (!are_plans || !is_list) return;
  throw_bad_input(
      fmt::format("{}: these are plans, and a model belongs here\nhelp: {} shows these "
                  "plans on one page",
                  fmt::format("{}", fmt::join(plans, ", ")), whole_command("report", plans)));
}

// "compare plan.json --device h200-sxm", and "simulate plan.json --network 2x", of which only the
// first is about settings.
void refuse_what_if(const std::string& verb, const OptionTable& table, const Arguments& words,
                    const GivenWords& given) {
  if (!begins_with_plan(words) || typed_files(words).plans.size() != 1) return;
  constexpr std::array<std::string_view, 6> kAsking{
      "bandwidth", "network", "interconnect", "network-bandwidth", "infiniband", "ib"};
  const bool is_asked =
      verb == "compare" ||
      std::any_of(given.options.begin(), given.options.end(), [&](const GivenOption& option) {
        return is_among(kAsking, plain_name(option)) && row_named(table, option.name) == nullptr;
      });
  const bool takes_plan = first_argument(table.usage) == "PLAN" || verb == "compare";
  const std::string command = is_asked && takes_plan ? plan_compared(words) : "";
  if (command.empty()) return;
  throw_bad_input(
      fmt::format("{}: a plan is one answer, and its question is asked again for another\nhelp: {}",
                  words.front(), command));
}

// "import --schedule list.csv", "export list.csv --to megatron".
void refuse_actions(const std::string& verb, const Arguments& words) {
  if (verb != "import" && verb != "export" && verb != "simulate") return;
  for (const std::string& word : words) {
    const bool is_joined = word.starts_with('-') && word.find('=') != std::string::npos;
    const std::string path = is_joined ? word.substr(word.find('=') + 1) : word;
    if (!is_actions_file(path)) continue;
    throw_bad_input(fmt::format(
        "{}: this is a schedule's list of actions\nhelp: it is read as it is, and replayed: {}{}",
        path, schedule_asked({path}, ScheduleView::kFigures),
        verb == "export" ? "; jobs of a trainer are made of plans, not of a list" : ""));
  }
}

// "profile plan.json --top-idle".
void refuse_plan_as_measured(const std::string& verb, const Arguments& words) {
  if ((verb != "profile" && verb != "estimate") || !begins_with_plan(words)) return;
  const std::string& plan = words.front();
  const std::string model = plan_made(plan).model;
  const std::string made =
      role_of(model) == FileRole::kModel
          ? "what it was made from: " + whole_command(verb, with_taken(verb, {model}, words)) + "; "
      : role_of(model) == FileRole::kProfile
          ? fmt::format("it was made from {}, which is measured already; ", shell_word(model))
          : "";
  throw_bad_input(
      fmt::format("{}: this is a plan, and a model belongs here\nhelp: {}{} says what limits the "
                  "plan and where "
                  "its ranks wait, {} what each of them does",
                  plan, made, command_of("explain", {plan}), command_of("simulate", {plan})));
}

// "--profile-file profile.json" beside a config.json.
void refuse_profile_beside_model(const OptionTable& table, const Arguments& words,
                                 const GivenWords& given) {
  const std::string verb = verb_of(table);
  for (const GivenOption& option : given.options) {
    const bool is_named = plain_name(option).find("profile") != std::string::npos &&
                          row_named(table, option.name) == nullptr;
    if (!is_named || !is_there(option.value) || role_of(option.value) != FileRole::kProfile) {
      continue;
    }
    const Arguments others = with_instead(words, option, {});
    Arguments measured{option.value};
    for (const GivenOption& each : given_words(table, others).options) {
      if (each.name == "--device") continue;
      measured.insert(measured.end(), others.begin() + static_cast<std::ptrdiff_t>(each.begin),
                      others.begin() + static_cast<std::ptrdiff_t>(each.end));
    }
    const auto device = value_of(words, {"--device"});
    const bool has_model = !others.empty() && role_of(others.front()) == FileRole::kModel;
    throw_bad_input(fmt::format(
        "unknown option '{}'\nhelp: a profile takes the model's place, and the cluster that it was "
        "measured on that of --device: {}{}",
        option.name, whole_command(verb, measured),
        device && has_model ? fmt::format("; for {} the config.json stays: {}", *device,
                                          whole_command(verb, others))
                            : ""));
  }
}

// "man plan -o plan.1", "completions bash --output penstock.bash": text that a shell keeps.
void refuse_output_of_text(const OptionTable& table, const Arguments& words,
                           const GivenWords& given) {
  const std::string verb = verb_of(table);
  if (!is_among({"man", "completions", "fingerprint", "status"}, verb)) return;
  const auto output =
      std::find_if(given.options.begin(), given.options.end(), [](const GivenOption& each) {
        return is_among({"o", "output", "out", "file", "output-file"}, plain_name(each));
      });
  if (output == given.options.end() || row_named(table, output->name) != nullptr) return;
  const std::string file = shell_word(output->value.empty() ? "FILE" : output->value);
  const auto kept = [&](const Arguments& own) { return command_of(verb, own) + " > " + file; };
  std::string help = "the answer goes to stdout: " + kept(with_instead(words, *output, {}));
  if (verb == "man") {
    help = "the manual is one page, which goes to stdout: " + kept({});
    if (!given.bare.empty() && find_verb(given.bare.front()) != nullptr) {
      help += fmt::format("; of one verb: {} > {}.txt", command_of(given.bare.front(), {"--help"}),
                          given.bare.front());
    }
  }
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", output->name, help));
}

// "plan config.json --packing --dataset lengths.txt", "--tokens 1T --max-days 30".
void refuse_other_search(const Arguments& words) {
  if (const std::string command = lengths_asked(words); !command.empty()) {
    throw_bad_input(
        "samples have one length here\nhelp: those of different lengths are planned by " + command);
  }
  if (const std::string command = deadline_asked(words); !command.empty()) {
    throw_bad_input(fmt::format(
        "a deadline is kept by a number of GPUs, and none is asked for\nhelp: {} shows the days of "
        "each number",
        command));
  }
}

}  // namespace

void refuse_other_wish(const OptionTable& table, const Arguments& words) {
  const std::string verb = verb_of(table), takes = first_argument(table.usage);
  refuse_other_question(table, words);
  refuse_schedules(verb, takes, words);
  refuse_measured_elsewhere(table, words);
  const GivenWords given = given_words(table, words);
  refuse_schedules_of_none(verb, words, given);
  refuse_lost_wish(table, words, given);
  if (verb == "compare") {
    refuse_plans_in_list(words, given);
    refuse_log_of_plan(words, given);
  }
  if (verb == "export") refuse_trainer_as_file(words, given);
  refuse_output_of_text(table, words, given);
  refuse_launcher_options(verb, words, given);
  refuse_what_if(verb, table, words, given);
  refuse_actions(verb, words);
  refuse_plan_as_measured(verb, words);
  if (verb == "dynamic") refuse_batch_of_samples(table, words);
  if (verb == "estimate") refuse_other_search(words);
  if (verb != "plan" && verb != "predict" && verb != "compare") return;
  refuse_profile_beside_model(table, words, given);
  if (verb != "predict") refuse_other_search(words);
}

}  // namespace penstock
