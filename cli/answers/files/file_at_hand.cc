// Files of ours say their format, those of others have words in them that no other file has. A verb
// that is given the wrong one has nothing better to say than what it is and who takes it.
#include "cli/answers/files/file_at_hand.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/layout_in_file.h"
#include "cli/answers/files/own_training.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/schedule_asked.h"
#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/measured_machine.h"
#include "cli/io/shell_word.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

bool has_ending(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&path](std::string_view end) { return path.ends_with(end); });
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Whatever its name: "plan.out", "cluster.yaml". Python's dictionaries begin alike.
bool is_json(const std::string& path) {
  const std::string text = beginning_of(path);
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.compare(first, 1, "{") == 0 && text.compare(first, 2, "{'") != 0;
}

std::string imported(const std::string& tool, const std::string& path) {
  Arguments words{tool, path};
  const Arguments machine = machine_measured({path});
  words.insert(words.end(), machine.begin(), machine.end());
  words.insert(words.end(), {"-o", "new.json"});
  return command_of("import", words) + " puts it into a cluster file";
}

// How to ask the verb what was probably meant; empty where there is nothing to ask it about.
std::string how_to_ask(const std::string& verb, const std::string& takes, const std::string& use,
                       const Arguments& arguments) {
  if (use.starts_with("penstock " + verb + ' ')) return "";
  if (takes == "PLAN") return "; a plan is what penstock plan ... -o plan.json writes";
  if (takes.starts_with("JOB") && takes != "JOBS.json") {
    return "; penstock manage --example > job.json writes a job file to edit";
  }
  if (takes != "MODEL" && takes != "CONFIG") return "";
  return fmt::format("; {} takes the model, described by its config.json: {}", verb,
                     whole_command(verb, with_taken(verb, {model_at_hand()}, arguments)));
}

// "penstock plan config.json --cluster my.json ..", with what it takes of the options.
std::string asked(const std::string& verb, Arguments files, const Arguments& typed) {
  return whole_command(verb, with_taken(verb, std::move(files), typed));
}

FileAtHand own_file(const std::string& format, const std::string& path, const Arguments& typed) {
  if (is_plan_format(format)) {
    return {"a plan", command_of("explain", {path}) + " says what limits it"};
  }
  if (format.starts_with("penstock.book/")) {
    return {"a book of plans", command_of("morph", {"--book", path, "--trace", "trace.csv"}) +
                                   " replays it on GPUs that come and go"};
  }
  if (format.starts_with("penstock.profile/")) {
    return {"a profile", asked("plan", {path}, typed) + " plans with it"};
  }
  if (format.starts_with("penstock.cluster/")) {
    return {"a cluster", command_of("check", {path}) + " judges a cluster file, " +
                             asked("plan", {model_at_hand(), "--cluster", path}, typed) +
                             " plans for it"};
  }
  if (format.starts_with("penstock.device/")) {
    return {"the datasheet of a device",
            asked("plan", {model_at_hand(), "--device", path}, typed) + " plans for such GPUs"};
  }
  if (format.starts_with("penstock.job/")) {
    return {"a job file", command_of("manage", {path}) + " runs the job"};
  }
  if (format.starts_with("penstock.jobs/")) {
    return {"a list of jobs that share GPUs", asked("multi", {path}, typed) + " places them"};
  }
  if (format.starts_with("penstock.runs/")) {
    return {"a file of measured runs",
            command_of("calibrate", {"--runs", path}) + " fits predictions to them"};
  }
  if (format.starts_with("penstock.costs/")) {
    return {"a file of costs", command_of("schedule", {"1f1b", "--cost-file", path}) +
                                   " replays a schedule with them"};
  }
  return {};
}

// "penstock predict .. -o ran.json" where the log says the layout, and what it is compared by.
std::string use_of_log(const std::string& path) {
  const auto ran = layout_in_log(path);
  if (!ran) {
    return "the log of a run comes after its plan: " + command_of("validate", {"plan.json", path});
  }
  return fmt::format("the log of a run comes after its plan, and says which it was: {}; then {}",
                     command_of("predict", {model_at_hand(), "--device", "h100-sxm", "--layout",
                                            ran->layout, "-o", "ran.json"}),
                     command_of("validate", {"ran.json", path}));
}

FileAtHand table_or_log(const std::string& path, const Arguments& typed) {
  if (is_recording(path)) {
    return {"a recording of GPUs that come and go",
            command_of("morph", {"--book", "book.json", "--trace", path}) + " replays it"};
  }
  if (is_actions_file(path)) {
    return {"a schedule's list of actions",
            schedule_asked({path}, ScheduleView::kFigures) + " replays it"};
  }
  const std::string text = beginning_of(path);
  const bool is_collective = has(text, "busbw") && has(text, "out-of-place");
  if (is_nccl_table(path) || is_collective)
    return {"what nccl-tests printed", imported("nccl-tests", path)};
  if (has(text, "memcpy") && has(text, "bandwidth (GB/s)"))
    return {"what nvbandwidth printed", imported("nvbandwidth", path)};
  if (has(text, "{'loss':") || has(text, "'train_runtime':")) {
    return {"what Hugging Face's Trainer printed", help_for_own_training(text)};
  }
  if (has(text, "elapsed time per iteration (ms):")) {
    return {"a log", use_of_log(path)};
  }
  if (is_lengths_file(path)) {
    return {"a list of lengths", asked("dynamic", {model_at_hand(), "--lengths", path}, typed) +
                                     " plans for samples of these lengths"};
  }
  return {};
}

FileAtHand json_of_others(const std::string& path, const Arguments& typed) {
  try {
    const Json json = load_json(path).value;
    if (is_model_config(json)) {
      return {"a model's config.json", asked("plan", {path}, typed) + " finds layouts for it"};
    }
    const FileKind kind = kind_of_json(path, json);
    return {kind.words, kind.use};
  } catch (const Error&) {
    return {};  // its reader says what is wrong with it
  }
}

// What each verb reads in the first place, in the words above.
struct Taken {
  std::string_view first;  // "PLAN"
  std::array<std::string_view, 3> words;
  std::string_view belongs;  // "a plan"
};
constexpr std::array kTaken{
    Taken{"PLAN", {"a plan"}, "a plan"},
    Taken{"MODEL", {"a profile", "a model's config.json"}, "a model"},
    Taken{"CONFIG", {"a model's config.json"}, "a model's config.json"},
    Taken{"JOB", {"a job file"}, "a job file"},
    Taken{"JOB.json", {"a job file"}, "a job file"},
    Taken{"JOBS.json", {"a list of jobs that share GPUs"}, "a list of jobs that share GPUs"},
    Taken{"NAME", {"a schedule's list of actions"}, "a schedule"},
    Taken{"[NAME]", {"the datasheet of a device"}, "a GPU's name or its datasheet"},
};

}  // namespace

bool is_lengths_file(const std::string& path) {
  if (!has_ending(path, {".txt", ".csv", ".lengths"}) || !is_there(path)) return false;
  const std::string line = first_line_of(path);
  const bool are_numbers =
      !line.empty() && line.find_first_not_of("0123456789, ") == std::string::npos;
  return are_numbers || line.find("tokens") == 0 || line.find("length") == 0;
}

bool is_actions_file(const std::string& path) {
  if (!path.ends_with(".csv") || !is_there(path)) return false;
  const std::string line = first_line_of(path);
  const std::size_t begin = std::min(line.find_first_not_of(", "), line.size());
  const std::size_t kind = std::min(line.find_first_not_of("0123456789", begin), line.size());
  const bool has_kind = kind > begin && kind < line.size() &&
                        std::string_view("FBIWR").find(line[kind]) != std::string_view::npos;
  return has_kind && kind + 1 < line.size() &&
         std::isdigit(static_cast<unsigned char>(line[kind + 1])) != 0;
}

bool is_recording(const std::string& path) {
  return path.ends_with(".csv") && is_there(path) && first_line_of(path).starts_with("time_s");
}

FileAtHand file_at_hand(const std::string& path, const Arguments& typed) {
  if (!is_there(path)) return {};
  FileAtHand own = own_file(format_of_file(path), path, typed);
  if (!own.words.empty()) return own;
  if (path.ends_with(".json") || is_json(path)) return json_of_others(path, typed);
  if (has_ending(path, {".md", ".rst"})) return {};  // which may quote any of them
  FileAtHand known = table_or_log(path, typed);
  if (!known.words.empty()) return known;
  const FileKind kind = kind_of_text(path, "");
  return {kind.words, kind.use};
}

void refuse_file_at_hand(const std::string& verb, const std::string& takes,
                         const Arguments& arguments) {
  const auto taken = std::find_if(kTaken.begin(), kTaken.end(),
                                  [&takes](const Taken& row) { return row.first == takes; });
  if (taken == kTaken.end()) return;
  FileAtHand found = file_at_hand(arguments.front(), {arguments.begin() + 1, arguments.end()});
  if (verb == "schedule" && found.words == "a plan") {
    found.use = command_of("simulate", {arguments.front()}) + " replays the schedule of a plan";
  }
  if (verb == "train" && found.words == "a book of plans") {
    found.use = command_of("train", {"--book", arguments.front(), "--ranks", "N"}) +
                " trains by one of its plans";
  }
  // Lists of actions begin in many ways, and their reader knows them all.
  const bool is_list = found.words == "a CSV" || is_actions_file(arguments.front());
  const bool is_other_first = (verb == "report" && is_among(kTaken[1].words, found.words)) ||
                              ((verb == "trace" || verb == "schedule") && is_list);
  // "penstock profile x.pt measures a TorchScript archive": the verb takes it after all.
  const bool is_own =
      found.use.find(fmt::format("penstock {} {} ", verb, arguments.front())) != std::string::npos;
  if (found.use.empty() || is_other_first || is_own) return;
  if (is_among(taken->words, found.words)) return;
  throw_bad_input(fmt::format("{}: this is {}, and {} belongs here\nhelp: {}{}", arguments.front(),
                              found.words, taken->belongs, found.use,
                              how_to_ask(verb, takes, found.use, arguments)));
}

}  // namespace penstock
