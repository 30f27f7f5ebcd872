// What people type who know another tool: an option that the verb lacks is looked up in three
// tables, of other names for an option, of degrees that belong into --pin or --layout, and of
// sentences for what has no option here. Options of the verb itself always come first, so that no
// alias can hide one; what is in no table is left to the parser, which names the nearest option.
#include "cli/options/option_aliases.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/io/file_kinds.h"
#include "cli/options/field_words.h"
#include "cli/options/longest_name.h"
#include "cli/options/option_parts.h"
#include "cli/options/option_remarks.h"
#include "cli/options/schedule_called.h"
#include "core/values/error.h"
#include "core/values/units.h"

namespace penstock {
namespace {

// Where a value goes: an option, and what stands before the value in it ("TP=" in --pin).
struct Target {
  std::string_view option, before;
};

struct Degree {
  std::string_view key;
  std::array<Target, 4> targets;  // the first that the verb has
  std::string_view otherwise;
};
constexpr std::array kDegrees{
    Degree{{"T"}, {{{"--pin", "T="}, {"--layout", "TP="}}}, "no model is divided here"},
    Degree{{"C"}, {{{"--pin", "C="}, {"--layout", "CP="}}}, "no sequence is divided here"},
    Degree{{"EP"}, {{{"--pin", "EP="}, {"--layout", "EP="}}}, "no experts are divided here"},
    Degree{{"P"}, {{{"-P", ""}, {"--pin", "P="}, {"--layout", "PP="}}}, ""},
    Degree{{"D"}, {{{"--pin", "D="}, {"--layout", "DP="}}}, "one replica is replayed here"},
    Degree{{"V"}, {{{"-V", ""}, {"--pin", "V="}, {"--layout", "VP="}}}, ""},
    Degree{{"b"},
           {{{"--pin", "b="}, {"--layout", "mbs="}, {"--micro-batch-sizes", ""}}},
           "costs are those of one micro-batch, whatever its size"},
    Degree{{"M"},
           {{{"-M", ""}, {"--layout", "M="}}},
           "the micro-batches of a step follow from the global batch, DP and mbs: --global-batch, "
           "--pin DP=..,mbs=..; without a model: penstock schedule 1f1b -P 4 -M 8 --cost "
           "F=10ms,B=20ms"},
    Degree{{"global-batch"},
           {{{"--global-batch", ""}, {"--layout", "gbs="}}},
           "say the micro-batches of a step: -M"},
    Degree{{"sequence-length"},
           {{{"--sequence-length", ""}, {"--layout", "seq="}}},
           "the plan or the costs say it"},
};

// Other words for options that take a value.
struct Synonym {
  std::string_view typed;
  std::array<Target, 2> targets;
};
constexpr Target kGpus{"--gpus", ""};
constexpr Target kDevice{"--device", ""};
constexpr Target kPrecision{"--precision", ""};
constexpr Target kPrice{"--usd-per-gpu-hour", ""};
constexpr Target kBudget{"--budget", ""};
constexpr Target kTop{"--top", ""};
constexpr Target kThreads{"--threads", ""};
constexpr Target kOutput{"--output", ""};
constexpr Target kFor{"--for", ""};
constexpr Target kTokens{"--tokens", ""};
constexpr Target kBatchTokens{"--global-batch-tokens", ""};
constexpr std::array kSynonyms{
    Synonym{"num-gpus", {{kGpus}}},
    Synonym{"ngpus", {{kGpus}}},
    Synonym{"g", {{kGpus}}},
    Synonym{"n-gpus", {{kGpus}}},
    Synonym{"gpu-count", {{kGpus}}},
    Synonym{"world-size", {{kGpus}}},
    Synonym{"devices", {{kGpus}}},
    Synonym{"n", {{kGpus}}},
    Synonym{"np", {{kGpus}}},
    Synonym{"num-devices", {{kGpus}}},
    Synonym{"num-device", {{kGpus}}},
    Synonym{"device-count", {{kGpus}}},
    Synonym{"gpu-type", {{kDevice}}},
    Synonym{"gpu-name", {{kDevice}}},
    Synonym{"gpu-model", {{kDevice}}},
    Synonym{"hardware", {{kDevice}}},
    Synonym{"accelerator", {{kDevice}}},
    Synonym{"dtype", {{kPrecision}}},
    Synonym{"data-type", {{kPrecision}}},
    Synonym{"torch-dtype", {{kPrecision}}},
    Synonym{"mixed-precision", {{kPrecision}}},
    Synonym{"price", {{kPrice}}},
    Synonym{"gpu-price", {{kPrice}}},
    Synonym{"usd-per-hour", {{kPrice}}},
    Synonym{"usd", {{kPrice}}},
    Synonym{"hourly-rate", {{kPrice}}},
    Synonym{"cost-per-gpu-hour", {{kPrice}}},
    Synonym{"timeout", {{kBudget}}},
    Synonym{"time-limit", {{kBudget}}},
    Synonym{"max-time", {{kBudget}}},
    Synonym{"topk", {{kTop}}},
    Synonym{"top-k", {{kTop}}},
    Synonym{"num-plans", {{kTop}}},
    Synonym{"jobs", {{kThreads}}},
    Synonym{"j", {{kThreads}}},
    Synonym{"workers", {{kThreads}}},
    Synonym{"num-threads", {{kThreads}}},
    Synonym{"out", {{kOutput}}},
    Synonym{"outfile", {{kOutput}}},
    Synonym{"output-file", {{kOutput}}},
    Synonym{"save", {{kOutput}}},
    Synonym{"trainer", {{kFor, {"--to", ""}}}},
    Synonym{"framework", {{kFor, {"--to", ""}}}},
    Synonym{"trainer", {{{"--as", ""}}}},
    Synonym{"framework", {{{"--as", ""}}}},
    Synonym{"target", {{{"--to", ""}, kFor}}},
    Synonym{"for", {{{"--to", ""}, {"--as", ""}}}},
    Synonym{"format", {{{"--to", ""}}}},
    Synonym{"model", {{{"--config", ""}}}},
    Synonym{"model-config", {{{"--config", ""}}}},
    Synonym{"mtbf", {{{"--mtbf-hours", ""}}}},
    Synonym{"total-tokens", {{kTokens}}},
    Synonym{"train-tokens", {{kTokens}}},
    Synonym{"training-tokens", {{kTokens}}},
    Synonym{"batch-tokens", {{kBatchTokens, {"--tokens-per-batch", ""}}}},
    Synonym{"tokens-per-step", {{kBatchTokens, {"--tokens-per-batch", ""}}}},
    Synonym{"global-batch-tokens", {{{"--tokens-per-batch", ""}}}},
    Synonym{"sizes", {{{"--micro-batch-sizes", ""}}}},
    Synonym{"lengths", {{{"--sequence-length", ""}}}},
    Synonym{"tokens-per-batch", {{kBatchTokens}}},
    Synonym{"schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"pipeline-schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"pipeline-parallel-schedule", {{{"--schedule", ""}, {"--layout", "schedule="}}}},
    Synonym{"recompute", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"recompute-granularity", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"activation-checkpoint-mode", {{{"--recompute", ""}, {"--layout", "recompute="}}}},
    Synonym{"zero1", {{{"--zero1", ""}, {"--layout", "zero1="}}}},
    Synonym{"sharding", {{{"--sharding", ""}, {"--layout", "sharding="}}}},
    Synonym{"data-parallel-sharding-strategy", {{{"--sharding", ""}, {"--layout", "sharding="}}}},
    Synonym{"placement", {{{"--placement", ""}, {"--layout", "placement="}}}},
    Synonym{"cuts", {{{"--layout", "cuts="}}}},
    Synonym{"costs", {{{"--cost", ""}}}},
    Synonym{"lr", {{{"--learning-rate", ""}}}},
    Synonym{"min-learning-rate", {{{"--min-lr", ""}}}},
    Synonym{"skip", {{{"--warm-up", ""}}}},
    Synonym{"skip-steps", {{{"--warm-up", ""}}}},
    Synonym{"warmup-steps", {{{"--warm-up", ""}}}},
};

bool has(const std::vector<std::string>& known, std::string_view option) {
  return std::find(known.begin(), known.end(), option) != known.end();
}

std::optional<Target> target_in(std::span<const Target> targets,
                                const std::vector<std::string>& known) {
  for (const Target& target : targets) {
    if (!target.option.empty() && has(known, target.option)) return target;
  }
  return {};
}

[[noreturn]] void unknown(std::string_view name, std::string_view help) {
  throw_bad_input(fmt::format("unknown option '{}'\nhelp: {}", name, help));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "--Global_Batch", "-gpus": written otherwise, but the verb's own.
std::optional<Target> respelled(std::string_view word, const std::vector<std::string>& known) {
  std::optional<Target> found;
  for (const std::string& option : known) {
    const std::string own =
        plain_word(std::string_view(option).substr(option.starts_with("--") ? 2 : 1));
    if (own != word) continue;
    if (found) return {};
    found = Target{option, ""};
  }
  return found;
}

// Sections of torchtitan's and DeepSpeed's names in which a word means what it means here; in
// others (validation.seq_len, comm.timeout) it is about something else.
bool is_about_layout(std::string_view section) {
  constexpr std::array<std::string_view, 7> kSections{
      "training", "parallelism",      "model", "activation-checkpoint", "optimizer",
      "pipeline", "zero-optimization"};
  return std::find(kSections.begin(), kSections.end(), section) != kSections.end();
}

bool is_about_memory(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords{"mem", "vram", "hbm", "reserve"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view each) { return word.find(each) != std::string::npos; });
}

// The ways to read a word: as it is, without the section of torchtitan's names (training.steps),
// without what trainers put around one (use-, num-, -size, -degree), as one or as several.
std::vector<std::string> readings(const std::string& word) {
  std::vector<std::string> out{word};
  if (word.size() > kLongestName) return out;
  if (const std::size_t dot = word.rfind('.'); dot != std::string::npos) {
    std::string dashes = word;
    std::replace(dashes.begin(), dashes.end(), '.', '-');
    out.push_back(dashes);
    const bool is_stage = word.ends_with(".stage");
    if (is_about_layout(word.substr(0, dot)) && !is_stage) out.push_back(word.substr(dot + 1));
    if (word.ends_with(".enabled") || word.ends_with(".enable")) out.push_back(word.substr(0, dot));
  }
  constexpr std::array<std::string_view, 6> kBefore{"use-", "enable-", "with-",
                                                    "num-", "target-", "train-"};
  constexpr std::array<std::string_view, 9> kBehind{"-size", "-degree", "-count", "-name", "-type",
                                                    "-mode", "-number", "-gb",    "-gib"};
  for (std::size_t i = 0; i < out.size(); ++i) {  // also of what was found: num-train-epochs
    for (const std::string_view before : kBefore) {
      if (out[i].starts_with(before)) out.emplace_back(out[i], before.size());
    }
  }
  for (std::size_t i = 0, whole = out.size(); i < whole; ++i) {
    for (const std::string_view behind : kBehind) {
      if (behind.starts_with("-g") && !is_about_memory(out[i])) continue;
      if (out[i].ends_with(behind)) out.push_back(out[i].substr(0, out[i].size() - behind.size()));
    }
  }
  for (std::size_t i = 0, whole = out.size(); i < whole; ++i) {
    if (out[i] == "stage") continue;  // ZeRO's or the pipeline's
    out.push_back(out[i].ends_with('s') ? out[i].substr(0, out[i].size() - 1) : out[i] + 's');
  }
  return out;
}

// ZeRO's stage, also as a key of DeepSpeed's configuration.
bool is_zero(std::string_view word) {
  return word == "zero" || word == "zero-stage" || word == "zero-optimization-stage" ||
         word == "zero-optimization.stage";
}

// Of an option that the verb does not have, with its value where there is one.
class Typed {
 public:
  Typed(std::string_view name, std::string_view value, const std::vector<std::string>& known,
        const std::vector<OptionRemark>& remarks, const std::function<const WordIndex&()>& index)
      : name_(name),
        value_(value),
        word_(plain_word(name.substr(std::min(name.find_first_not_of('-'), name.size())))),
        known_(known),
        remarks_(remarks),
        index_(index) {}

  // Where its value goes; nothing when it is no word of the field.
  [[nodiscard]] std::optional<Target> target() {
    for (std::string& reading : readings(word_)) {
      word_ = std::move(reading);
      if (word_.size() < 2 && name_.size() > 2) continue;  // "--b-size" is no -b
      if (const auto found = target_of_word()) return found;
    }
    return {};
  }

 private:
  [[nodiscard]] std::optional<Target> target_of_word() const {
    if (word_.size() > kLongestName) return {};
    if (const auto own = respelled(word_, known_)) return own;
    // Of other names only those of the verb's own options: what is in the file says more.
    if (has(known_, "--pin") && is_launch_file(std::string(value_))) return synonym_target();
    const std::vector<std::string> words = content_words(word_);
    for (const OptionRemark& remark : remarks_) {
      const bool is_meant =
          std::any_of(remark.typed.begin(), remark.typed.end(), [&](const std::string& typed) {
            return typed == word_ || content_words(typed) == words;
          });
      if (is_meant) unknown(name_, remark.help);
    }
    refuse_cost();
    if ((name_ == "-v" && !is_number(value_)) || word_ == "verbose") {
      unknown(name_, "everything is printed without it; --json has all figures");
    }
    if (word_ == "d" && !is_number(value_)) return target_in(std::array{kDevice}, known_);
    if (word_ == "gpu") return target_in(std::array{is_number(value_) ? kGpus : kDevice}, known_);
    if (const auto degree = target_of_degree()) return degree;
    if (is_zero(word_)) return target_of_zero();
    refuse_schedule();
    if (const auto target = synonym_target()) return target;
    if (const auto own = target_by_index()) return own;
    refuse_by_remark(true);
    if (index_ && word_.size() > 1) {
      if (const OptionRow* row = index_().same_meaning(word_)) {
        unknown(name_, "did you mean " + option_shown(*row));
      }
    }
    refuse_by_remark(false);
    return {};
  }

  [[nodiscard]] std::optional<Target> synonym_target() const {
    for (const Synonym& synonym : kSynonyms) {
      if (synonym.typed != word_) continue;
      if (const auto target = target_in(synonym.targets, known_)) return target;
    }
    return {};
  }

  // Remarks on options that this verb has are nearer than what the thesaurus knows, and that is
  // nearer than what is said to all verbs.
  void refuse_by_remark(bool is_of_option) const {
    constexpr std::size_t kFewest = 3;  // "man --html" asks for no page of a plan
    if (!is_of_option && known_.size() < kFewest) return;
    for (const Remark& remark : option_remarks()) {
      if (remark.of.empty() == is_of_option) continue;
      if (is_of_option && !has(known_, remark.of)) continue;
      if (std::find(remark.typed.begin(), remark.typed.end(), word_) != remark.typed.end()) {
        unknown(name_, remark.help);
      }
    }
  }

  // What the verb itself declares goes before what is said to every verb.
  [[nodiscard]] std::optional<Target> target_by_index() const {
    if (!index_ || word_.size() < 2) return {};
    const WordIndex& index = index_();
    if (const OptionRow* row = index.same_words(word_)) return Target{row->names.back(), ""};
    if (std::string help = index.help_for_argument(word_); !help.empty()) unknown(name_, help);
    return {};
  }

  // -F 10ms of a schedule; B and W are no batch and no width there.
  void refuse_cost() const {
    constexpr std::string_view kCosts = "FBIWCR";
    if (!has(known_, "--cost") || has(known_, name_)) return;
    const bool is_letter = name_.size() == 2 || word_.size() == 1;  // "-F 10ms", "--f 10ms"
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(name_.back())));
    const bool is_cost = name_.back() == letter || parse_duration(value_).has_value();
    if (!is_letter || !is_cost || kCosts.find(letter) == std::string_view::npos) return;
    unknown(name_, "costs go together: --cost F=10ms,B=20ms,C=0.5ms");
  }

  // "--dualpipe", "--1f1b": a schedule is the value of an option, or the argument.
  void refuse_schedule() const {
    const std::string_view schedule = schedule_spelled(word_);
    if (schedule.empty() || word_ == "interleaving") return;
    if (has(known_, "--schedule")) unknown(name_, fmt::format("write --schedule {}", schedule));
    if (has(known_, "--layout")) {
      unknown(name_, fmt::format("write --layout \"... schedule={}\"", schedule));
    }
    if (has(known_, "--cost")) {
      unknown(name_, fmt::format("the schedule is the argument without a name: penstock schedule "
                                 "{} -P 4 -M 8 --cost F=10ms,B=20ms",
                                 schedule));
    }
  }

  [[nodiscard]] std::optional<Target> target_of_degree() const {
    const std::string_view letters = name_.substr(name_.find_first_not_of('-'));
    const std::string key = key_called(letters.size() == 1 ? letters : std::string_view(word_));
    for (const Degree& degree : kDegrees) {
      if (degree.key != key) continue;
      if (const auto target = target_in(degree.targets, known_)) return target;
      if (has(known_, "--why-not")) {
        unknown(name_, fmt::format("a plan has it already; ask --why-not {}=.. why it is not "
                                   "another",
                                   field_word(key)));
      }
      if (has(known_, "--exit-zero")) {
        unknown(name_, "the launch file has it already; what is wrong with it is found");
      }
      if (!has(known_, "--pin") && !has(known_, "--cost")) return {};  // plan has it
      if (!degree.otherwise.empty()) unknown(name_, degree.otherwise);
    }
    return {};
  }

  // ZeRO's stages 0 and 1 are --zero1 off and on; written out by translated(). The others are
  // --sharding.
  [[nodiscard]] std::optional<Target> target_of_zero() const {
    if (value_ == "2" || value_ == "3") {
      return target_in(std::array{Target{"--sharding", ""}, Target{"--layout", "sharding="}},
                       known_);
    }
    if (value_ != "0" && value_ != "1") {
      unknown(name_, "ZeRO's stages are 0 to 3: --sharding none, zero1, zero2 or zero3");
    }
    return target_in(std::array{Target{"--zero1", ""}, Target{"--layout", "zero1="}}, known_);
  }

  std::string_view name_, value_;
  std::string word_;
  const std::vector<std::string>& known_;
  const std::vector<OptionRemark>& remarks_;
  const std::function<const WordIndex&()>& index_;
};

// ZeRO's stage as on or off.
std::string value_for(std::string_view name, const std::string& value) {
  const std::string word = plain_word(name.substr(name.find_first_not_of('-')));
  if (!is_zero(word)) return value;
  if (value == "2" || value == "3") return "zero" + value;
  return value == "1" ? "on" : "off";
}

bool is_option(const std::string& argument) {
  const std::size_t first = argument.find_first_not_of('-');
  return argument.starts_with('-') && first != std::string::npos && first <= 2 &&
         (std::isalpha(static_cast<unsigned char>(argument[first])) != 0 ||
          (first == 2 && argument.size() > first + 1));  // "--1f1b", and no negative number
}

// As the parser of options reads it: by its name, or -P4, a letter and its value.
bool is_own(const std::string& argument, const std::vector<std::string>& known) {
  const std::string name = argument.substr(0, argument.find('='));
  if (has(known, name)) return true;
  if (argument.starts_with("--") || !has(known, argument.substr(0, 2))) return false;
  return key_called(std::string_view(name).substr(1)).empty();
}

}  // namespace

std::string help_by_parts(std::string_view word, const std::vector<std::string>& known) {
  const std::string_view row = word_for_parts(word);
  if (row.empty()) return "";
  for (const Remark& remark : option_remarks()) {
    if (!remark.of.empty() && !has(known, remark.of)) continue;
    if (std::find(remark.typed.begin(), remark.typed.end(), row) != remark.typed.end()) {
      return std::string(remark.help);
    }
  }
  return "";
}

MeantOption meant_option(const std::string& name, const std::string& value,
                         const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks,
                         const std::function<const WordIndex&()>& index) {
  constexpr std::string_view kHelp = "\nhelp: ";
  try {
    MeantOption meant{in_own_options({name, value}, known, remarks, index), ""};
    const std::size_t equals = meant.words.back().find('=');  // "PP=N" rather than "P=N"
    if (equals != std::string::npos && meant.words.front() != name) {
      std::string& last = meant.words.back();
      last = field_word(last.substr(0, equals)) + last.substr(equals);
    }
    return meant;
  } catch (const Error& error) {  // the remark, as the help of another message
    const std::string_view message = error.what();
    const std::size_t help = message.find(kHelp);
    return {{name, value},
            help == std::string_view::npos ? "" : std::string(message.substr(help + kHelp.size()))};
  }
}

std::vector<std::string> other_names(const std::vector<std::string>& known) {
  std::vector<std::string> names;
  for (const Degree& degree : kDegrees) {
    if (!target_in(degree.targets, known)) continue;
    for (std::string& name : names_of_key(degree.key)) {
      if (name.size() > 1) names.push_back(std::move(name));  // every word begins with a letter
    }
  }
  for (const Synonym& synonym : kSynonyms) {
    if (target_in(synonym.targets, known)) names.emplace_back(synonym.typed);
  }
  return names;
}

Arguments in_own_options(const Arguments& arguments, const std::vector<std::string>& known,
                         const std::vector<OptionRemark>& remarks,
                         const std::function<const WordIndex&()>& index) {
  Arguments out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    if (!is_option(argument) || is_own(argument, known)) {
      out.push_back(argument);
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool has_next = i + 1 < arguments.size() && !is_option(arguments[i + 1]);
    const std::string value = equals != std::string::npos ? argument.substr(equals + 1)
                              : has_next                  ? arguments[i + 1]
                                                          : std::string();
    const auto target = Typed(name, value, known, remarks, index).target();
    if (!target) {
      out.push_back(argument);
      continue;
    }
    out.emplace_back(target->option);
    if (value.empty()) continue;
    out.push_back(std::string(target->before) + value_for(name, value));
    if (equals == std::string::npos) ++i;
  }
  return out;
}

}  // namespace penstock
