// All files of a command line pass through here: read whole, hashed, parsed, and refused with the
// file's place and a remedy. A file of the wrong kind is answered by what it is and where it
// belongs; a file that is not there by its nearest neighbour. Writing is to a name, never beside
// it, and an error names the file.
#include "cli/io/files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/commands/rehearsal.h"
#include "cli/answers/files/job_file.h"
#include "cli/answers/files/own_training.h"
#include "cli/io/file_kinds.h"
#include "cli/io/plan_json.h"
#include "cli/io/text_file.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/files/format.h"
#include "core/files/plan_format.h"
#include "core/values/byte_order_mark.h"
#include "core/values/error.h"
#include "core/values/json_reader.h"

namespace penstock {
namespace {

constexpr std::string_view kProfile = "penstock.profile/1", kCluster = "penstock.cluster/1",
                           kPlan = kPlanFormat, kBook = "penstock.book/1", kJob = "penstock.job/1",
                           kSlow = "penstock.slow/1", kRuns = "penstock.runs/1",
                           kCosts = "penstock.costs/1", kDevice = "penstock.device/1",
                           kJobs = "penstock.jobs/1", kConfig = "config.json", kText = "text";

// What people call a file of this format.
struct Kind {
  std::string_view format, words;
};
constexpr std::array kKinds{
    Kind{kProfile, "a profile"},
    Kind{kCluster, "a cluster"},
    Kind{kPlan, "a plan"},
    Kind{kPlanFormat1, "a plan"},
    Kind{kBook, "a book of plans"},
    Kind{kJob, "a job file"},
    Kind{kSlow, "a list of slow ranks"},
    Kind{kConfig, "a model's config.json"},
    Kind{kDevice, "the datasheet of a device"},
    Kind{kCosts, "a file of costs"},
    Kind{kRuns, "a file of measured runs"},
    Kind{kJobs, "a list of jobs that share GPUs"},
};

constexpr const char* kHowToBook =
    "a book is what penstock plan ... --gpus 8..64 -o book.json writes";

constexpr const char* kHowToSlow =
    "penstock train --slow-ranks --slow-machines slow.json writes it";
constexpr const char* kHowToCosts =
    "a file of costs lists the times of every stage (penstock.costs/1, "
    "docs/schedules_without_a_model.md); --cost F=10ms,B=20ms needs none";
std::string how_to_jobs() {
  return fmt::format(
      "a list of jobs (penstock.jobs/1) names models, their batches and steps: {}; "
      "docs/multi.md has the other keys",
      kLeastJobsFile);
}
constexpr const char* kHowToRuns =
    "penstock validate plan.json RUN --add-to runs.json writes it; docs/file_formats.md has its "
    "keys";
std::string how_to_job() {
  return fmt::format(
      "a job file (penstock.job/1) names a book, the data and folders: {} writes one to edit",
      kWriteJobFile);
}

std::string_view words_for(std::string_view format) {
  for (const Kind& kind : kKinds) {
    if (kind.format == format) return kind.words;
  }
  return {};
}

// Where a file belongs that was given in the wrong place.
std::string place_of(std::string_view found, std::string_view wanted, const std::string& path) {
  constexpr const char* kBatch = "--gpus 64 --global-batch 512";
  if (found == kDevice) {
    return fmt::format("a datasheet follows its option: --device {}", path);
  }
  if (found == kCluster && wanted == kProfile) {
    return fmt::format(
        "the model comes first, the cluster after its option: penstock plan "
        "PROFILE --cluster {} {}",
        path, kBatch);
  }
  if (found == kBook && wanted == kJob) {
    return fmt::format("a job file names it, \"book\": \"{}\"; {}", path, how_to_job());
  }
  if (found == kBook) {
    return fmt::format(
        "penstock train --book {0} --ranks N trains by one of its plans, penstock morph --book {0} "
        "--trace trace.csv replays it; penstock plan ... --gpus N -o "
        "plan.json writes the plan for one number of GPUs",
        path);
  }
  if (wanted == kBook) return kHowToBook;
  if (wanted == kJob) return how_to_job();
  if (wanted == kSlow) return kHowToSlow;
  if (wanted == kRuns) return kHowToRuns;
  if (wanted == kJobs) return how_to_jobs();
  if (wanted == kCosts) return kHowToCosts;
  if (wanted == kConfig && found == kProfile) {
    return fmt::format(
        "it is measured already: penstock plan {0} --cluster CLUSTER {1} plans with it; penstock "
        "profile MODEL --resume {0} adds sizes to it",
        path, kBatch);
  }
  if (found == kJob) return fmt::format("penstock manage {} runs the job", path);
  if (wanted == kCluster) {
    return "--cluster takes the machines; the model is the argument without an option";
  }
  if (wanted == kPlan && found == kConfig) {
    return fmt::format("make a plan from it: penstock plan {} --device h100-sxm {} -o plan.json",
                       path, kBatch);
  }
  if (wanted == kPlan && found == kProfile) {
    return fmt::format("make a plan from it: penstock plan {} --cluster CLUSTER {} -o plan.json",
                       path, kBatch);
  }
  if (wanted == kPlan && found == kCluster) {
    return fmt::format(
        "penstock check {0} judges a cluster file; a plan for it is made by penstock "
        "plan {1} --cluster {0} --global-batch 512 -o plan.json",
        path, model_at_hand());
  }
  if (wanted == kPlan) return "a plan is what penstock plan ... -o plan.json writes";
  if (is_plan_format(found)) {
    return "penstock explain, report, simulate, check and export read plans; plan and "
           "compare take the profile or the config.json of the model";
  }
  return fmt::format("give a {} file here", wanted);
}

[[noreturn]] void no_such_file(const std::string& path, std::string_view wanted,
                               std::string_view belongs = "") {
  const std::filesystem::path name(path);
  if (path.size() > 2 && path[1] == ':' && path[0] != '-' && path[2] != '/' &&
      std::isalpha(static_cast<unsigned char>(path[0])) != 0) {
    throw Error(
        ErrorKind::kMissingResource,
        fmt::format("{}: cannot read this file: No such file or directory\nhelp: a path of "
                    "Windows is written with / here, and in WSL as /mnt/{}/...; a shell "
                    "takes backslashes away",
                    path, static_cast<char>(std::tolower(static_cast<unsigned char>(path[0])))));
  }
  const bool is_model = wanted.empty() || wanted == kProfile || wanted == kConfig;
  const FileKind kind = is_model ? kind_of_text(path, "") : FileKind{};
  const bool is_launch = kind.words == "a script" || kind.words == "a configuration";
  const bool is_question = is_model && std::count(path.begin(), path.end(), ' ') > 2;
  const bool is_foreign = kind_of_text(path, "").words == "a file of another tool";
  std::string help =
      kind.words == "a file of weights" ? std::string(kind.use) + "; give that file"
      : is_foreign                      ? std::string(kind_of_text(path, "").use) +
                         (is_model ? "; a model is described by its config.json" : "")
      : is_launch   ? std::string(kind.use) + "; a model is described by its config.json"
      : is_question ? "a question is asked with options: penstock plan config.json --device "
                      "h100-sxm --gpus 64 --global-batch 512 --tokens 2T --usd-per-gpu-hour "
                      "2.5 prints the best plan, the days and the price"
                    : "";
  const bool is_remote = path.find("://") != std::string::npos;
  if (help.empty() && !is_remote) {
    help = near_file(path, wanted != kText, is_model,
                     is_model                          ? kProfile
                     : wanted.starts_with("penstock.") ? wanted
                                                       : "");
  }
  const auto slashes = std::count(path.begin(), path.end(), '/');
  const bool is_hub_name = (slashes == 1 || (slashes == 0 && name.extension().empty())) &&
                           name.extension() != ".json" && !path.starts_with('.') &&
                           !path.starts_with('/') && is_model;
  if (help.empty() && is_remote && !is_model) {
    help = "nothing is fetched over the network: download it and give that file";
  }
  if (const ShippedModels shipped =
          help.empty() && is_model ? shipped_models(path) : ShippedModels{};
      !shipped.paths.empty() && (shipped.is_it || !is_remote)) {
    help = fmt::format("{} {} it; {}of other models download the config.json and give that file",
                       shipped.paths, shipped.is_it ? "describes" : "may describe",
                       is_hub_name || is_remote ? "nothing is fetched over the network: " : "");
  }
  if (help.empty() && (is_hub_name || is_remote)) {
    help =
        "models are not fetched over the network: download the model's config.json and give "
        "that file";
  }
  if (const std::string shipped =
          help.empty() && wanted == kCluster ? shipped_cluster(path) : std::string();
      !shipped.empty()) {
    help = fmt::format("write --cluster {}", shipped);
  }
  if (help.empty() && wanted == kCluster) {
    help =
        "a cluster file lists nodes and links (docs/file_formats.md); without --cluster, --device "
        "h100-sxm assumes nodes of 8";
  }
  if (help.empty() && wanted == kPlan) {
    const FileKind given = kind_of_text(path, "");
    help = (given.use.empty() ? "" : std::string(given.use) + "; ") +
           "a plan is what penstock plan ... -o plan.json writes";
  }
  if (help.empty() && wanted == kBook) help = kHowToBook;
  if (help.empty() && wanted == kJob) help = how_to_job();
  if (help.empty() && wanted == kSlow) help = kHowToSlow;
  if (help.empty() && wanted == kRuns) help = kHowToRuns;
  if (help.empty() && wanted == kJobs) help = how_to_jobs();
  if (help.empty() && wanted == kCosts) help = kHowToCosts;
  if (help.empty() && wanted == kText) {
    const std::string others = files_of_kind(path);
    help = fmt::format("{}{}{}", belongs, others.empty() ? "" : "; ", others);
  }
  if (help.empty()) {
    help = "give the path of a config.json, a profile or a plan (penstock --help has examples)";
  }
  throw Error(
      ErrorKind::kMissingResource,
      fmt::format("{}: cannot read this file: No such file or directory\nhelp: {}", path, help));
}

// The file itself, of a folder its config.json.
std::string file_named(const std::string& path, std::string_view wanted) {
  if (path == "-") return path;
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) no_such_file(path, wanted);
  if (!std::filesystem::is_directory(path, error)) return path;
  const std::filesystem::path config = std::filesystem::path(path) / kConfig;
  if (std::filesystem::exists(config, error)) return config.lexically_normal().string();
  if (std::filesystem::exists(path + ".json", error)) {
    throw_bad_input(fmt::format("{0}: this is a folder\nhelp: did you mean '{0}.json'?", path));
  }
  const std::string_view words = words_for(wanted);
  throw_bad_input(
      words.empty() || wanted == kProfile
          ? fmt::format("{}: a folder without a config.json\nhelp: give the file itself", path)
          : fmt::format("{}: this is a folder, and {} belongs here\nhelp: give the file itself",
                        path, words));
}

// Of a download that broke off. A comment may end a file as well.
bool is_cut_off(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (text[last] == '}' || text[last] == ']' || text.substr(0, last + 1).ends_with("*/"))
    return false;
  const std::size_t line = text.rfind('\n', last);
  return text.find("//", line == std::string::npos ? 0 : line) == std::string::npos;
}

// How to come by what belongs here.
std::string what_belongs(std::string_view wanted) {
  if (wanted == kCluster) {
    return "a cluster file is JSON that lists nodes and links (docs/file_formats.md); without "
           "--cluster, --device h100-sxm assumes nodes of 8";
  }
  if (wanted == kPlan) return "a plan belongs here, as penstock plan ... -o plan.json writes it";
  if (wanted == kBook) return kHowToBook;
  if (wanted == kJob) return how_to_job();
  if (wanted == kSlow) return kHowToSlow;
  if (wanted == kRuns) return kHowToRuns;
  if (wanted == kJobs) return how_to_jobs();
  if (wanted == kCosts) return kHowToCosts;
  return "give a model's config.json, or a profile";
}

// A script, a log, a text: said before JSON's parser complains of its first letter.
void require_json(const std::string& path, const std::string& text, std::string_view wanted) {
  const std::size_t begin = text.size() - without_byte_order_mark(text).size();
  const std::size_t first = text.find_first_not_of(" \t\r\n", begin);
  const bool is_own = path.ends_with(".json") || kind_of_text(path, "").words.empty();
  if (first != std::string::npos && !is_own && text[first] == '{' && !is_cut_off(text) &&
      !path.ends_with(".jsonl") && !path.ends_with(".ipynb")) {
    return;  // "plan.out", "cluster.yaml": JSON all the same
  }
  if (first != std::string::npos && is_own &&
      (text[first] == '{' || text[first] == '[' || text[first] == '/')) {
    if (!is_cut_off(text)) return;
    throw_bad_input(path +
                    ": this file breaks off before its end\nhelp: copy or download it again");
  }
  if (wanted == kCluster && text.find("busbw") != std::string::npos) {
    throw_bad_input(fmt::format(
        "{0}: this is what nccl-tests printed, and a cluster belongs here\nhelp: penstock "
        "import nccl-tests {0} --device h100-sxm --gpus 64 -o cluster.json puts it into "
        "one; then give --cluster cluster.json",
        path));
  }
  if (const GpusOfTraining gpus = gpus_of_training(text); wanted == kCluster && gpus.all > 0) {
    throw_bad_input(
        fmt::format("{}: this starts a training, and a cluster belongs here\nhelp: leave --cluster "
                    "out: --device "
                    "NAME --gpus {} --gpus-per-node {} are the nodes that it asks for",
                    path, gpus.all, gpus.of_node > 0 ? gpus.of_node : gpus.all));
  }
  const FileKind kind = kind_of_text(path, text);
  const bool is_empty = first == std::string::npos;
  if (!path.ends_with(".json") && !kind.words.empty()) {
    const bool has_settings = wanted.empty() && kind.words == "YAML";
    const std::string near = wanted.empty() ? "" : near_file(path, true, false, wanted);
    throw_bad_input(
        fmt::format("{}: this is not a JSON file{}\nhelp: {}{}; {}{}", path,
                    is_empty ? ", but an empty one" : ", but " + std::string(kind.words),
                    near.empty() ? "" : near + " ", kind.use, what_belongs(wanted),
                    has_settings ? ", and what the file says with options (--gpus, --global-batch, "
                                   "--pin TP=8,PP=4)"
                                 : ""));
  }
  throw_bad_input(path + (is_empty ? ": this file is empty" : ": this is not a JSON file") +
                  "\nhelp: " + what_belongs(wanted));
}

// What else lies beside a model's weights, or is given to its trainer.
std::string help_for_other(const Json& json, const std::string& path) {
  if (FileKind kind = kind_of_json(path, json); !kind.words.empty()) {
    return kind.use + "; the model is described by its own config.json";
  }
  std::error_code error;
  const std::filesystem::path beside = std::filesystem::path(path).parent_path() / kConfig;
  if (std::filesystem::exists(beside, error)) {
    return fmt::format("did you mean '{}'?", beside.string());
  }
  return "a model's config.json names its model_type, hidden_size and num_hidden_layers; it lies "
         "beside the model's weights";
}

Loaded<Json> load_wanted(const std::string& given, std::string_view wanted) {
  const std::string path = file_named(given, wanted);
  const std::string text = read_file(path);
  require_json(path, text, wanted);
  return {parse_json(text, path), {path, content_hash(text)}};
}

Loaded<Json> load_format(const std::string& path, std::string_view wanted) {
  Loaded<Json> json = load_wanted(path, wanted);
  expect_format(json.value, json.file.path, wanted);
  return json;
}

}  // namespace

Loaded<Json> load_json(const std::string& given) { return load_wanted(given, ""); }

Loaded<Json> load_plan_json(const std::string& given) { return load_format(given, kPlan); }

void require_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw_bad_input(
        fmt::format("{}: this is a folder, and a file is written\nhelp: name a file in it", path));
  }
  if (path == "-" || folder.empty() || std::filesystem::is_directory(folder, error)) return;
  throw Error(ErrorKind::kMissingResource,
              fmt::format("{}: there is no folder {}\nhelp: make it first: mkdir -p {}", path,
                          folder.string(), folder.string()));
}

void require_page_name(const std::string& output) {
  for (const std::string_view end :
       {".pdf", ".png",  ".svg",   ".json", ".csv",  ".md",   ".txt",
        ".doc", ".docx", ".odt",   ".rtf",  ".tex",  ".ppt",  ".pptx",
        ".xls", ".xlsx", ".ipynb", ".jpg",  ".jpeg", ".yaml", ".xml"}) {
    if (!output.ends_with(end)) continue;
    const std::string stem = output.substr(0, output.size() - end.size());
    const bool is_picture = end == ".svg" || end == ".png" || end == ".jpg" || end == ".jpeg";
    bad_option("--output", fmt::format("a report is one HTML page, and {} is not", output),
               is_picture
                   ? fmt::format("a picture of the step is penstock trace plan.json -o {0}.svg "
                                 "(or {0}.png); a page is -o {0}.html",
                                 stem)
                   : fmt::format("write -o {}.html, and print it to a PDF in a browser; --json "
                                 "prints the figures; penstock trace PLAN -o step.svg draws a "
                                 "step",
                                 stem));
  }
  if (output.ends_with('/')) {
    bad_option("--output", fmt::format("{} is a folder, and a report is one HTML page", output),
               fmt::format("write -o {0}report.html (mkdir -p {0} makes the folder)", output));
  }
  require_folder_of(output);
}

Loaded<ModelProfile> load_profile(const std::string& path) {
  const Loaded<Json> json = load_format(path, kProfile);
  return {read_profile(json.value, path), json.file};
}

Loaded<ClusterSpec> load_cluster(const std::string& path) {
  const Loaded<Json> json = load_format(path, kCluster);
  return {read_cluster(json.value, path), json.file};
}

Loaded<PlanFile> load_plan(const std::string& path) {
  const Loaded<Json> json = load_plan_json(path);
  return {read_plan(json.value, path), json.file};
}

Loaded<Json> load_job_file(const std::string& path) { return load_format(path, kJob); }

Loaded<Json> load_slow_ranks(const std::string& path) { return load_format(path, kSlow); }

Loaded<Json> load_costs(const std::string& path) { return load_format(path, kCosts); }

Loaded<Json> load_jobs(const std::string& path) { return load_format(path, kJobs); }

Loaded<Json> load_runs(const std::string& path) { return load_format(path, kRuns); }

std::string load_text(const std::string& path, std::string_view belongs) {
  std::error_code error;
  if (path != "-" && !std::filesystem::exists(path, error) && !error) {
    no_such_file(path, kText, belongs);
  }
  return read_file(path);
}

std::string load_text(const std::string& path) {
  return load_text(path, "give the path of a file");
}

std::string help_for_misplaced(const std::string& path, std::string_view option) {
  const std::string wanted = fmt::format("penstock.{}/1", option.substr(option.rfind('-') + 1));
  std::error_code error;
  if (words_for(wanted).empty() || !std::filesystem::is_regular_file(path, error)) return "";
  const std::string found = own_format_in(read_file(path));
  if (!found.empty()) return found == wanted ? "" : place_of(found, wanted, path);
  const FileKind kind = kind_of_text(path, "");
  return kind.words.empty() ? "" : fmt::format("{}; {}", kind.use, what_belongs(wanted));
}

Loaded<PlanBook> load_plan_book(const std::string& path) {
  const Loaded<Json> json = load_format(path, kBook);
  return {read_plan_book(json.value, path), json.file};
}

std::string format_of(const Json& json) {
  const Json* format = json.find("format");
  return format != nullptr && format->kind() == Json::Kind::kString ? format->text() : "";
}

std::string own_format_in(std::string_view text) {
  constexpr std::string_view kKey = "\"format\"", kBlanks = " \t\r\n";
  for (std::size_t at = text.find(kKey); at != std::string_view::npos;
       at = text.find(kKey, at + 1)) {
    const std::size_t colon = text.find_first_not_of(kBlanks, at + kKey.size());
    if (colon == std::string_view::npos || text[colon] != ':') continue;
    const std::size_t quote = text.find_first_not_of(kBlanks, colon + 1);
    if (quote == std::string_view::npos || !text.substr(quote).starts_with("\"penstock.")) continue;
    const std::size_t end = text.find('"', quote + 1);
    if (end != std::string_view::npos) return std::string(text.substr(quote + 1, end - quote - 1));
  }
  return "";
}

bool is_model_config(const Json& json) {
  if (json.kind() != Json::Kind::kObject || json.find("format") != nullptr) return false;
  return std::any_of(json.members().begin(), json.members().end(), [](const auto& member) {
    for (const std::string_view key :
         {"model_type", "architectures", "hidden_size", "n_embd", "d_model", "vocab_size",
          "text_config", "num_hidden_layers", "n_layer"}) {
      if (member.first == key) return true;
    }
    return false;
  });
}

void expect_profile(const Json& json, const std::string& path) {
  if (json.kind() != Json::Kind::kObject) {
    throw_bad_input(fmt::format("{}: this is not a JSON object {{...}}\nhelp: {}", path,
                                help_for_other(json, path)));
  }
  if (format_of(json).empty()) {
    throw_bad_input(fmt::format("{}: neither a model's config.json nor a profile\nhelp: {}", path,
                                help_for_other(json, path)));
  }
  expect_format(json, path, kProfile);
}

void expect_format(const Json& json, const std::string& path, std::string_view wanted) {
  const std::string found = is_model_config(json) ? std::string(kConfig) : format_of(json);
  const std::string_view words = words_for(found);
  const FileKind kind = found.empty() ? kind_of_json(path, json) : FileKind{};
  if (!kind.words.empty() && !words_for(wanted).empty()) {
    throw_bad_input(fmt::format("{}: this is {}, and {} belongs here\nhelp: {}; {}", path,
                                kind.words, words_for(wanted), kind.use, what_belongs(wanted)));
  }
  if (words.empty() || found == wanted || words == words_for(wanted)) return;
  throw_bad_input(fmt::format("{}: this is {}, and {} belongs here\nhelp: {}", path, words,
                              words_for(wanted), place_of(found, wanted, path)));
}

std::vector<std::string> write_into(const std::string& folder,
                                    const std::vector<NamedText>& files) {
  work_begins();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorKind::kMissingResource,
                folder + ": cannot be made: " + error.message() + "\nhelp: name another folder");
  }
  std::vector<std::string> written;
  for (const NamedText& file : files) {
    written.push_back((std::filesystem::path(folder) / file.name).string());
    write_file(written.back(), file.text);
    if (!file.text.starts_with("#!")) continue;
    std::filesystem::permissions(written.back(), std::filesystem::perms::owner_exec,
                                 std::filesystem::perm_options::add, error);
  }
  return written;
}

}  // namespace penstock
