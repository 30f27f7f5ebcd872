// One row per idea. A row says a verb or a sentence; compound words ("export-plan") are looked up
// part by part, since people join a verb and a noun. British spellings are read as American ones.
#include "cli/verbs/verb_called.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/environment_words.h"
#include "cli/options/field_words.h"
#include "cli/options/parse.h"

namespace penstock {
namespace {

// What other tools call what verbs here do; several verbs stand as "trace' or 'report".
struct OtherName {
  std::array<std::string_view, 24> typed;
  std::string_view verb;
};
constexpr std::array kOtherNames{
    OtherName{{"search",      "optimize",  "optimizer", "autotune", "tune",    "find",
               "optimal",     "recommend", "suggest",   "solve",    "best",    "auto",
               "layout",      "strategy",  "generate",  "create",   "make",    "partition",
               "parallelize", "split",     "shard",     "place",    "planning"},
              "plan"},
    OtherName{{"memory", "mem", "vram", "oom", "fit", "fits", "evaluate", "eval", "throughput",
               "mfu", "performance", "perf"},
              "predict"},
    OtherName{{"run", "launch", "start", "execute", "submit"}, "train' or 'manage"},
    OtherName{{"supervise", "elastic", "resume", "restart"}, "manage"},
    OtherName{{"watch", "monitor", "ps", "jobs", "top"}, "status"},
    OtherName{{"diff", "sweep", "grid", "scan", "vary", "ablate", "whatif", "what-if", "scaling",
               "sensitivity", "versus", "vs"},
              "compare"},
    OtherName{{"lint", "verify", "test", "doctor", "inspect"}, "check"},
    OtherName{{"show", "view", "visualize", "open", "display", "html", "page", "dashboard", "web",
               "gui", "ui", "serve", "viewer"},
              "report"},
    OtherName{{"plot", "draw", "figure", "picture", "svg", "png", "gantt", "timeline", "image",
               "render", "perfetto", "chart"},
              "trace' (-o step.svg, a step) or 'report"},
    OtherName{{"why", "analyze", "analysis", "describe", "info", "summary", "summarize", "print",
               "bottleneck", "diagnose", "advise", "cat", "dump"},
              "explain"},
    OtherName{{"convert", "save", "emit", "translate", "to-megatron", "slurm", "sbatch"}, "export"},
    OtherName{{"replay", "sim", "simulator", "simulation", "emulate"}, "simulate"},
    OtherName{{"measure", "benchmark", "bench", "profiler", "time"}, "profile"},
    OtherName{{"bubble", "scheduler", "pipeline", "pipelining"}, "schedule"},
    OtherName{{"calibration", "correct", "regress"}, "calibrate"},
    OtherName{{"morphing", "availability", "spot", "goodput"}, "morph"},
    OtherName{{"hparam", "multi-model", "pack", "share"}, "multi"},
    OtherName{{"varlen", "lengths", "batching"}, "dynamic"},
};

struct Sentence {
  std::array<std::string_view, 12> typed;
  std::string_view help;
};
constexpr std::array kSentences{
    Sentence{{"models", "model", "configs", "download", "pull", "fetch"},
             "any config.json of Hugging Face's is a model: penstock plan config.json --device "
             "h100-sxm --gpus 64 --global-batch 512 (data/models has some)"},
    Sentence{{"cluster", "clusters", "nodes", "machines", "topology", "hosts"},
             "--cluster FILE takes nodes and links (data/clusters has some, docs/file_formats.md "
             "the keys); without it --device h100-sxm assumes nodes of 8"},
    Sentence{{"cost", "price", "pricing", "days", "duration", "spend", "usd"},
             "penstock plan ... --tokens 2T --usd-per-gpu-hour 2.5 adds the days and the price of "
             "the training"},
    Sentence{{"config", "init", "setup", "new", "wizard", "begin", "quickstart", "tutorial",
              "examples", "example", "demo"},
             "nothing is set up first: penstock plan config.json --device h100-sxm --gpus 64 "
             "--global-batch 512; penstock alone shows seven ways to begin"},
    Sentence{{"schedules", "list-schedules"},
             "penstock schedule --help names them; penstock schedule 1f1b,zb-h1 -P 4 -M 8 --cost "
             "F=10ms,I=10ms,W=10ms compares two"},
    Sentence{{"docs", "manual", "options", "usage", "commands", "verbs"},
             "penstock --help lists the verbs, penstock VERB --help explains one, penstock man "
             "prints all"},
    Sentence{{"join", "leave", "preempt", "checkpoint", "stop", "drain", "add", "remove", "kill",
              "scale"},
             "the manager of a job is told so: penstock tell JOB COMMAND, with the commands join, "
             "leave, preempt, checkpoint, morph and stop"},
    Sentence{{"cancel", "pause"},
             "the manager of a job is told so: penstock tell JOB stop writes a checkpoint and ends "
             "it; penstock manage JOB goes on"},
    Sentence{{"log", "logs", "parse-log"},
             "penstock validate plan.json train.log compares the log of a run with its plan"},
    Sentence{{"python", "python3", "accelerate", "srun", "mpirun", "bash", "ray", "docker", "pip",
              "sudo", "torchrun"},
             "penstock starts no script: penstock check train.sh judges one, penstock export "
             "plan.json --to megatron -o job writes one, penstock train plan.json --data FILE "
             "trains here"},
    Sentence{{"deepspeed", "megatron", "torchtitan", "nemo", "pretrain", "lightning", "colossalai",
              "fsdp", "pytorch", "torchtune"},
             "the trainer is named to a verb: penstock plan config.json ... --for deepspeed, "
             "penstock export plan.json --to deepspeed -o job; penstock check train.sh judges a "
             "launch file"},
    Sentence{{"apply", "deploy", "use", "operate", "follow"},
             "a plan is written for a trainer by penstock export plan.json --to megatron -o job; a "
             "book of plans is used by penstock train --book book.json --ranks N, penstock morph "
             "--book book.json --trace trace.csv and penstock manage job.json"},
    Sentence{{"how", "what", "which", "can", "is", "i", "will", "does", "do", "please", "should"},
             "a question is asked with options: penstock plan config.json --device h100-sxm --gpus "
             "64 --global-batch 512 --tokens 2T --usd-per-gpu-hour 2.5 prints the best plan, the "
             "days and the price"},
    Sentence{{"me", "us", "man-page"}, "penstock --help lists the verbs"},
    Sentence{{"inference", "serving", "generate-text", "finetune", "lora"},
             "training steps of all parameters are planned: forward, backward and update of one "
             "model"},
};

template <std::size_t n>
bool has(const std::array<std::string_view, n>& words, std::string_view word) {
  return !word.empty() && std::find(words.begin(), words.end(), word) != words.end();
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

constexpr const char* kDevices =
    "--device takes the name of a GPU, such as h100-sxm, a100-80gb, b200, mi300x or rtx-4090; "
    "penstock plan config.json --device list names all, and penstock schedule --help the schedules";

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

std::string help_for_word(const std::string& word) {
  constexpr std::array<std::string_view, 9> kThings{
      "get", "device", "devices", "gpu", "gpus", "hardware", "accelerators", "ls", "list"};
  if (has(kThings, word)) return kDevices;
  for (const OtherName& other : kOtherNames) {
    if (has(other.typed, word)) return fmt::format("did you mean '{}'?", other.verb);
  }
  for (const Sentence& row : kSentences) {
    if (has(row.typed, word)) return std::string(row.help);
  }
  return "";
}

// "export-plan", "plan_model", "list-devices".
std::string help_for_part(const std::string& word, const std::vector<std::string>& known) {
  for (std::size_t begin = 0; begin <= word.size();) {
    const std::size_t end = std::min(word.find('-', begin), word.size());
    const std::string part = american(word.substr(begin, end - begin));
    if (std::find(known.begin(), known.end(), part) != known.end()) {
      return fmt::format("did you mean '{}'?", part);
    }
    if (std::string help = help_for_word(part); !help.empty()) return help;
    begin = end + 1;
  }
  return "";
}

}  // namespace

std::string help_for_verb(const std::string& typed, const std::vector<std::string>& known) {
  if (is_environment_setting(typed)) {
    return "a setting of the environment stands before the command: " + typed + " penstock VERB";
  }
  if (typed.starts_with('-') || typed.find('.') != std::string::npos ||
      typed.find('/') != std::string::npos) {
    return "a verb comes first: penstock plan config.json --device h100-sxm --gpus 64 "
           "--global-batch 512";
  }
  const std::string plain = plain_word(typed), word = american(plain);
  if (word == "penstock") return "leave the second 'penstock' out";
  if (std::string help = help_for_word(plain); !help.empty()) return help;  // "supervise"
  for (const std::string& stem : stems_of(word)) {
    if (std::find(known.begin(), known.end(), stem) != known.end()) {
      return fmt::format("did you mean '{}'?", stem);
    }
    if (std::string help = help_for_word(stem); !help.empty()) return help;
  }
  std::vector<std::string> words = known;
  words.insert(words.end(), {"help", "version"});
  std::string near = did_you_mean(word, words);
  if (near.starts_with("did you mean")) return near;
  if (std::string help = help_for_part(word, known); !help.empty()) return help;
  return near + "; penstock alone shows seven ways to begin";
}

std::string verb_meant(const std::string& typed, const std::vector<std::string>& known) {
  for (const std::string& stem : stems_of(american(typed))) {
    if (std::find(known.begin(), known.end(), stem) != known.end()) return stem;
    for (const OtherName& other : kOtherNames) {
      const bool is_one = other.verb.find('\'') == std::string_view::npos;
      if (is_one && has(other.typed, stem)) return std::string(other.verb);
    }
  }
  return "";
}

}  // namespace penstock
