#include "cli/answers/verbs/asked_verb.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/asked_of_search.h"
#include "cli/answers/verbs/comparison_asked.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/schedule_asked.h"
#include "cli/answers/verbs/verb_called.h"
#include "cli/io/shell_word.h"
#include "cli/words/field_words.h"
#include "cli/words/has_part.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/schedule_spelled.h"

namespace penstock {
namespace {

ScheduleView view_of(const std::string& plain) {
  if (has_part(plain, {"draw", "plot", "figure", "picture", "svg", "png", "gantt", "timeline",
                       "image", "render", "chart", "graph", "show", "visualize", "visualise",
                       "display", "view", "diagram"})) {
    return ScheduleView::kPicture;
  }
  return has_part(plain, {"compare", "comparison", "sweep", "vs", "versus", "rank", "bench",
                          "benchmark", "list", "best", "schedules", "diff"})
             ? ScheduleView::kBeside
             : ScheduleView::kFigures;
}

// "draw --schedule 1f1b --pp 4", "compare-schedules --stages 4 --microbatches 8".
std::string help_for_schedule(const std::string& plain, const Arguments& rest) {
  if (!schedule_spelled(plain.substr(0, plain.find(','))).empty()) return "";
  const ScheduleView view = view_of(plain);
  const std::string command = schedule_asked(rest, view);
  if (command.empty()) return "";
  const bool is_drawn = command.find(" -o ") != std::string::npos;
  return "schedules need no model: " + command +
         (is_drawn                                  ? " draws it"
          : command.find(',') < command.find(" -P") ? " puts them beside each other"
                                                    : "");
}

// "whatif plan.json --network 2x".
std::string help_for_what_if(const std::string& meant, const Arguments& rest) {
  const std::string command = meant == "compare" ? plan_compared(rest) : "";
  if (command.empty()) return "";
  const bool has_factors = command.find("bandwidth=") != std::string::npos;
  return "the plan's question is asked again: " + command +
         (has_factors ? "; a bandwidth is a factor on that of the plan's links" : "");
}

// "convert list.csv --to megatron".
std::string help_for_actions(const Arguments& rest) {
  const auto list = std::find_if(rest.begin(), rest.end(), is_actions_file);
  if (list == rest.end()) return "";
  const bool is_exported = value_of(rest, {"--to", "--for", "--format"}).has_value();
  return "a list of actions is read as it is, and replayed: " +
         schedule_asked({*list}, ScheduleView::kFigures) +
         (is_exported ? "; jobs of a trainer are made of plans, not of a list" : "");
}

// "why config.json --dp 8 --vs --pp 8".
std::string help_for_comparison(const std::string& meant, const Arguments& rest) {
  if (const std::string command = comparison_asked(rest); !command.empty()) {
    return "layouts are put beside each other by " + command;
  }
  return meant == "compare" ? plans_to_compare(rest) : "";
}

// "optimize config.json --tokens 1T --max-days 30".
std::string help_for_deadline(const Arguments& rest) {
  const std::string command = deadline_asked(rest);
  return command.empty() ? "" : command + " shows the days of each number of GPUs";
}

bool counts_models(const GivenOption& option) {
  const std::string plain = plain_word(
      option.name.substr(std::min(option.name.find_first_not_of('-'), option.name.size())));
  return is_digits(option.value) && is_among({"jobs", "num-jobs", "count", "trials", "num-trials",
                                              "models", "num-models", "experiments", "copies"},
                                             plain);
}

// "sweep gpt2.json --jobs 24 --gpus 4".
std::string help_for_many_models(const std::string& meant, const Arguments& rest) {
  const std::vector<GivenOption> options = given_words({}, rest).options;
  const bool is_many = std::any_of(options.begin(), options.end(), counts_models);
  const bool is_asked = meant == "compare" || meant == "multi";
  if (!is_many || !is_asked || typed_files(rest).models.empty()) return "";
  Arguments others = rest;
  for (auto option = options.rbegin(); option != options.rend(); ++option) {
    if (counts_models(*option)) others = with_instead(others, *option, {});
  }
  return "many models share GPUs by another verb: " + help_for_files("multi", others);
}

// "2d", "48h", "48" of a mean time between failures, in hours; 0 of other texts.
double hours_in(const std::string& text) {
  double value = 0.0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(read.ptr, text.data() + text.size());
  if (read.ec != std::errc{}) return 0.0;
  if (is_among({"", "h", "hours", "hour"}, unit)) return value;
  constexpr double kHoursOfDay = 24.0, kHoursOfWeek = 168.0, kMinutesOfHour = 60.0;
  if (is_among({"w", "weeks", "week"}, unit)) return value * kHoursOfWeek;
  if (is_among({"d", "days", "day"}, unit)) return value * kHoursOfDay;
  return is_among({"min", "m", "minutes"}, unit) ? value / kMinutesOfHour : 0.0;
}

bool is_mean_time(const GivenOption& option) {
  return is_among({"--mtbf", "--mttf", "--mtbf-hours", "--node-mtbf", "--job-mtbf",
                   "--failure-interval", "--fail-every"},
                  option.name) &&
         hours_in(option.value) > 0.0;
}

// "goodput plan.json --mtbf 2d --checkpoint-interval 30min".
std::string help_for_failures(const Arguments& rest) {
  const std::vector<GivenOption> options = given_words({}, rest).options;
  const auto mean_time = std::find_if(options.begin(), options.end(), is_mean_time);
  const TypedFiles files = typed_files(rest);
  if (mean_time == options.end() || files.plans.empty()) return "";
  const double hours = hours_in(mean_time->value);
  const std::string gpus = plan_made(files.plans.front()).gpus;
  const std::string tokens = value_of(rest, {"--tokens"}).value_or("2T");
  const auto command_at = [&](double each) {
    return command_of("simulate", Arguments{files.plans.front(), "--tokens", tokens, "--mtbf-hours",
                                            fmt::format("{:g}", each)});
  };
  const std::string of_job = gpus.empty()
                                 ? ""
                                 : fmt::format("; if the job of {} GPUs as a whole does: {}", gpus,
                                               command_at(hours * std::stod(gpus)));
  return fmt::format(
      "failures are counted over a training. If one GPU fails every {:g} h: {}{}; the interval "
      "between checkpoints is chosen for them and printed, --checkpoint-minutes T is how long one "
      "takes",
      hours, command_at(hours), of_job);
}

// Whether each of its lines tells of every rank, as those of `penstock train --log` do.
bool tells_of_ranks(const std::string& log) {
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  return log.ends_with(".jsonl") || line.starts_with('{');
}

// "stragglers train.log" of a trainer's log, which has one line for all ranks.
std::string help_for_slow_ranks(const std::string& plain, const Arguments& rest) {
  const TypedFiles files = typed_files(rest);
  const bool is_asked =
      has_part(plain, {"straggler", "stragglers", "slow", "slowest", "outlier", "outliers"});
  if (!is_asked || files.logs.empty() || !is_there(files.logs.front()) ||
      tells_of_ranks(files.logs.front())) {
    return "";
  }
  const std::string plan = files.plans.empty() ? "plan.json" : files.plans.front();
  return fmt::format(
      "a trainer's log has one line for all ranks, and names no slow one; the folder with the "
      "traces of all ranks that PyTorch's profiler wrote does, and so does what penstock train "
      "--log run.jsonl writes: {}; the log tells how the whole step compares: {}",
      command_of("validate", {plan, "traces", "--slow-ranks"}),
      command_of("validate", {plan, files.logs.front()}));
}

}  // namespace

std::string help_for_asked(const std::string& verb, const Arguments& rest,
                           const std::vector<std::string>& known) {
  const std::string plain = plain_word(verb), meant = verb_meant(plain, known);
  const std::array<std::string, 8> helps{
      help_for_actions(rest),
      help_for_schedule(plain, rest),
      help_for_what_if(meant, rest),
      help_for_deadline(rest),
      help_for_many_models(meant, rest),
      help_for_slow_ranks(plain, rest),
      help_for_comparison(plain == "diff" ? "compare" : meant, rest),
      help_for_failures(rest)};
  const auto help = std::find_if(helps.begin(), helps.end(),
                                 [](const std::string& each) { return !each.empty(); });
  return help == helps.end() ? "" : *help;
}

}  // namespace penstock
