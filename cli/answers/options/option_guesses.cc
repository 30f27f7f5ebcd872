// What an option may have meant that is no word of the field: each guess has a weight, and the
// heaviest is said. Those that rest on what was typed as a whole weigh more than a part of its
// name, and that more than another verb's option.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>

#include "cli/answers/options/denied_options.h"
#include "cli/answers/options/option_concepts.h"
#include "cli/answers/options/option_readings.h"
#include "cli/answers/options/option_targets.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/file_kinds.h"
#include "cli/words/field_words.h"
#include "cli/words/is_digits.h"
#include "cli/words/longest_name.h"
#include "cli/words/near_files.h"
#include "cli/words/parse.h"
#include "core/values/units.h"
#include "report/words.h"
#include "trainers/flag_names.h"

namespace penstock {

std::string help_for_launch_file(const std::string& path, const std::vector<std::string>& known) {
  const auto has = [&known](std::string_view option) {
    return std::find(known.begin(), known.end(), option) != known.end();
  };
  if (has("--as")) return fmt::format("it is the argument without a name: penstock check {}", path);
  return use_of_launch_file(
      path, has("--pin")      ? "--gpus, --global-batch, --pin TP=8,PP=4, --for TRAINER"
            : has("--layout") ? "--layout \"TP=8 PP=4 mbs=1 gbs=512\", --for TRAINER"
                              : "");
}

namespace {

// "--restart OnFailure" means no option that takes a number.
bool may_have(const OptionRow& row, const std::string& value) {
  const bool is_number = row.value_name.size() == 1 || row.value_name == "TIME";
  return !is_number || value.empty() || value.starts_with('-') ||
         value.find_first_of("0123456789") != std::string::npos;
}

// Options whose name or help has the words.
std::string options_about(const std::string& typed, const std::string& value,
                          const WordIndex& index) {
  std::vector<const OptionRow*> found = index.about(typed);
  std::erase_if(found, [&](const OptionRow* row) { return !may_have(*row, value); });
  if (found.empty()) return "";
  std::vector<std::string> shown;
  shown.reserve(found.size());
  for (const OptionRow* row : found) {
    shown.push_back(option_shown(*row, found.size() == 1 ? value : ""));
  }
  return "did you mean " + joined(shown, "; or ");
}

// "--tp2", "--pp:2" where a verb takes --tp, or what it says of --tp.
std::string help_for_number_behind(const std::string& plain, const std::vector<std::string>& known,
                                   const std::vector<OptionRemark>& remarks,
                                   const WordIndex& index) {
  const std::size_t digits = plain.find_last_not_of("0123456789") + 1;
  if (digits == 1 && plain.size() > 1) {  // "-n64"
    const std::string letter = "-" + plain.substr(0, 1);
    const MeantOption meant = meant_option(letter, plain.substr(1), known, remarks,
                                           [&index]() -> const WordIndex& { return index; });
    if (meant.help.empty() && meant.words.front() != letter) {
      return "write " + joined(meant.words, " ");
    }
  }
  if (digits <= 1 || digits >= plain.size()) return "";
  const std::string letters = plain.substr(0, plain[digits - 1] == ':' ? digits - 1 : digits);
  if (key_called(letters).empty()) return "";
  const std::string name = "--" + letters, number = plain.substr(digits);
  const MeantOption meant =
      meant_option(name, number, known, remarks, [&index]() -> const WordIndex& { return index; });
  const bool is_taken =
      meant.words.front() != name || std::find(known.begin(), known.end(), name) != known.end();
  return meant.help.empty() && is_taken ? fmt::format("write {} {}", name, number) : meant.help;
}

// "--enable-loss-parallel" is a flag, and no --loss NAME.
bool is_flag_of_other(const std::string& typed, const std::string& value, const WordIndex& index) {
  if (!value.empty() && !value.starts_with('-')) return false;
  const std::vector<std::string> words = content_words(typed);
  const std::vector<const OptionRow*> found = index.about(typed);
  if (found.empty() || words.size() < 2 || found.front()->value_name.empty()) return false;
  const std::vector<std::string> name = content_words(found.front()->names.back()),
                                 help = content_words(found.front()->help);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(name.begin(), name.end(), word) == name.end() &&
           std::find(help.begin(), help.end(), word) == help.end();
  });
}

// "-var gpus=64", "--set gpus=64".
std::string help_for_assigned(const WordIndex& index, const std::string& value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos || equals + 1 == value.size()) return "";
  const std::string name = "--" + plain_word(value.substr(0, equals));
  const bool is_own =
      std::any_of(index.rows().begin(), index.rows().end(), [&name](const OptionRow& row) {
        return !row.value_name.empty() &&
               std::find(row.names.begin(), row.names.end(), name) != row.names.end();
      });
  return is_own ? fmt::format("write {} {}", name, value.substr(equals + 1)) : "";
}

// What is unknown by its name may be known by its value: one of the choices of another option, or
// degrees such as "TP=8 PP=4".
std::string help_for_kind_of_value(const WordIndex& index, const std::string& value) {
  if (value.empty() || value.starts_with('-')) return "";
  if (std::string own = help_for_assigned(index, value); !own.empty()) return own;
  const std::string key = key_called(value.substr(0, std::min(value.find('='), value.size())));
  if (value.find('=') != std::string::npos && !key.empty()) {
    const bool are_many =
        value.find(',') != std::string::npos && value.find('=') == value.rfind('=');  // "TP=1,2"
    for (const OptionRow& row : index.rows()) {
      const std::string& option = row.names.back();
      if (option == "--vary" && are_many) return fmt::format("did you mean --vary {}?", value);
    }
    for (const OptionRow& row : index.rows()) {
      const std::string& option = row.names.back();
      if (option != "--layout" && option != "--pin") continue;
      return fmt::format("did you mean {} \"{}\"?", option, value);
    }
  }
  const std::string word = plain_word(value);
  // A name of what is written says where it goes.
  for (const auto& [end, option] :
       {std::pair{".csv", "--csv"}, std::pair{".svg", "--output"}, std::pair{".png", "--output"},
        std::pair{".html", "--output"}}) {
    const bool is_taken =
        std::any_of(index.rows().begin(), index.rows().end(),
                    [name = option](const auto& row) { return row.names.back() == name; });
    if (is_taken && value.ends_with(end)) return fmt::format("did you mean {} {}?", option, value);
  }
  const OptionRow* found = nullptr;
  for (const OptionRow& row : index.rows()) {
    const bool is_choice =
        std::find(row.choices.begin(), row.choices.end(), word) != row.choices.end();
    constexpr std::size_t kShortest = 4;  // "none", "on", "csv" are no evidence
    if (row.positional || !is_choice || word.size() <= kShortest) continue;
    if (row.names.back() == "--color" || row.names.back() == "--format") continue;
    if (found != nullptr) return "";  // then the name decides
    found = &row;
  }
  return found == nullptr ? "" : fmt::format("did you mean {} {}?", found->names.back(), word);
}

// The known word that a typing error is near to, or nothing.
std::string word_meant(const std::string& typed, const std::vector<std::string>& known) {
  constexpr std::string_view kFound = "did you mean '";
  const std::string near = did_you_mean(typed, known);
  if (!near.starts_with(kFound)) return "";
  return near.substr(kFound.size(), near.find('\'', kFound.size()) - kFound.size());
}

// The weights of guesses, each as much as it has been right of what people typed.
enum Weight {
  kNothing = 0,
  kFilter = 10,
  kOtherNear = 20,     // a near spelling of another tool's name
  kPart = 30,          // a part of the name
  kConceptPart = 35,   // a part of it is about something that is known
  kNear = 40,          // a near spelling of an option
  kOtherTrainer = 45,  // a trainer has it, and this verb reads no layout
  kOtherVerb = 50,     // another verb has it, or can do it
  kPlanTakes = 60,     // plan has it, and this verb is near to plan
  kConcept = 65,       // it is about something that is known
  kAbout = 70,         // names or helps share its words
  kConceptWords = 75,  // its several words are about something that is known
  kTrainerFlag = 80,   // a trainer has it
  kPlanned = 90,       // plan has it, and this verb takes a plan or asks the same
  kPartOfMany = 100,   // a part of a compound name, where a plan is asked for
  kDenied = 110,
  kEnd = 120,     // its end is a degree
  kSlip = 125,    // one slip in a long word
  kVerb = 128,    // it is called what another verb is called
  kNumber = 130,  // "--tp2"
  kNamedArgument = 140,
  kValue = 150,  // its value is a choice of one option
  kLaunchFile = 160,
  kQuoted = 170,
};

class Guesses {
 public:
  Guesses(const std::string& name, const std::string& value, const Asked& asked)
      : name_(name),
        value_(value),
        typed_(name.substr(std::min(name.find_first_not_of('-'), name.size()))),
        plain_(plain_word(typed_)),
        asked_(asked),
        index_(asked.index()),
        usage_(index_.usage()),
        verb_(usage_.substr(0, usage_.find(' '))),
        parts_(help_by_parts(plain_, asked.known)),
        trainer_(usage_.starts_with("report") ? "" : trainer_with_flag(typed_)),
        is_planned_(asked.has("--pin") || asked.has("--layout")) {}

  [[nodiscard]] std::string best() {
    if (typed_.size() > kLongestName)
      return fmt::format("penstock {} --help lists its options", verb_);
    guess_by_whole();
    guess_by_parts();
    guess_by_other_verbs();
    guess_by_spelling();
    guess_by_concept();
    add(kNothing, options_by_heading(index_));
    return std::max_element(
               found_.begin(), found_.end(),
               [](const Guess& one, const Guess& other) { return one.weight < other.weight; })
        ->help;
  }

 private:
  struct Guess {
    int weight;
    std::string help;
  };

  void add(int weight, std::string help) {
    if (!help.empty()) found_.push_back({weight, std::move(help)});
  }

  void guess_by_whole() {
    if (name_.find(' ') != std::string::npos) {
      add(kQuoted, "quotes make one word of it: leave them out");
    }
    // Where a trainer's settings are given, a file that has them says more than the option's name.
    if (is_launch_file(value_)) {
      add(is_planned_ || asked_.has("--as") ? kLaunchFile : kConcept + 1,
          help_for_launch_file(value_, asked_.known));
    }
    add(kValue, help_for_kind_of_value(index_, value_));
    if (usage_.starts_with("schedule") && parse_duration(value_)) {
      add(kValue,
          "costs are one option, with commas: --cost F=10ms,B=20ms,C=0.5ms (forward, "
          "backward, one transfer; I and W are the halves of B)");
    }
    add(kValue, help_for_choice());
    add(kValue, help_for_own_file());
    add(kNamedArgument, index_.help_for_argument(typed_));
    add(kNumber, help_for_number_behind(plain_, asked_.known, asked_.remarks, index_));
    add(kDenied, help_for_denied(plain_, asked_));
    add(kFilter, help_for_filter(plain_, asked_));
  }

  void guess_by_parts() {
    add(kEnd, help_for_end());
    const bool is_compound = plain_.find_first_of("-.") != std::string::npos;
    add(is_planned_ && is_compound ? kPartOfMany : kPart, parts_);
    if (!is_planned_ || !is_flag_of_other(typed_, value_, index_)) {
      add(kAbout, options_about(typed_, value_, index_));
    }
    if (trainer_.empty()) return;
    if (asked_.has("--to")) {
      add(kTrainerFlag,
          fmt::format("a flag of {}: set it in the job that -o FOLDER writes", trainer_));
    } else if (asked_.has("--as")) {
      add(kTrainerFlag, fmt::format("a flag of {}: it belongs into the launch file, which is "
                                    "judged as it is",
                                    trainer_));
    } else if (is_planned_) {
      add(kTrainerFlag, fmt::format("a flag of {} for which there is no option here: leave it out, "
                                    "and keep it in the launch script (penstock check train.sh "
                                    "judges that)",
                                    trainer_));
    } else {
      add(kOtherTrainer, fmt::format("leave it out: it is a flag of {}, which penstock check "
                                     "train.sh judges in a launch script",
                                     trainer_));
    }
  }

  void guess_by_concept() {
    const auto meant = concept_meant(typed_, value_, index_);
    if (!meant) return;
    const bool has_several = plain_.find_first_of("-.") != std::string::npos;
    add(!meant->is_whole ? kConceptPart : has_several ? kConceptWords : kConcept, meant->help);
  }

  void guess_by_other_verbs() {
    constexpr std::size_t kFewest = 3;  // "fingerprint --device" asks for no plan
    if (!asked_.has("--pin") && asked_.known.size() >= kFewest) {
      const std::size_t digits = plain_.find_last_not_of("0123456789") + 1;
      const bool has_number = digits > 1 && digits < plain_.size() &&
                              !key_called(plain_.substr(0, digits)).empty();  // "--tp2"
      const bool takes_plan = usage_.find(" PLAN") != std::string::npos || asked_.has("--as");
      const bool is_letter = name_.size() == 2 && !takes_plan && !is_planned_;  // "topo -m"
      if (!is_letter)
        add(takes_plan || is_planned_ ? kPlanned : kPlanTakes,
            has_number
                ? help_of_plan("--" + plain_.substr(0, digits), plain_.substr(digits), usage_)
                : help_of_plan(name_, value_, usage_));
    }
    add(kVerb, help_of_verb(plain_, usage_));
    add(kOtherVerb, help_of_able_verb(plain_, asked_));
    if (parts_.empty()) add(kOtherVerb + 2, help_for_other_verb(name_));
  }

  // The dashes say nothing of how near two names are.
  void guess_by_spelling() {
    if (plain_.starts_with("no-") || plain_.starts_with("disable-")) return;
    std::vector<std::string> words;
    for (const std::string& known : asked_.known) {
      if (known.starts_with("--")) words.push_back(known.substr(2));
    }
    words.emplace_back("help");
    if (const std::string near = word_meant(typed_, words); !near.empty()) {
      constexpr std::size_t kLong = 6;
      const bool is_slip = typed_.size() >= kLong && slips_between(typed_, near) == 1;
      add(is_slip ? kSlip : kNear, near_option(near));
    }
    constexpr std::size_t kShort = 4;
    if (typed_.size() <= kShort) return;
    const std::string other = word_meant(plain_, other_names());
    if (other.empty()) return;
    const bool has_value = !value_.empty() && !value_.starts_with('-');
    const Arguments meant =
        meant_option("--" + other, has_value ? value_ : "N", asked_.known, asked_.remarks).words;
    if (meant.front() != "--" + other) {
      add(kOtherNear, "did you mean " + joined(meant, " ") + "?");
    }
  }

  // "--aws": the value of an option as an option, where only one takes it.
  [[nodiscard]] std::string help_for_choice() const {
    constexpr std::array<std::string_view, 7> kVague{"auto", "none",   "full", "all",
                                                     "on",   "always", "never"};
    if (plain_.size() < 3 || std::find(kVague.begin(), kVague.end(), plain_) != kVague.end()) {
      return "";
    }
    const OptionRow* found = nullptr;
    for (const OptionRow& row : index_.rows()) {
      const bool is_choice =
          std::find(row.choices.begin(), row.choices.end(), plain_) != row.choices.end();
      if (row.positional || !is_choice) continue;
      if (found != nullptr) return "";
      found = &row;
    }
    return found == nullptr ? "" : fmt::format("write {} {}", found->names.back(), plain_);
  }

  // "--plan plan.json": a file of Penstock's says what takes it.
  [[nodiscard]] std::string help_for_own_file() const {
    const std::string format = format_of_file(value_), takes = first_argument(usage_);
    if (format.starts_with("penstock.plan/") && takes == "MODEL") {
      return fmt::format(
          "{0} is a plan: penstock simulate {0} replays it, penstock explain {0} says "
          "what limits it",
          value_);
    }
    if (format.starts_with("penstock.plan/") && takes == "PLAN") {
      return fmt::format("PLAN is the argument without a name: penstock {}", usage_);
    }
    if (format.starts_with("penstock.cluster/") && asked_.has("--cluster")) {
      return fmt::format("write --cluster {}", value_);
    }
    if (kind_of_text(value_, "").words == "a log" && usage_.find(" RUN") != std::string::npos) {
      return fmt::format("RUN is the argument without a name: penstock {}", usage_);
    }
    const bool is_book = format.starts_with("penstock.book/") && asked_.has("--book");
    return is_book ? fmt::format("write --book {}", value_) : "";
  }

  // "pipeline-parallel-microbatch-size": the end of it is a degree or a size of a batch.
  [[nodiscard]] std::string help_for_end() const {
    if (!is_planned_ || plain_.find("device") != std::string::npos) return "";
    const std::string option = asked_.has("--pin") ? "--pin" : "--layout";
    for (std::size_t dash = plain_.find_first_of("-."); dash != std::string::npos;
         dash = plain_.find_first_of("-.", dash + 1)) {
      const std::string end = plain_.substr(dash + 1), key = key_called(end);
      if (key == "M" && asked_.has("--pin")) {
        return "the micro-batches of a step follow from the global batch, DP and mbs: "
               "--global-batch, --pin DP=..,mbs=..";
      }
      const bool is_degree = end.ends_with("-size") || end.ends_with("-degree") ||
                             (end.size() == 2 && is_digits(value_));  // "--async-tp" is a flag
      if (is_degree && (key == "T" || key == "P" || key == "C" || key == "EP")) {
        return fmt::format("did you mean {} {}=N?", option, field_word(key));
      }
      if (key == "sequence-length" && plain_[dash] == '-') {
        return asked_.has("--layout") ? "write --layout \"... seq=N\""
                                      : "write --sequence-length N";
      }
      if (key == "b") return fmt::format("write {} mbs=N, the micro-batch of one GPU", option);
    }
    return "";
  }

  [[nodiscard]] std::string near_option(const std::string& near) const {
    std::string help = fmt::format("did you mean '--{}'?", near);
    for (const OptionRow& row : index_.rows()) {
      if (row.names.back() == "--" + near) help += ' ' + option_shown(row, value_);
    }
    return help;
  }

  // Names that are no option of the verb and yet understood.
  [[nodiscard]] std::vector<std::string> other_names() const {
    std::vector<std::string> names;
    for (const Degree& degree : option_degrees()) {
      for (std::string& name : names_of_key(degree.key)) {
        if (name.size() > 1) names.push_back(std::move(name));  // every word begins with a letter
      }
    }
    for (const OtherName& other : other_option_names()) {
      for (const std::string_view name : other.typed) {
        if (!name.empty()) names.emplace_back(name);
      }
    }
    return names;
  }

  const std::string &name_, &value_;
  std::string typed_, plain_;
  const Asked& asked_;
  const WordIndex& index_;
  std::string usage_, verb_, parts_, trainer_;
  bool is_planned_;
  std::vector<Guess> found_;
};

}  // namespace

std::string best_guess(const std::string& name, const std::string& value, const Asked& asked) {
  return Guesses(name, value, asked).best();
}

}  // namespace penstock
