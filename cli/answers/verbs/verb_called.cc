// Compound words ("export-plan", "estimate-memory") are looked up part by part, since people join a
// verb and a noun, and a lone "get" or "list" by the word behind it. British spellings are read as
// American ones.
#include "cli/answers/verbs/verb_called.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/answers/verbs/files_of_verb.h"
#include "cli/answers/verbs/plan_compared.h"
#include "cli/answers/verbs/plan_made.h"
#include "cli/answers/verbs/told_verb.h"
#include "cli/answers/verbs/train_asked.h"
#include "cli/answers/verbs/trainer_asked.h"
#include "cli/answers/verbs/verb_ideas.h"
#include "cli/io/shell_word.h"
#include "cli/words/device_facts.h"
#include "cli/words/environment_words.h"
#include "cli/words/field_words.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "cli/words/trainer_called.h"
#include "core/values/units.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

template <std::size_t n>
bool has(const std::array<std::string_view, n>& words, std::string_view word) {
  return !word.empty() && std::find(words.begin(), words.end(), word) != words.end();
}

bool is_verb(const std::vector<std::string>& known, const std::string& word) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

// "optimise", "visualise", "analyse".
std::string american(std::string word) {
  for (const std::string_view ending : {"ise", "iser", "yse"}) {
    if (word.size() > ending.size() + 2 && word.ends_with(ending)) {
      word[word.size() - ending.size() + 1] = 'z';
    }
  }
  return word;
}

// "strategies", "planner" and "exporting" say the same as their stems.
std::vector<std::string> stems_of(const std::string& word) {
  std::vector<std::string> stems{word};
  struct Ending {
    std::string_view cut, put;
  };
  constexpr std::array<Ending, 8> kEndings{
      Ending{"ies", "y"}, Ending{"s", ""},   Ending{"ing", ""},    Ending{"ing", "e"},
      Ending{"er", ""},   Ending{"er", "e"}, Ending{"ation", "e"}, Ending{"ization", "ize"}};
  for (const Ending& ending : kEndings) {
    if (word.size() < ending.cut.size() + 3 || !word.ends_with(ending.cut)) continue;
    stems.push_back(word.substr(0, word.size() - ending.cut.size()) + std::string(ending.put));
  }
  return stems;
}

// What stands behind the verb.
struct Typed {
  std::string verb;
  Arguments words;
  TypedFiles files;
};

std::string first_or(const Arguments& words, const char* usual) {
  return words.empty() ? usual : words[0];
}

// "32" of "--replicas=32", "--nodes 32" and "32"; at most as many digits as GPUs have.
std::string number_typed(const Arguments& words) {
  constexpr std::size_t kMostDigits = 6;
  for (const std::string& word : words) {
    std::string value = word.substr(word.find('=') + 1);
    const bool is_number = !value.empty() && value.size() <= kMostDigits &&
                           value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) return value;
  }
  return "64";
}

// Of "replan plan.json --nodes 3" the GPUs of so many nodes of the plan's device.
std::string gpus_typed(const Typed& typed) {
  const Arguments& plans = typed.files.plans;
  for (const GivenOption& option : given_words({}, typed.words).options) {
    const int left = plans.empty() ? 0 : gpus_left(option, plan_made(plans[0]));
    if (left > 0) return std::to_string(left);
  }
  std::string number = number_typed(typed.words);
  const auto nodes = value_of(typed.words, {"--nodes", "--num-nodes", "--nnodes", "--n-nodes"});
  if (!nodes || *nodes != number) return number;
  const std::string device = plans.empty() ? "" : plan_made(plans[0]).device;
  const int of_node = device_facts(device).per_node;
  return std::to_string(std::stoi(number) * of_node);
}

// Pictures and pages that are not written, as one that is: "step.pdf" as "step.svg".
void draw_as_svg(Arguments& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool is_named = words[i - 1] == "-o" || words[i - 1] == "--output";
    const std::size_t dot = words[i].rfind('.');
    if (!is_named || dot == std::string::npos) continue;
    for (const std::string_view end :
         {".pdf", ".jpg", ".jpeg", ".gif", ".eps", ".webp", ".bmp", ".html", ".tiff"}) {
      if (std::string_view(words[i]).substr(dot) == end)
        words[i] = words[i].substr(0, dot) + ".svg";
    }
  }
}

// "3.12s" of "--step-time 3.12s"; else empty.
std::string time_in(const Arguments& words) {
  for (const std::string& word : words) {
    std::string value = word.substr(word.find('=') + 1);
    if (value.ends_with('s') && parse_duration(value)) return value;
  }
  return "";
}

std::string time_typed(const Arguments& words) {
  std::string time = time_in(words);
  return time.empty() ? "3.1s" : time;
}

// "planning" as the whole command of `plan`, with the files and the options that were typed.
std::string command_in(std::string_view place, const Typed& typed) {
  struct Row {
    std::string_view place, verb;
    bool takes_plan;
  };
  constexpr std::array<Row, 8> kRows{
      Row{"planning", "plan", false},      Row{"predicting", "predict", false},
      Row{"simulating", "simulate", true}, Row{"explaining", "explain", true},
      Row{"reporting", "report", true},    Row{"checking", "check", true},
      Row{"training", "train", true},      Row{"validating", "validate", true}};
  for (const Row& row : kRows) {
    if (row.place != place) continue;
    Arguments words{row.takes_plan ? first_or(typed.files.plans, "plan.json")
                                   : first_or(typed.files.models, "config.json")};
    if (row.verb == "validate") words.push_back(first_or(typed.files.logs, "train.log"));
    return whole_command(row.verb, with_taken(row.verb, std::move(words), typed.words));
  }
  return "";
}

// With the step time that was typed, under whatever name.
std::string command_of_measured(const Typed& typed) {
  Arguments words =
      with_taken("predict", {first_or(typed.files.models, "config.json")}, typed.words);
  const std::string time = time_in(typed.words);
  const bool is_said = value_of(words, {"--measured"}).has_value();
  if (!time.empty() && !is_said) words.insert(words.end(), {"--measured", time});
  return whole_command("predict", words);
}

// One GPU, whatever number was typed: others are not planned so.
std::string command_of_spilling(const Typed& typed) {
  Arguments words{first_or(typed.files.models, "config.json")};
  Arguments taken = options_taken("plan", words[0], typed.words);
  for (const std::string_view option : {"--gpus", "--nodes"}) {
    const auto at = std::find(taken.begin(), taken.end(), option);
    if (at != taken.end()) taken.erase(at, std::min(at + 2, taken.end()));
  }
  std::erase_if(taken, [](const std::string& word) {
    return word == "--spill" || word.starts_with("--gpus=") || word.starts_with("--nodes=");
  });
  words.insert(words.end(), taken.begin(), taken.end());
  words.insert(words.end(), {"--gpus", "1", "--spill"});
  return whole_command("plan", words);
}

// The trainer that was typed, or that the plan is for, which a plan is exported to; else an
// example.
std::string trainer_typed(const Typed& typed) {
  const std::string trainer = trainer_asked(typed.words);
  return trainer.empty() ? "megatron" : trainer;
}

// "megatron plan.json".
std::string trainer_called_as_verb(const Typed& typed) {
  const std::string trainer = trainer_called(typed.verb);
  return find_trainer(trainer) == nullptr ? "deepspeed" : trainer;
}

// From as few GPUs as were typed, else those of one node.
std::string command_of_counts(const Typed& typed) {
  Arguments words = with_taken("plan", {first_or(typed.files.models, "config.json")}, typed.words);
  const auto at = std::find(words.begin(), words.end(), "--gpus");
  if (words.end() - at > 1) words.erase(at, at + 2);
  words.insert(words.end(), {"--gpus", "8..64"});
  return whole_command("plan", words);
}

// The plan that is exported afterwards is one that its trainer can run.
std::string command_for_trainer(const Typed& typed) {
  Arguments words = with_taken("plan", {first_or(typed.files.models, "config.json")}, typed.words);
  if (std::find(words.begin(), words.end(), "--for") == words.end()) {
    words.insert(words.end(), {"--for", trainer_typed(typed)});
  }
  return whole_command("plan", words);
}

// "penstock devices h100-sxm" of "device show h100-sxm"; of no GPU the list.
std::string command_of_devices(const Typed& typed) {
  const auto gpu = std::find_if(typed.words.begin(), typed.words.end(), is_like_gpu);
  return gpu == typed.words.end() ? "penstock devices" : whole_command("devices", {*gpu});
}

std::string put_for(std::string_view place, const Typed& typed) {
  if (place == "devices") return command_of_devices(typed);
  if (place == "counting") return command_of_counts(typed);
  if (place == "plan") return first_or(typed.files.plans, "plan.json");
  if (place == "model") return first_or(typed.files.models, "config.json");
  if (place == "script") return first_or(typed.files.scripts, "train.sh");
  if (place == "job") return first_or(typed.files.jobs, "job.json");
  if (place == "time") return time_typed(typed.words);
  if (place == "trainer") return trainer_called_as_verb(typed);
  if (place == "exporting to the trainer") {
    return command_of_export(first_or(typed.files.plans, "plan.json"),
                             trainer_called_as_verb(typed), typed.words);
  }
  if (place == "exporting") {
    return command_of_export(first_or(typed.files.plans, "plan.json"), trainer_typed(typed),
                             typed.words);
  }
  if (place == "drawing") {
    Arguments words = with_taken("trace", {first_or(typed.files.plans, "plan.json")}, typed.words);
    std::replace(words.begin(), words.end(), std::string("--svg"), std::string("-o"));
    draw_as_svg(words);
    const Arguments read = read_by_verb("trace", words).value_or(words);
    const bool is_named = value_of(read, {"-o", "--output"}).has_value();
    return whole_command("trace", words) + (is_named ? "" : " -o step.svg");
  }
  if (place == "measuring") return command_of_measured(typed);
  if (place == "page") {
    std::string page = plain_word(typed.verb);
    std::replace(page.begin(), page.end(), '-', '_');
    return page;
  }
  if (place == "planning in cluster") {
    Arguments words{first_or(typed.files.models, model_at_hand().c_str()), "--cluster",
                    first_or(typed.files.clusters, "cluster.json")};
    return whole_command("plan", words);
  }
  if (place == "planning for a trainer") return command_for_trainer(typed);
  if (place == "its trainer") return trainer_typed(typed);
  if (place == "spilling") return command_of_spilling(typed);
  if (place == "planning for gpus") {
    const std::string gpus = gpus_typed(typed);
    const Arguments& plans = typed.files.plans;
    std::string command =
        plans.empty() ? "" : command_for_its_model("plan", {plans[0], "--gpus", gpus});
    if (!command.empty()) return command;
    return whole_command("plan", {first_or(typed.files.models, "config.json"), "--gpus", gpus});
  }
  if (place == "reporting both") {
    Arguments plans = plans_or_json(typed.words);
    if (plans.size() < 2) plans.emplace_back("other.json");
    return whole_command("report", plans);
  }
  return command_in(place, typed);
}

// An example gives way to what was typed for the same.
std::string without_typed_examples(std::string text, const Arguments& words) {
  struct Row {
    std::string_view option, example;
  };
  constexpr std::array<Row, 3> kRows{Row{"--tokens", " --tokens 2T"},
                                     Row{"--usd-per-gpu-hour", " --usd-per-gpu-hour 2.5"},
                                     Row{"--price", " --usd-per-gpu-hour 2.5"}};
  for (const Row& row : kRows) {
    const bool is_typed = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.substr(0, word.find('=')) == row.option;
    });
    const std::size_t at = is_typed ? text.find(row.example) : text.npos;
    if (at != text.npos) text.erase(at, row.example.size());
  }
  return text;
}

// The sentence with what was typed in the places of {plan}, {planning} ...
std::string filled_in(std::string_view sentence, const Typed& typed) {
  std::string out;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t begin = std::min(sentence.find('{', at), sentence.size());
    out += sentence.substr(at, begin - at);
    if (begin == sentence.size()) break;
    const std::size_t end = sentence.find('}', begin);
    out += put_for(sentence.substr(begin + 1, end - begin - 1), typed);
    at = end + 1;
  }
  return without_typed_examples(std::move(out), typed.words);
}

std::string said_of(const Idea& idea, const Typed& typed) {
  const TypedFiles& files = typed.files;
  const std::string_view sentence = !files.plans.empty() && !idea.of_plan.empty() ? idea.of_plan
                                    : !files.models.empty() && !idea.of_model.empty()
                                        ? idea.of_model
                                    : !files.jobs.empty() && !idea.of_job.empty() ? idea.of_job
                                                                                  : idea.help;
  return filled_in(sentence, typed);
}

template <std::size_t n>
const Idea* idea_of(const std::array<Idea, n>& ideas, const std::string& word) {
  for (const std::string& stem : stems_of(american(word))) {
    for (const Idea& idea : ideas) {
      if (has(idea.typed, stem)) return &idea;
    }
  }
  return nullptr;
}

// "plot plan.json --memory -o mem.png", "plot memory plan.json": what is to be drawn.
std::string help_for_drawn_memory(const std::string& word, const Typed& typed) {
  constexpr std::array<std::string_view, 12> kDrawing{"plot",  "draw",  "figure",    "picture",
                                                      "chart", "graph", "timeline",  "render",
                                                      "image", "show",  "visualize", "view"};
  const bool is_about_memory =
      std::any_of(typed.words.begin(), typed.words.end(), [](const std::string& each) {
        const std::string word =
            plain_word(each.substr(std::min(each.find_first_not_of('-'), each.size())));
        return word == "memory" || word == "mem" || word.starts_with("memory-");
      });
  if (!has(kDrawing, word) || !is_about_memory || typed.files.plans.empty()) return "";
  return filled_in(
      "penstock report {plan} -o report.html draws memory over time, on a page; penstock simulate "
      "{plan} --memory-csv memory.csv writes it as a table",
      typed);
}

// "launch --cloud skypilot --num-nodes 8": whose job is started.
std::string help_for_started_by(const std::string& word, const Typed& typed) {
  constexpr std::array<std::string_view, 8> kStarters{"slurm", "sbatch",    "skypilot",   "sky",
                                                      "k8s",   "sky-pilot", "kubernetes", "srun"};
  const bool starts = has(kSentences.front().typed, word);
  const bool is_named =
      std::any_of(typed.words.begin(), typed.words.end(), [&](const std::string& each) {
        const std::string plain =
            plain_word(each.substr(std::min(each.find_first_not_of('-'), each.size())));
        return has(kStarters, plain) || has(kStarters, plain.substr(plain.find('=') + 1));
      });
  return starts && is_named ? said_of(*idea_of(kSentences, "slurm"), typed) : "";
}

std::string help_for_word(const std::string& word, const Typed& typed) {
  if (std::string help = help_for_drawn_memory(word, typed); !help.empty()) return help;
  if (std::string help = help_for_started_by(word, typed); !help.empty()) return help;
  for (const NameOfVerb& other : kOtherNames) {
    if (has(other.typed, word)) return fmt::format("did you mean '{}'?", other.verb);
  }
  for (const Idea& idea : kSentences) {
    // A script is judged, whatever was to be done with it.
    const bool is_script = typed.files.plans.empty() && !typed.files.scripts.empty();
    if (!has(idea.typed, word)) continue;
    const bool starts = &idea - kSentences.data() < kIdeasOfStart;
    return starts && is_script ? help_for_started_script(typed.words) : said_of(idea, typed);
  }
  for (const Idea& idea : kQuantities) {
    if (has(idea.typed, word)) return said_of(idea, typed);
  }
  for (const Idea& idea : kThings) {
    if (has(idea.typed, word)) return said_of(idea, typed);
  }
  return "";
}

std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find('-', begin), word.size());
    if (end > begin) parts.push_back(american(word.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// "show-gpus", "estimate-memory", "gpu-memory": the last noun is what is asked about.
std::string help_for_noun(const std::vector<std::string>& parts, const Typed& typed) {
  const Idea* noun = nullptr;
  for (const std::string& part : parts) {
    if (const Idea* quantity = idea_of(kQuantities, part)) return said_of(*quantity, typed);
  }
  for (const std::string& part : parts) {
    const Idea* thing = idea_of(kThings, part);
    if (thing == nullptr && !has(kVague, part)) return "";
    noun = thing != nullptr ? thing : noun;
  }
  return noun == nullptr ? "" : said_of(*noun, typed);
}

// "get clusters", "show plan.json", "list".
std::string help_for_vague(const Typed& typed) {
  std::vector<std::string> nouns;
  for (const std::string& word : typed.words) {
    std::error_code error;
    const bool is_word = !word.starts_with('-') && role_of(word) == FileRole::kNone;
    if (!is_word || std::filesystem::exists(word, error)) break;
    nouns.push_back(plain_word(word));
  }
  if (!nouns.empty() && is_like_gpu(nouns.front())) {
    return "write " + command_of_devices(typed) + ", which shows what is assumed of that GPU";
  }
  if (std::string help = nouns.empty() ? "" : help_for_noun(nouns, typed); !help.empty()) {
    return help;
  }
  if (!typed.files.plans.empty()) {
    return filled_in("did you mean 'explain'? write {explaining}; {reporting} shows it", typed);
  }
  if (std::string help = help_for_files("explain", typed.words); !help.empty()) return help;
  if (!typed.files.clusters.empty()) return help_for_noun({"cluster"}, typed);
  return "penstock --help lists the verbs, penstock devices the GPUs and "
         "penstock schedule --help the schedules; of a plan penstock explain plan.json says what "
         "limits it";
}

std::string help_for_part(const std::vector<std::string>& parts,
                          const std::vector<std::string>& known, const Typed& typed) {
  for (const std::string& part : parts) {  // "plan-export plan.json": the one that takes the file
    const bool takes_files = !typed.words.empty() && help_for_files(part, typed.words).empty();
    if (is_verb(known, part) && takes_files) return fmt::format("did you mean '{}'?", part);
  }
  for (const std::string& part : parts) {
    if (is_verb(known, part)) return fmt::format("did you mean '{}'?", part);
    if (std::string help = help_for_word(part, typed); !help.empty()) return help;
  }
  return "";
}

// "measure links", "bench network": the noun says what is measured.
std::string help_for_links(const std::string& verb, const Typed& typed) {
  constexpr std::array<std::string_view, 6> kMeasure{"measure", "bench", "benchmark",
                                                     "test",    "probe", "run"};
  if (!has(kMeasure, verb) || typed.words.empty()) return "";
  const std::vector<std::string> parts = parts_of(plain_word(typed.words[0]));
  const bool is_about_them = std::any_of(parts.begin(), parts.end(),
                                         [](const auto& part) { return has(kLinks.typed, part); });
  return is_about_them ? said_of(kLinks, typed) : "";
}

// "--list-devices" in the place of the verb.
std::string help_for_option_as_noun(const Typed& typed) {
  const std::size_t begin = typed.verb.find_first_not_of('-');
  if (begin == 0 || begin == std::string::npos) return "";
  const std::vector<std::string> parts = parts_of(plain_word(typed.verb.substr(begin)));
  const bool are_nouns =
      parts.size() > 1 &&
      std::any_of(parts.begin(), parts.end(), [](auto& part) { return has(kVague, part); });
  return are_nouns ? help_for_noun(parts, typed) : "";
}

// "llama-3-8b --gpus 8", "h100 config.json": of a model and a GPU a plan is asked for.
std::string help_for_question(const Typed& typed) {
  Arguments words = typed.words;
  const ShippedModels shipped = shipped_models(typed.verb);
  std::string others;
  if (shipped.is_it) {
    words.insert(words.begin(), shipped.paths);
  } else if (!shipped.paths.empty()) {
    constexpr std::string_view kOr = " or ";
    const std::size_t end = std::min(shipped.paths.find(kOr), shipped.paths.size());
    words.insert(words.begin(), shipped.paths.substr(0, end));
    if (end < shipped.paths.size()) others = " (data/models has others that are called so)";
  } else if (is_like_gpu(typed.verb)) {
    const bool has_file = !words.empty() && role_of(words[0]) != FileRole::kNone;
    if (!has_file) words.insert(words.begin(), "config.json");
    words.insert(words.begin() + 1, {"--device", typed.verb});
  } else {
    return "";
  }
  return verb_takes("plan", words) ? "a verb comes first: " + whole_command("plan", words) + others
                                   : "";
}

// "how fast is 70b on 128 h100": the model that a question names, with the GPUs that it counts.
std::string help_for_asked_model(const Typed& typed) {
  std::string model;
  Arguments gpus;
  for (std::size_t i = 0; i < typed.words.size(); ++i) {
    const std::string& word = typed.words[i];
    if (word.starts_with('-')) return "";
    const ShippedModels shipped = shipped_models(word);
    if (!shipped.paths.empty()) model = shipped.paths.substr(0, shipped.paths.find(" or "));
    const std::size_t times = word.find('x');  // "8xH100"
    const bool counts_itself = times != word.npos && is_like_gpu(word.substr(times + 1));
    if (!is_like_gpu(word) && !counts_itself) continue;
    const bool is_counted =
        i > 0 && typed.words[i - 1].find_first_not_of("0123456789") == std::string::npos;
    if (is_counted) gpus.push_back(typed.words[i - 1]);
    gpus.push_back(word);
  }
  if (model.empty()) return "";
  gpus.insert(gpus.begin(), model);
  const std::string placed = gpus.size() > 1 ? placed_command("plan", gpus) : "";
  constexpr std::string_view kWrite = "write ";
  return "a plan answers it: " + (placed.starts_with(kWrite) ? placed.substr(kWrite.size())
                                                             : whole_command("plan", {model}));
}

// "get plans -o json": -o of other tools chooses a form, and names no file.
Arguments without_form(Arguments words) {
  constexpr std::array<std::string_view, 6> kForms{"json", "yaml", "wide", "name", "table", "text"};
  std::erase_if(words, [&](const std::string& word) {
    return word.starts_with("-o") && has(kForms, std::string_view(word).substr(2));
  });
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "-o" || word == "--output";
  });
  const bool is_form = words.end() - option > 1 && has(kForms, *(option + 1));
  if (is_form) words.erase(option, option + 2);
  return words;
}

// "-d h100 -n 64 -b 512": letters that no verb has, each with a value of its kind.
Arguments without_letters(Arguments words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& value = words[i + 1];
    const bool is_number = value.find_first_not_of("0123456789") == std::string::npos;
    if (words[i] == "-d" && is_like_gpu(value)) words[i] = "--device";
    if ((words[i] == "-n" || words[i] == "-g") && is_number) words[i] = "--gpus";
    if (words[i] == "-b" && is_number) words[i] = "--batch-size";
    if (words[i] == "-s" && is_number) words[i] = "--sequence-length";
  }
  return words;
}

// "--install-completion zsh" of Python's tools.
std::string completions_of(const Arguments& rest) {
  constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};
  const auto shell = std::find_if(rest.begin(), rest.end(),
                                  [&](const std::string& word) { return has(kShells, word); });
  return command_of("completions", Arguments{shell == rest.end() ? "bash" : *shell});
}

// A slip in every third letter at most: others are other words.
std::string help_for_slip(const std::string& word, const std::vector<std::string>& known) {
  std::vector<std::string> words = known;
  words.insert(words.end(), {"help", "version"});
  constexpr std::size_t kLettersOfSlip = 3, kLongest = 20;
  std::erase_if(words, [&word](const std::string& each) {
    const bool begins_so = word.size() > 2 && each.starts_with(word);
    return word.size() > kLongest ||
           (!begins_so && slips_between(word, each) * kLettersOfSlip > word.size() + 1);
  });
  const std::string near = words.empty() ? "" : did_you_mean(word, words);
  return near.starts_with("did you mean") ? near : "";
}

}  // namespace

std::string help_for_verb(const Arguments& arguments, const std::vector<std::string>& known) {
  const std::string& first = arguments[0];
  if (is_environment_setting(first)) {
    return "a setting of the environment stands before the command: " + first + " penstock VERB";
  }
  const Arguments rest(arguments.begin() + 1, arguments.end());
  const Typed typed{first, without_letters(without_form(rest)), typed_files(rest)};
  if (first.starts_with('-') || first.find('.') != std::string::npos ||
      first.find('/') != std::string::npos) {
    if (first.find("completion") != std::string::npos) return "write " + completions_of(rest);
    if (std::string help = help_for_option_as_noun(typed); !help.empty()) return help;
    if (std::string help = help_for_question(typed); !help.empty()) return help;
    return "a verb comes first: penstock plan config.json --device h100-sxm --gpus 64 "
           "--global-batch 512";
  }
  const std::string plain = plain_word(first), word = american(plain);
  if (word == "penstock") return "leave the second 'penstock' out";
  if (has(kVague, word)) return help_for_vague(typed);
  if (std::string help = help_for_links(word, typed); !help.empty()) return help;
  const bool is_question = has(kAsking.typed, word);
  if (std::string help = is_question ? help_for_asked_model(typed) : ""; !help.empty()) return help;
  if (std::string help = help_for_value_as_verb(first, rest); !help.empty()) return help;
  const std::string told = idea_of(kSentences, word) == nullptr ? verb_of_options(rest) : "";
  if (!told.empty()) return fmt::format("did you mean '{}'?", told);
  for (const std::string& stem : stems_of(word)) {  // "plans config.json"
    if (!rest.empty() && is_verb(known, stem)) return fmt::format("did you mean '{}'?", stem);
  }
  if (std::string help = help_for_word(plain, typed); !help.empty()) return help;  // "supervise"
  for (const std::string& stem : stems_of(word)) {
    if (is_verb(known, stem)) return fmt::format("did you mean '{}'?", stem);
    if (std::string help = help_for_word(stem, typed); !help.empty()) return help;
  }
  if (std::string help = help_for_slip(word, known); !help.empty()) return help;
  const std::vector<std::string> parts = parts_of(plain);
  if (std::string help = help_for_noun(parts, typed); !help.empty()) return help;
  if (std::string help = help_for_part(parts, known, typed); !help.empty()) return help;
  if (std::string help = help_for_question(typed); !help.empty()) return help;
  constexpr std::string_view kRest = "penstock --help lists all verbs";
  if (!typed.files.plans.empty()) {
    return filled_in("{explaining} says what limits that plan; ", typed) + std::string(kRest);
  }
  if (!typed.files.models.empty()) {
    return filled_in("{planning} plans that model; ", typed) + std::string(kRest);
  }
  return "plan finds the best layout of a model on GPUs, predict says how fast one layout is, "
         "explain what limits a plan, check judges launch scripts, schedule compares pipeline "
         "schedules, export writes a trainer's job: " +
         whole_command("plan", {}) + "; " + std::string(kRest);
}

std::string verb_meant(const std::string& typed, const std::vector<std::string>& known) {
  for (const std::string& stem : stems_of(american(typed))) {
    if (std::find(known.begin(), known.end(), stem) != known.end()) return stem;
    for (const NameOfVerb& other : kOtherNames) {
      if (has(other.typed, stem)) return std::string(other.verb);
    }
  }
  return "";
}

}  // namespace penstock
