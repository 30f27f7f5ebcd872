// A file that another verb reads, or that stands in another's place, where it is plain which: what
// imports, traces, exports and validations are given by mistake.
#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/plain_name.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/file_at_hand.h"
#include "cli/answers/files/layout_in_file.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/file_kinds.h"
#include "cli/io/files.h"
#include "cli/io/measured_machine.h"
#include "cli/io/plan_json.h"
#include "cli/io/shell_word.h"
#include "cli/options/options_entry.h"
#include "cli/words/field_words.h"
#include "cli/words/has_part.h"
#include "cli/words/is_among.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/files/plan_format.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool has_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&text](std::string_view part) {
    return text.find(part) != std::string::npos;
  });
}

// "--price" and "2.5" of "--price h100=2.5"; empty where no price is among the words.
GivenOption price_in(const Arguments& words) {
  for (const GivenOption& option : given_words({}, words).options) {
    const bool is_price = has_part(plain_name(option), {"price", "prices", "usd", "cost"});
    const std::string number = option.value.substr(option.value.find_last_of("=:$") + 1);
    const bool is_number =
        !number.empty() && number.find_first_not_of("0123456789.") == std::string::npos;
    if (is_price && is_number) return {option.name, number, 0, 0};
  }
  return {"", "", 0, 0};
}

// Of what is imported already, or never is; what was to be written is another file.
std::string use_of_own_file(const Arguments& arguments) {
  const std::string& path = arguments[0];
  Arguments words(arguments.begin() + 1, arguments.end());
  const auto output = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "-o" || word == "--output";
  });
  if (output != words.end()) words.erase(output, std::min(output + 2, words.end()));
  switch (role_of(path)) {
    case FileRole::kModel:
      return "a model is read as it is: " + command_of_taken("plan", {path}, words);
    case FileRole::kProfile:
      return "a profile is read as it is: " + command_of_taken("plan", {path}, words);
    case FileRole::kPlan:
      return "a plan is read as it is: " + command_of("explain", {path});
    case FileRole::kCluster:
      if (const GivenOption price = price_in(words); !price.value.empty()) {
        return fmt::format(
            "a price of your own ({}) is told to a plan: {}; a catalog of prices is read by {}",
            price.name,
            whole_command("plan",
                          {"config.json", "--cluster", path, "--usd-per-gpu-hour", price.value}),
            command_of("import", {"skypilot", "vms.csv", "--cluster", path, "-o", "new.json"}));
      }
      return "a cluster takes what is imported: " +
             command_of("import",
                        {"nccl-tests", "all_reduce.log", "--cluster", path, "-o", "new.json"});
    default:
      return "";
  }
}

// What is written needs a cluster to go into: where none is named, that which is assumed of a GPU.
// What is not written is only printed, which is why somebody imports nothing.
Arguments with_machine(Arguments words) {
  const auto is_named = [&words](std::string_view option) {
    return std::any_of(words.begin(), words.end(), [option](const std::string& word) {
      return std::string_view(word).substr(0, word.find('=')) == option;
    });
  };
  const bool is_written = is_named("-o") || is_named("--output"),
             has_cluster = is_named("--cluster") || is_named("--device");
  const bool is_measured = words.front() == "nccl-tests";
  if (has_cluster && is_measured && !is_written) words.insert(words.end(), {"-o", "new.json"});
  if (has_cluster || (!is_written && !is_measured)) return words;
  const auto at = std::find_if(words.begin(), words.end(),
                               [](const std::string& word) { return word.starts_with('-'); });
  Arguments machine = machine_measured({words.begin() + 1, at});
  if (is_named("--gpus")) machine.resize(2);
  words.insert(at, machine.begin(), machine.end());
  if (!is_written) words.insert(words.end(), {"-o", "new.json"});
  return words;
}

// Of what the name of a file does not say, and its lines may.
std::string remark_of_collective(const std::string& tool, const std::string& name,
                                 const std::string& path) {
  const bool is_said =
      has_any(name, {"reduce", "gather", "sendrecv", "alltoall", "broadcast", "scatter"});
  if (tool != "nccl-tests" || is_said || is_nccl_table(path)) return "";
  return "; the command line of the test in the file says which collective it is, or else the "
         "file's name does, all_reduce.txt";
}

// "import all_reduce.log": the tool comes first, and the name of its file tells which one.
void refuse_as_tool(const Arguments& arguments) {
  const std::string& path = arguments[0];
  constexpr const char* kTools = "nccl-tests, nvbandwidth, skypilot";
  const std::string what = fmt::format("TOOL: '{}' is none of {}\nhelp: ", path, kTools);
  constexpr const char* kImported = "; measurements and prices are imported";
  if (is_launch_file(path)) {
    const auto ran = layout_in_script(path);
    const std::string output = value_of(arguments, {"-o", "--output"}).value_or("plan.json");
    throw_bad_input(what +
                    (ran ? "the plan of its layout is " +
                               command_of("predict", {"config.json", "--device", "h100-sxm",
                                                      "--layout", ran->layout, "-o", output}) +
                               "; "
                         : "") +
                    use_of_launch_file(path, "") + kImported);
  }
  if (const std::string use = use_of_own_file(arguments); !use.empty()) {
    throw_bad_input(what + use + kImported);
  }
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string tool =
      is_nccl_table(path)      ? "nccl-tests"
      : name.ends_with(".csv") ? "skypilot"
      : has_any(name, {"reduce", "gather", "sendrecv", "alltoall", "broadcast", "scatter", "nccl"})
          ? "nccl-tests"
      : has_any(name, {"bandwidth"}) ? "nvbandwidth"
                                     : "";
  if (!tool.empty()) {
    Arguments words = arguments;
    words.insert(words.begin(), tool);
    words = with_machine(words);
    throw_bad_input(what + "the tool that wrote it comes first: " +
                    (verb_takes("import", words)
                         ? command_of("import", words)
                         : command_of_taken("import", {tool, path}, words)) +
                    remark_of_collective(tool, name, path));
  }
  if (const FileKind kind = kind_of_text(path, ""); !kind.words.empty()) {
    throw_bad_input(what + std::string(kind.use));
  }
}

bool is_output(const std::string& word) { return word == "-o" || word == "--output"; }

// "trace train.log plan.json -o out.tar": the plan first, the log after its option.
std::string command_with_run(const std::string& verb, Arguments words, const std::string& plan) {
  const std::string log = words.front();
  words.erase(words.begin());
  const auto named = std::find(words.begin(), words.end(), "--run");
  if (words.end() - named > 1 && role_of(*(named + 1)) == FileRole::kPlan) {
    words.erase(named, named + 2);  // the two have changed places
  }
  words.erase(std::remove(words.begin(), words.end(), plan), words.end());
  words.insert(words.begin(), {plan, "--run", log});
  if (std::none_of(words.begin(), words.end(), is_output)) {
    words.insert(words.end(), {"-o", verb == "trace" ? "both.tar" : "report.html"});
  }
  return command_of(verb, words);
}

// "validate plan.json job/run.sh", "trace plan.json --run cluster.json".
void refuse_other_run(const std::string& verb, const Arguments& arguments) {
  const bool is_option = verb == "trace" || verb == "report";
  const auto option = std::find(arguments.begin(), arguments.end(), "--run");
  const std::size_t at =
      is_option ? static_cast<std::size_t>(option - arguments.begin()) + 1 : std::size_t{1};
  std::error_code error;
  const bool is_there = (is_option || verb == "validate") && at < arguments.size() &&
                        std::filesystem::is_regular_file(arguments[at], error);
  const std::string_view what = is_there ? words_of_role(role_of(arguments[at])) : "";
  if (what.empty()) return;
  Arguments words = arguments;
  words[at] = is_option ? "run.jsonl" : "train.log";
  if (verb == "trace" && std::none_of(words.begin(), words.end(), is_output)) {
    words.insert(words.end(), {"-o", "both.tar"});
  }
  const FileRole role = role_of(arguments[at]);
  const Plan plan = load_plan(arguments[0]).value.plan;
  throw_bad_input(fmt::format(
      "{}: this is {}, and no record of a run\nhelp: {}{}: {}", arguments[at], what,
      role == FileRole::kScript
          ? command_of("check", {arguments[at], "--gpus", fmt::format("{}", plan.devices())}) +
                " judges it before it runs; "
      : role == FileRole::kCluster ? "a plan names its own cluster; "
                                   : "",
      is_option ? "--run takes what penstock train --log run.jsonl --timeline wrote, or a folder "
                  "of profiler traces"
                : "the log of what ran follows its plan",
      whole_command(verb, words)));
}

// A recording of GPUs where a list of actions belongs.
void refuse_recording(const std::string& path) {
  if (!is_recording(path)) return;
  throw_bad_input(
      fmt::format("{0}: this is a recording of GPUs that come and go\nhelp: penstock morph --book "
                  "book.json --trace {0} replays it",
                  path));
}

// "trace plan.json --run wandb/output.csv", which is not there.
void refuse_missing_run(const std::string& verb, const Arguments& arguments) {
  const auto option = std::find(arguments.begin(), arguments.end(), "--run");
  if ((verb != "trace" && verb != "report") || arguments.end() - option < 2) return;
  const std::string run = *(option + 1);
  std::error_code error;
  if (run.starts_with('-') || std::filesystem::exists(run, error)) return;
  Arguments words = arguments;
  words[static_cast<std::size_t>(option - arguments.begin()) + 1] =
      run.ends_with(".log") || run.ends_with(".jsonl") ? run : "run.jsonl";
  if (std::none_of(words.begin(), words.end(), is_output)) {
    words.insert(words.end(), {"-o", verb == "trace" ? "both.tar" : "report.html"});
  }
  throw Error(
      ErrorKind::kMissingResource,
      fmt::format("{}: cannot read this file: No such file or directory\nhelp: a run is "
                  "what penstock train --log run.jsonl --timeline wrote, a trainer's log or "
                  "a folder of profiler traces (a table, as of W&B, is none): {}",
                  run, whole_command(verb, words)));
}

}  // namespace

namespace {

struct Subject {
  std::string_view part, help;
};
constexpr std::string_view kCollectives =
    "the tool comes first, then a file that it wrote, and nothing is fetched: penstock import "
    "nccl-tests all_reduce.txt --device h100-sxm --gpus 16 -o cluster.json (docs/importing.md)";
constexpr std::string_view kPrices =
    "the tool comes first, then a file that it wrote, and nothing is fetched: penstock import "
    "skypilot vms.csv --cluster cluster.json -o new.json (docs/importing.md)";
constexpr std::string_view kBandwidths =
    "the tool comes first, then a file that it wrote, and nothing is fetched: penstock import "
    "nvbandwidth out.json --cluster cluster.json -o new.json (docs/importing.md)";
constexpr std::string_view kRuns =
    "what ran is compared with its plan: penstock validate plan.json train.log";
constexpr std::string_view kTraces =
    "what a profiler recorded is shown beside its plan: penstock trace plan.json --run FOLDER -o "
    "both.tar";
constexpr std::string_view kFigures =
    "no output of it is read; a figure is written into the cluster file, under \"links\" "
    "(docs/file_formats.md), and nccl-tests measures links between nodes: penstock import "
    "nccl-tests sendrecv.txt --cluster cluster.json -o new.json";
constexpr std::string_view kTopology =
    "no command is run here, and no topology is read; links inside a node are measured by "
    "nvbandwidth: penstock import nvbandwidth out.json --cluster cluster.json -o new.json";

// What is to be imported, in place of the tool that measured it; the first part that the word has.
constexpr std::array kSubjects{Subject{"price", kPrices},
                               Subject{"catalog", kPrices},
                               Subject{"cost", kPrices},
                               Subject{"aws", kPrices},
                               Subject{"gcp", kPrices},
                               Subject{"azure", kPrices},
                               Subject{"sky", kPrices},
                               Subject{"nccl", kCollectives},
                               Subject{"reduce", kCollectives},
                               Subject{"collective", kCollectives},
                               Subject{"bandwidth", kBandwidths},
                               Subject{"smi", kTopology},
                               Subject{"topo", kTopology},
                               Subject{"lspci", kTopology},
                               Subject{"ibstat", kTopology},
                               Subject{"ibv", kTopology},
                               Subject{"dcgm", kTopology},
                               Subject{"perf", kFigures},
                               Subject{"ib_", kFigures},
                               Subject{"osu", kFigures},
                               Subject{"latency", kFigures},
                               Subject{"nsys", kTraces},
                               Subject{"nsight", kTraces},
                               Subject{"profiler", kTraces},
                               Subject{"trace", kTraces},
                               Subject{"wandb", kRuns},
                               Subject{"tensorboard", kRuns},
                               Subject{"mlflow", kRuns},
                               Subject{"log", kRuns}};

// "import nccl all_reduce.txt -o new.json" with the tool's own name; empty where no file is named.
std::string command_of_subject(std::string_view help, const Arguments& arguments) {
  const std::string tool = help == kCollectives  ? "nccl-tests"
                           : help == kBandwidths ? "nvbandwidth"
                           : help == kPrices     ? "skypilot"
                                                 : "";
  if (tool.empty() || arguments.size() < 2 || arguments[1].starts_with('-')) return "";
  Arguments words = arguments;
  words.front() = tool;
  words = with_machine(words);
  return verb_takes("import", words) ? "write " + command_of("import", words) : "";
}

// "import prices", "import nvidia-smi topo -m".
void refuse_subject(const Arguments& arguments) {
  const std::string& word = arguments.front();
  const std::string plain = plain_word(word);
  for (const Subject& each : kSubjects) {
    const bool is_it =
        plain.find(each.part) != std::string::npos || word.find(each.part) != std::string::npos;
    if (!is_it) continue;
    const std::string command = command_of_subject(each.help, arguments);
    throw_bad_input(fmt::format("TOOL: '{}' is none of nccl-tests, nvbandwidth, skypilot\nhelp: {}",
                                word, command.empty() ? std::string(each.help) : command));
  }
}

// "import nvbandwidth out.json cluster.json".
void refuse_bare_cluster(const Arguments& arguments) {
  const auto is_option = [](const std::string& word) { return word.starts_with("--cluster"); };
  if (std::any_of(arguments.begin(), arguments.end(), is_option)) return;
  for (std::size_t i = 1; i < arguments.size() && !arguments[i].starts_with('-'); ++i) {
    if (role_of(arguments[i]) != FileRole::kCluster || !is_there(arguments[i])) continue;
    Arguments words = arguments;
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    words.insert(words.end(), {"--cluster", arguments[i]});
    throw_bad_input(
        fmt::format("{}: this is a cluster, and a measurement belongs here\nhelp: it "
                    "follows its option: {}",
                    arguments[i], whole_command("import", words)));
  }
}

}  // namespace

void refuse_file_as_tool(const std::string& usage, const Arguments& arguments) {
  if (!usage.starts_with("import ") || arguments.empty()) return;
  const std::string& path = arguments[0];
  const Arguments tools{"nccl-tests", "nvbandwidth", "skypilot"};
  const bool is_slip = std::any_of(tools.begin(), tools.end(), [&path](const auto& tool) {
    return slips_between(path, tool) <= 2;
  });
  const bool is_word = !path.starts_with('-') && path.find_first_of("./") == std::string::npos;
  if (!is_slip && is_word) refuse_subject(arguments);
  if (is_among(tools, path)) refuse_bare_cluster(arguments);
  if (!path.starts_with('-') && path.find_first_of("./") != std::string::npos) {
    refuse_as_tool(arguments);
  }
}

void refuse_file_of_other_verb(const std::string& verb, const Arguments& arguments) {
  const std::string& path = arguments[0];
  const std::string format = format_of_file(path);
  if (verb == "trace" || verb == "schedule") refuse_recording(path);
  const auto plan = std::find_if(arguments.begin() + 1, arguments.end(), [](const auto& word) {
    return is_plan_format(format_of_file(word));
  });
  if (is_plan_format(format)) {
    refuse_other_run(verb, arguments);
    refuse_missing_run(verb, arguments);
  }
  const bool is_log = kind_of_text(path, "").words == "a log" || path.ends_with(".jsonl");
  if ((verb == "trace" || verb == "report") && is_log) {
    throw_bad_input(fmt::format(
        "{}: a plan belongs here, and the log of a run follows its option\nhelp: {}", path,
        command_with_run(verb, arguments, plan != arguments.end() ? *plan : "plan.json")));
  }
  if (verb == "validate" && !is_plan_format(format) && plan == arguments.begin() + 1 &&
      arguments.size() > 1) {
    Arguments words = arguments;
    std::swap(words[0], words[1]);
    throw_bad_input(fmt::format("{}: a plan belongs here, and its run follows\nhelp: {}", path,
                                command_of(verb, words)));
  }
}

}  // namespace penstock
