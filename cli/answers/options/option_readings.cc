#include "cli/answers/options/option_readings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/objective_words.h"
#include "cli/answers/options/option_of_value.h"
#include "cli/answers/options/option_remarks.h"
#include "cli/answers/options/option_targets.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/file_kinds.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/longest_name.h"
#include "cli/words/option_spellings.h"
#include "cli/words/parse.h"
#include "cli/words/pasted_pairs.h"
#include "cli/words/schedule_spelled.h"
#include "cli/words/trainer_called.h"
#include "cli/words/training_kind.h"
#include "core/values/units.h"
#include "trainers/trainer_table.h"

namespace penstock {
namespace {

// How much each kind of evidence weighs. A spelling that is one step further from what was typed
// (kStep) weighs less than any evidence for the nearer one.
constexpr double kCertain = 100.0, kStep = 1.0;
constexpr double kOwnName = 0.9, kOwnRemark = 0.85, kCost = 0.8, kDirect = 0.75, kDegree = 0.7,
                 kZero = 0.65, kSchedule = 0.6, kOtherName = 0.55, kSameWords = 0.5,
                 kArgument = 0.45, kRemarkOfOption = 0.4, kSameMeaning = 0.35, kRemark = 0.3;

std::optional<Target> target_in(std::span<const Target> targets, const Asked& asked) {
  for (const Target& target : targets) {
    if (!target.option.empty() && asked.has(target.option)) return target;
  }
  return {};
}

// "flash_attention_2" of transformers as "flash2"; empty of a word that is no kernel.
std::string attention_called(const std::string& word) {
  constexpr std::array<std::array<std::string_view, 6>, 5> kKernels{
      {{"flash1", "flash-attention-1", "fa1", "", "", ""},
       {"flash2", "flash-attention-2", "fa2", "flash-attn-2", "sdpa", "flash-attention"},
       {"flash3", "flash-attention-3", "fa3", "flash-attn-3", "", ""},
       {"cudnn", "fused", "te", "transformer-engine", "", ""},
       {"eager", "math", "unfused", "vanilla", "native", "naive"}}};
  for (const auto& names : kKernels) {
    if (!word.empty() && is_among(names, word)) return std::string(names[0]);
  }
  return "";
}

// ZeRO's stage as on or off.
std::string value_for(std::string_view name, const std::string& value) {
  const std::string word = plain_word(name.substr(name.find_first_not_of('-')));
  if (!is_zero(word)) return value;
  if (value == "2" || value == "3") return "zero" + value;
  return value == "1" ? "on" : "off";
}

bool is_exported_trainer(const std::string& value) {
  return is_among(exported_trainer_names(), trainer_called(value));
}

// "mbs=1,2,4" of "micro-batch" and its values, or examples of them; empty of what no search finds.
std::string swept_setting(const std::string& word, const std::string& values) {
  struct Row {
    std::string_view key, examples;
  };
  constexpr std::array kRows{Row{"T", "1,2,4,8"},
                             Row{"P", "1,2,4,8"},
                             Row{"D", "8,16,32"},
                             Row{"V", "1,2,4"},
                             Row{"C", "1,2,4"},
                             Row{"b", "1,2,4"},
                             Row{"schedule", "1f1b,zb-h1"},
                             Row{"recompute", "none,full"},
                             Row{"sharding", "none,zero1"}};
  std::string key = key_called(word);
  if (is_among({"schedule", "schedules", "pipeline-schedule"}, word)) key = "schedule";
  if (is_among({"recompute", "sharding"}, word)) key = word;
  const auto* row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) { return each.key == key; });
  if (row == kRows.end()) return "";
  const bool are_values = values.find(',') != std::string::npos;
  return field_word(key) + '=' + (are_values ? values : std::string(row->examples));
}

// Of an option that the verb does not have, with its value where there is one.
class Readings {
 public:
  Readings(const std::string& name, const std::string& value, const Asked& asked)
      : name_(name), value_(value), asked_(asked) {}

  [[nodiscard]] std::optional<OptionReading> best() {
    const std::size_t dashes = name_.find_first_not_of('-');
    if (dashes == std::string::npos) return {};  // "--", "---", "--=5"
    const std::vector<std::string> spellings = spellings_of(plain_word(name_.substr(dashes)));
    for (std::size_t i = 0; i < spellings.size(); ++i) {
      word_ = spellings[i];
      steps_ = static_cast<double>(i);
      if (word_.size() > kLongestName) continue;
      if (i > 0 && word_.size() < 2 && name_.size() > 2) continue;  // "--b-size" is no -b
      read_word();
    }
    const bool is_planned = asked_.has("--pin") || asked_.has("--layout");
    steps_ = 0.0;
    if (is_of_one(word_ = spellings.front()) && is_planned) {
      if (word_.find("token") != std::string::npos) {
        if (asked_.has("--global-batch-tokens")) {
          say(kDegree, "write --global-batch-tokens N, the tokens of a step over all GPUs");
        }
      } else if (is_batch(word_)) {
        add_batch_of_one();
      }
    }
    const auto best = std::max_element(
        found_.begin(), found_.end(),
        [](const auto& one, const auto& other) { return one.score < other.score; });
    if (best == found_.end()) return {};
    return *best;
  }

 private:
  void read_word() {
    add_own_name();
    add_written();
    add_drawn();
    add_argument_file();
    // Of other names only those of the verb's own options: what is in the file says more.
    if (asked_.has("--pin") && is_launch_file(value_)) return add_other_names();
    add_why();
    add_swept();
    add_by_value();
    add_table();
    add_own_remarks();
    if (const std::string help = help_for_objective(word_, value_, asked_); !help.empty()) {
      say(kCost, help);
    }
    if (const std::string help = help_for_training_kind(word_, value_);
        !help.empty() && asked_.has("--gpus")) {
      say(kCost, help);
    }
    add_cost();
    add_direct();
    const std::string_view letters = std::string_view(name_).substr(name_.find_first_not_of('-'));
    add_degree(key_called(letters.size() == 1 ? letters : std::string_view(word_)), kDegree);
    add_zero();
    add_recompute();
    add_no_sharding();
    add_attention();
    add_schedule();
    add_other_names();
    add_by_index();
    add_remarks(true);
    add_remarks(false);
  }

  void say(double weight, std::string_view help) {
    found_.push_back({kCertain + weight - kStep * steps_, {}, std::string(help)});
  }

  // "--html page.html" where -o writes such a file.
  void add_written() {
    constexpr std::array<std::string_view, 4> kWritten{"html", "page", "svg", "png"};
    if (!asked_.index || !is_among(kWritten, word_)) return;
    const std::string ending = word_ == "page" ? ".html" : '.' + word_;
    for (const OptionRow& row : asked_.index().rows()) {
      const bool writes = row.names.back() == "--output" &&
                          (row.help.find(ending) != std::string::npos ||
                           (ending != ".html" && asked_.has("--window")) ||
                           (ending == ".html" && row.help.find("page") != std::string::npos));
      if (writes && value_.ends_with(ending)) take(kOwnName, Target{"--output", ""});
    }
  }

  // "--savefig fig.svg", "--plot fig.pdf" where -o draws.
  void add_drawn() {
    constexpr std::array<std::string_view, 12> kDrawn{"fig",     "figure",  "savefig", "plot",
                                                      "picture", "image",   "chart",   "gantt",
                                                      "draw",    "drawing", "pdf",     "eps"};
    constexpr std::array<std::string_view, 9> kOther{".pdf", ".eps",  ".jpg",  ".jpeg", ".gif",
                                                     ".tif", ".tiff", ".webp", ".bmp"};
    const std::vector<std::string> words = content_words(word_);
    const bool is_drawn = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return is_among(kDrawn, word);
    });
    if (!asked_.has("--window") || !is_drawn) return;
    if (value_.ends_with(".svg") || value_.ends_with(".png")) {
      return take(kOwnName, Target{"--output", ""});
    }
    const std::size_t dot = value_.rfind('.');
    if (dot == std::string::npos || !is_among(kOther, value_.substr(dot))) return;
    say(kOwnName, fmt::format("write -o {}.svg: no {} is written, but .svg and .png are",
                              value_.substr(0, dot), value_.substr(dot)));
  }

  // A file or pairs where the option takes neither say that another one was meant.
  void take(double weight, const Target& target) {
    OptionReading reading{kCertain + weight - kStep * steps_, {std::string(target.option)}, ""};
    if (!value_.empty()) {
      reading.words.push_back(std::string(target.before) + value_for(name_, value_));
      if (!fits(target)) return;
    }
    found_.push_back(std::move(reading));
  }

  [[nodiscard]] bool fits(const Target& target) const {
    const bool is_backend = word_ == "backend" || word_ == "engine";  // also "nccl", "flash"
    if (is_backend && !is_exported_trainer(value_)) return false;
    constexpr std::array<std::string_view, 8> kNumbers{
        "--gpus", "--global-batch", "--sequence-length", "--usd-per-gpu-hour",
        "--top",  "--threads",      "--tokens",          "--mtbf-hours"};
    if (target.option == "--device") return !is_digits(value_) && value_.find(':') == value_.npos;
    if (!is_among(kNumbers, target.option)) return true;
    const bool is_name = !value_.empty() && value_.find(':') == value_.npos &&
                         std::isalpha(static_cast<unsigned char>(value_[0])) != 0;
    if (target.option == "--gpus" && is_name) return false;  // "--devices h100-sxm,a100-80gb"
    const bool is_file = !kind_of_text(value_, "").words.empty() || value_.ends_with(".json");
    return !is_file && value_.find('=') == std::string::npos;
  }

  // "--Global_Batch", "-gpus": written otherwise, but the verb's own.
  void add_own_name() {
    std::vector<std::string> same;
    for (const std::string& option : asked_.known) {
      const std::string own =
          plain_word(std::string_view(option).substr(option.starts_with("--") ? 2 : 1));
      if (own == word_) same.push_back(option);
    }
    if (same.size() == 1) take(kOwnName, Target{same.front(), ""});
  }

  // "-m config.json", "--input plan.json": whatever it is called, the argument.
  void add_argument_file() {
    if (!asked_.index || is_launch_file(value_)) return;
    std::error_code error;
    if (!std::filesystem::is_regular_file(value_, error)) return;
    const std::string& usage = asked_.index().usage();
    const std::string takes = first_argument(usage);
    const FileRole role = role_of(value_);
    const bool is_model = (takes == "MODEL" && role == FileRole::kProfile) ||
                          ((takes == "MODEL" || takes == "CONFIG") && role == FileRole::kModel);
    if (!is_model && (takes != "PLAN" || role != FileRole::kPlan)) return;
    // "--zero-3 config.json" is a switch before the argument.
    say(name_.size() == 2 ? kOwnRemark : 0.0,
        fmt::format("{} is the argument without a name: penstock {}", takes, usage));
  }

  void add_own_remarks() {
    const std::vector<std::string> words = content_words(word_);
    for (const OptionRemark& remark : asked_.remarks) {
      const bool is_meant =
          std::any_of(remark.typed.begin(), remark.typed.end(), [&](const std::string& typed) {
            return typed == word_ || content_words(typed) == words;
          });
      if (is_meant) say(kOwnRemark, with_value(remark.help, value_));
    }
  }

  // "--strategy fsdp", "--batch 4M".
  void add_by_value() {
    if (value_.empty()) return;
    const Target tokens{"--global-batch-tokens", ""};
    const bool is_of_step =
        is_batch(word_) && !is_of_one(word_) && word_.find("token") == word_.npos;
    if (is_of_step && counts_tokens(value_) && asked_.has(tokens.option)) {
      return say(kOwnRemark,
                 fmt::format("write {} {}: no step has so many samples", tokens.option, value_));
    }
    if (!says_nothing_of_value(word_)) return;
    const std::string_view option = option_of_value(value_);
    if (!option.empty() && asked_.has(option)) {
      say(kOwnRemark, fmt::format("write {} {}", option, value_));
    }
  }

  // "--sweep-mbs": a row for each value is what compare prints, and a plan has the best of them.
  void add_swept() {
    constexpr std::array<std::string_view, 8> kBefore{"sweep-", "vary-",     "scan-", "tune-",
                                                      "try-",   "autotune-", "all-",  "search-"};
    const auto* before = std::find_if(kBefore.begin(), kBefore.end(),
                                      [&](auto each) { return word_.starts_with(each); });
    if (before == kBefore.end() || (!asked_.has("--pin") && !asked_.has("--vary"))) return;
    const std::string setting = swept_setting(word_.substr(before->size()), value_);
    if (setting.empty()) return;
    say(kOwnRemark, asked_.has("--vary")
                        ? "write --vary " + setting
                        : fmt::format("leave it out, penstock plan searches it; penstock compare "
                                      "config.json --device h100-sxm --gpus 64 --global-batch 512 "
                                      "--vary {} prints a row for each",
                                      setting));
  }

  // "--why PP=8" and "--why zb-h1" of a plan: why it is not so.
  void add_why() {
    constexpr std::array<std::string_view, 4> kWhy{"why", "reason", "reasons", "why-no"};
    if (!asked_.has("--why-not") || !is_among(kWhy, word_) || value_.empty()) return;
    const bool are_pairs = value_.find('=') != std::string::npos;
    std::string pair = are_pairs ? value_ : pair_called(value_);
    if (pair.empty()) pair = pasted_pairs(value_);
    if (pair.empty()) return;
    std::replace(pair.begin(), pair.end(), ' ', ',');
    say(kOwnRemark,
        fmt::format("write --why-not {}, which compares the plan with the best one that "
                    "has it",
                    pair));
  }

  // "--csv out.csv" where tables go to stdout.
  void add_table() {
    constexpr std::array<std::string_view, 5> kTables{"csv", "markdown", "md", "tsv", "table"};
    const bool is_table = is_among(kTables, word_) && asked_.has("--format");
    const bool is_file = value_.ends_with(".csv") || value_.ends_with(".md") ||
                         value_.ends_with(".tsv") || value_.ends_with(".txt");
    if (!is_table || !is_file || asked_.has("--csv")) return;
    say(kOwnRemark, fmt::format("a table goes to stdout: write --format {} > {}",
                                value_.ends_with(".md") ? "markdown" : "csv", value_));
  }

  // -F 10ms of a schedule; B and W are no batch and no width there.
  void add_cost() {
    constexpr std::string_view kCosts = "FBIWCR";
    if (!asked_.has("--cost") || asked_.has(name_)) return;
    const bool is_letter = name_.size() == 2 || word_.size() == 1;  // "-F 10ms", "--f 10ms"
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(name_.back())));
    const bool is_time = parse_duration(value_).has_value();
    const bool is_cost = name_.back() == letter || is_time;
    if (!is_letter || !is_cost || kCosts.find(letter) == std::string_view::npos) return;
    say(kCost, is_time ? fmt::format("costs go together, this one as {}={}: --cost "
                                     "F=10ms,B=20ms,C=0.5ms",
                                     letter, value_)
                       : "costs go together: --cost F=10ms,B=20ms,C=0.5ms");
  }

  // "--gpu 0", "--device-id 1" of a verb that measures on one device of this machine.
  void add_device_here() {
    constexpr std::array<std::string_view, 9> kIndices{"gpu",          "gpu-id",      "gpu-index",
                                                       "cuda",         "cuda-device", "device-id",
                                                       "device-index", "local-rank",  "cuda-id"};
    const bool is_zeroth = word_ == "gpus" && value_ == "0";
    const bool is_index = is_digits(value_) && (is_zeroth || is_among(kIndices, word_));
    if (is_index && asked_.has("--device-type") && !asked_.has(name_)) {
      take(kOwnName, Target{"--device", "cuda:"});
    }
  }

  void add_direct() {
    add_device_here();
    constexpr std::array<std::string_view, 7> kMachines{
        "instance-type", "instance", "machine-type", "vm-type", "vm-size", "node-type", "flavor"};
    const bool has_digit = value_.find_first_of("0123456789") != std::string::npos;
    if (is_among(kMachines, word_) && has_digit && !is_digits(value_) && asked_.has("--device")) {
      take(kDirect, Target{"--device", ""});
    }
    if ((name_ == "-v" && !is_digits(value_) && value_.find('=') == std::string::npos) ||
        word_ == "verbose") {
      say(kDirect, "everything is printed without it; --json has all figures");
    }
    const bool is_device = word_ == "d" ? !is_digits(value_) : word_ == "gpu" && !is_digits(value_);
    const Target target{is_device ? "--device" : "--gpus", ""};
    if ((is_device || word_ == "gpu") && asked_.has(target.option)) take(kDirect, target);
  }

  // Of samples of different lengths the longest is asked for.
  void add_longest(double weight) {
    if (word_.find("max") != std::string::npos) return take(weight, Target{"--max-length", ""});
    say(weight, fmt::format("write --max-length {}: samples have the lengths that --lengths gives, "
                            "and that is the longest",
                            is_digits(value_) ? value_ : "S"));
  }

  void add_degree(const std::string& key, double weight) {
    const bool has_lengths = asked_.has("--lengths") && asked_.has("--max-length");
    if (key == "sequence-length" && has_lengths) return add_longest(weight);
    for (const Degree& degree : option_degrees()) {
      if (key.empty() || degree.key != key) continue;
      if (const auto target = target_in(degree.targets, asked_)) return take(weight, *target);
      if (asked_.has("--why-not")) {
        return say(weight, fmt::format("a plan has it already; ask --why-not {}={} why it is not "
                                       "another",
                                       field_word(key), is_digits(value_) ? value_ : ".."));
      }
      if (asked_.has("--exit-zero")) {
        return say(
            weight,
            "leave it out: the launch file has it already, and what is wrong with it is found");
      }
      if (!asked_.has("--pin") && !asked_.has("--cost")) return;  // plan has it
      if (!degree.otherwise.empty()) return say(weight, degree.otherwise);
    }
  }

  // Whether micro-batches are accumulated on it, the name does not say.
  void add_batch_of_one() {
    const bool has_pin = asked_.has("--pin");
    const std::string_view whole = asked_.has("--global-batch") ? "--global-batch "
                                   : has_pin                    ? ""
                                                                : "gbs=";
    say(kZero, fmt::format("write {} mbs={}, the micro-batch of one GPU{}",
                           has_pin ? "--pin" : "--layout", is_digits(value_) ? value_ : "N",
                           whole.empty() ? ""
                                         : fmt::format("; {}N counts the samples of a step over "
                                                       "all GPUs",
                                                       whole)));
  }

  // ZeRO's stages 0 and 1 are --zero1 off and on; written out by value_for(). The others are
  // --sharding.
  void add_zero() {
    const std::size_t digit = word_.find_last_not_of("0123456789") + 1;
    if (digit > 0 && digit + 1 == word_.size()) return add_zero_stage(word_.substr(digit));
    if (word_ == "stage" && value_ == "0" && asked_.has("--sharding")) {
      return say(kZero, "ZeRO's stage is --sharding none");
    }
    if (word_ == "stage" && value_.size() == 1 && is_digits(value_) && value_ <= "3" &&
        asked_.has("--sharding")) {
      return say(kZero, fmt::format("ZeRO's stage is --sharding zero{0}, the number of pipeline "
                                    "stages --pp {0}",
                                    value_));
    }
    if (!is_zero(word_)) return;
    const bool is_switch = value_ == "0" || value_ == "1";
    const bool are_several = value_ == "all" || value_.find(',') != std::string::npos;
    if (are_several && asked_.has("--sharding")) {
      return say(kZero,
                 "penstock compare config.json --device h100-sxm --gpus 64 --global-batch "
                 "512 --vary sharding=none,zero1,zero2,zero3 plans for each");
    }
    if (!is_switch && value_ != "2" && value_ != "3") {
      return say(kZero, "ZeRO's stages are 0 to 3: --sharding none, zero1, zero2 or zero3");
    }
    const std::array targets =
        is_switch ? std::array{Target{"--zero1", ""}, Target{"--layout", "zero1="}}
                  : std::array{Target{"--sharding", ""}, Target{"--layout", "sharding="}};
    if (const auto target = target_in(targets, asked_)) take(kZero, *target);
  }

  // "--zero-3", "--zero-stage-3", "--stage3": no switch, whatever stands behind it.
  void add_zero_stage(const std::string& stage) {
    std::string letters = word_.substr(0, word_.size() - 1);
    if (letters.ends_with('-')) letters.pop_back();
    const bool is_stage = is_zero(letters) || letters == "stage" || letters == "zero-stage";
    if (!is_stage || stage > "3") return;
    const std::string value = stage == "0" ? "none" : "zero" + stage;
    if (asked_.has("--sharding")) {
      say(kZero, "write --sharding " + value);
    } else if (asked_.has("--layout")) {
      say(kZero, fmt::format("write --layout \"... sharding={}\"", value));
    }
  }

  // "--activation-checkpointing none", "--gradient-checkpointing true": whether it is on or off is
  // the mode.
  void add_recompute() {
    constexpr std::array<std::string_view, 8> kNames{"activation-checkpointing",
                                                     "gradient-checkpointing",
                                                     "checkpoint-activations",
                                                     "recompute-activations",
                                                     "activation-recomputation",
                                                     "ac",
                                                     "checkpointing",
                                                     "recomputation"};
    const std::string mode = recompute_called(value_);
    if (!is_among(kNames, word_) || value_.empty() || mode.empty()) return;
    if (asked_.has("--recompute")) {
      say(kOwnRemark, "write --recompute " + mode);
    } else if (asked_.has("--layout")) {
      say(kOwnRemark, fmt::format("write --layout \"... recompute={}\"", mode));
    }
  }

  // "--use-distributed-optimizer=false": off is a way to shard, too.
  void add_no_sharding() {
    const bool is_off = is_among({"false", "off", "no", "0"}, plain_word(value_));
    const bool is_denied = is_among({"no-use-distributed-optimizer", "no-distributed-optimizer",
                                     "disable-distributed-optimizer", "no-zero", "no-zero1",
                                     "disable-zero", "no-sharding", "no-shard"},
                                    word_);
    const bool is_meant = is_denied || (is_off && word_ == "distributed-optimizer");
    if (is_meant && asked_.has("--sharding")) {
      say(kOwnRemark, "write --sharding none: the optimizer is not sharded");
    }
  }

  // "--attn-implementation eager": names of transformers and Megatron-LM.
  void add_attention() {
    constexpr std::array<std::string_view, 8> kNames{
        "attn",         "attn-implementation", "attention-implementation", "attention-backend",
        "attn-backend", "attn-impl",           "attention-kernel",         "attention-impl"};
    const std::string kernel = attention_called(plain_word(value_));
    if (!is_among(kNames, word_) || kernel.empty() || !asked_.has("--attention")) return;
    found_.push_back(
        {kCertain + kOwnRemark - kStep * steps_, {"--attention", kernel}, std::string()});
  }

  // "--dualpipe", "--1f1b": a schedule is the value of an option, or the argument.
  void add_schedule() {
    const std::string_view schedule = schedule_spelled(word_);
    if (schedule.empty() || word_ == "interleaving") return;
    if (asked_.has("--schedule")) {
      say(kSchedule, fmt::format("write --schedule {}", schedule));
    } else if (asked_.has("--layout")) {
      say(kSchedule, fmt::format("write --layout \"... schedule={}\"", schedule));
    } else if (asked_.has("--cost")) {
      say(kSchedule, fmt::format("the schedule is the argument without a name: penstock schedule "
                                 "{} -P 4 -M 8 --cost F=10ms,B=20ms",
                                 schedule));
    }
  }

  void add_other_names() {
    for (const OtherName& other : other_option_names()) {
      if (!is_among(other.typed, word_)) continue;
      // "job-name", "num-workers": jobs and workers of other kinds.
      if (steps_ > 0.0 && other.targets[0].option == "--threads") continue;
      // The first that this verb has, or the next where the value is none of that one's.
      for (const Target& target : other.targets) {
        const std::size_t before = found_.size();
        if (!target.option.empty() && asked_.has(target.option)) take(kOtherName, target);
        if (found_.size() > before) return;
      }
    }
  }

  // What the verb itself declares goes before what is said to every verb.
  void add_by_index() {
    if (!asked_.index || word_.size() < 2) return;
    const WordIndex& index = asked_.index();
    if (const OptionRow* row = index.same_words(word_)) {
      take(kSameWords, Target{row->names.back(), ""});
    }
    if (std::string help = index.help_for_argument(word_); !help.empty()) say(kArgument, help);
    if (const OptionRow* row = index.same_meaning(word_)) {
      say(kSameMeaning, "did you mean " + option_shown(*row, value_));
    }
  }

  // Remarks on options that this verb has are nearer than what the thesaurus knows, and that is
  // nearer than what is said to all verbs.
  void add_remarks(bool is_of_option) {
    constexpr std::size_t kFewest = 3;  // "man --html" asks for no page of a plan
    if (!is_of_option && asked_.known.size() < kFewest) return;
    for (const Remark& remark : option_remarks()) {
      if (remark.of.empty() == is_of_option) continue;
      if (is_of_option && !asked_.has(remark.of)) continue;
      const bool counts = remark.help.find("{N}") != std::string_view::npos;
      const bool is_number = value_.empty() || is_digits(value_.substr(0, 1));
      if (is_among(remark.typed, word_) && (!counts || is_number)) {
        return say(is_of_option ? kRemarkOfOption : kRemark,
                   with_value(std::string(remark.help), value_));
      }
    }
  }

  const std::string &name_, &value_;
  const Asked& asked_;
  std::string word_;
  double steps_ = 0.0;
  std::vector<OptionReading> found_;
};

}  // namespace

bool Asked::has(std::string_view option) const { return is_among(known, option); }

std::optional<OptionReading> certain_reading(const std::string& name, const std::string& value,
                                             const Asked& asked) {
  return Readings(name, value, asked).best();
}

}  // namespace penstock
