// What stands in the answer wins over what was typed: "--vary gpus=32,64" over "--gpus 64". A place
// in it ("--gpus N") is filled with what was typed for that option, or stays.
#include "cli/answers/commands/filled_commands.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/proposed_commands.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/answers/files/plan_as_model.h"
#include "cli/answers/files/typed_files.h"
#include "cli/answers/verbs/able_verbs.h"
#include "cli/io/shell_word.h"
#include "cli/verbs/verbs.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/parted_at_commas.h"
#include "report/words.h"

namespace penstock {
namespace {

// What says the same of a question, of which one is enough: so many replicas are so many GPUs.
constexpr std::array<std::array<std::string_view, 2>, 5> kSame{
    {{"--device", "--cluster"},
     {"--gpus", "--nodes"},
     {"--gpus", "--D"},
     {"--global-batch", "--global-batch-tokens"},
     {"--memory-limit", "--memory-gib"}}};

// "gpus" of "--gpus 8" and of "--vary gpus=8,16"; "T" of "--pin TP=8"; empty of what is no setting.
std::string setting_of(const GivenOption& option) {
  const bool is_pair = option.name == "--vary" || option.name == "--pin";
  const std::string name =
      is_pair
          ? option.value.substr(0, option.value.find('='))
          : option.name.substr(std::min(option.name.find_first_not_of('-'), option.name.size()));
  return key_or_word(name);
}

bool says_same(const GivenOption& one, const GivenOption& other) {
  const std::string a = "--" + setting_of(one), b = "--" + setting_of(other);
  return a == b || std::any_of(kSame.begin(), kSame.end(), [&](const auto& row) {
           return is_among(row, a) && is_among(row, b);
         });
}

// As the verb calls it: "--gbs 512" is "--global-batch 512".
GivenOption as_called(std::string_view verb, const std::string& file, GivenOption option) {
  Arguments words{file, option.name};
  if (!option.value.empty()) words.push_back(option.value);
  const auto read = read_by_verb(verb, words);
  const std::vector<GivenOption> options =
      read ? given_words({}, *read).options : std::vector<GivenOption>();
  if (options.empty()) return option;
  option.name = options.front().name;
  option.value = options.front().value;
  return option;
}

Arguments words_of(const std::vector<GivenOption>& options) {
  Arguments words;
  for (const GivenOption& option : options) {
    words.push_back(option.name);
    if (!option.value.empty()) words.push_back(option.value);
  }
  return words;
}

// "TP=8,mbs=1" without those that are said.
template <typename IsSaid>
std::string pins_but(const std::string& pins, const IsSaid& is_said) {
  Arguments left;
  for (const std::string& pin : parted_at_commas(pins)) {
    if (!is_said(GivenOption{"--pin", pin, 0, 0})) left.push_back(pin);
  }
  return joined(left, ",");
}

// The values of options that the error refuses are no answer to it: "--global-batch: 'auto' is ..".
// An option that one verb has not may be one of another.
std::vector<std::string> options_refused(const std::string& message, const Arguments& typed,
                                         const std::string& verb) {
  constexpr std::string_view kError = "\nerror: ";
  std::vector<std::string> refused;
  for (std::string_view rest = message;;) {
    const bool is_unknown = rest.starts_with("unknown option");
    if (!is_unknown || typed.front() == verb) refused.push_back(option_in(rest));
    const std::size_t next = rest.find(kError);
    if (next == rest.npos) return refused;
    rest.remove_prefix(next + kError.size());
  }
}

class Filling {
 public:
  // `words`: what the answer says of the command.
  Filling(const std::string& message, const Arguments& typed, const Arguments& words)
      : typed_(typed), own_(given_words({}, words)) {
    verb_ = own_.bare.empty() ? "" : own_.bare.front();
    refused_ = options_refused(message, typed, verb_);
    fill_places();
  }

  // Empty where nothing fills it.
  [[nodiscard]] std::string command() const {
    const Arguments files = files_of();
    return files.empty() ? "" : command_with(own_.options, files);
  }
  // Whether something that was typed is in it and not among these words.
  [[nodiscard]] bool has_more_than(const Arguments& words) const {
    const Arguments files = files_of();
    if (files.empty()) return false;
    const std::vector<GivenOption> options = kept(own_.options, files.front());
    return std::any_of(options.begin(), options.end(), [&](const GivenOption& option) {
      const GivenOption called = as_called(verb_, files.front(), option);
      const bool has_name = is_among(words, option.name) || is_among(words, called.name);
      return !has_name || (!option.value.empty() && !is_among(words, option.value));
    });
  }
  [[nodiscard]] bool has_places() const {
    return std::any_of(own_.options.begin(), own_.options.end(),
                       [](const GivenOption& option) { return has_place(option.value); });
  }
  // Nothing that the answer says itself, nor twice.
  bool leave_out(const std::string& option) {
    if (option.empty() || is_among(refused_, option)) return false;
    const GivenOption left{option, "", 0, 0};
    const bool is_own = std::any_of(own_.options.begin(), own_.options.end(),
                                    [&](const GivenOption& each) { return says_same(each, left); });
    if (!is_own) refused_.push_back(option);
    return !is_own;
  }
  // The same without the options whose places nobody can fill, which can be tried.
  [[nodiscard]] Arguments tried() const {
    const Arguments files = files_of();
    if (files.empty()) return {};
    std::vector<GivenOption> whole;
    std::copy_if(own_.options.begin(), own_.options.end(), std::back_inserter(whole),
                 [](const GivenOption& option) { return !has_place(option.value); });
    const std::string command = command_with(whole, files);
    const std::vector<ProposedCommand> commands = proposed_commands(command);
    return commands.empty() ? Arguments{} : commands.front().words;
  }

 private:
  // Of "--device NAME --gpus N" one that was typed is enough, also as "--nodes 4".
  void fill_places() {
    const GivenWords given = given_words({}, {typed_.begin() + 1, typed_.end()});
    bool is_filled = false;
    for (GivenOption& option : own_.options) {
      if (!has_place(option.value)) continue;
      for (const GivenOption& each : given.options) {
        if (each.value.empty() || !says_same(each, option)) continue;
        option.name = each.name;
        option.value = each.value;
        is_filled = true;
      }
    }
    if (!is_filled) return;
    std::erase_if(own_.options, [](const GivenOption& option) { return has_place(option.value); });
  }

  // The files that stand first: those of the answer, what was typed, or a plan whose question is
  // asked anew.
  [[nodiscard]] Arguments files_of() const {
    const Verb* verb = find_verb(verb_);
    if (verb == nullptr) return {};
    const TypedFiles files = typed_files(typed_);
    const std::string takes = first_argument(options_of(*verb).usage);
    const bool is_example = own_.bare.size() == 2 && own_.bare[1] == "config.json";
    if (own_.bare.size() > 1 && !is_example) return {own_.bare.begin() + 1, own_.bare.end()};
    if (takes == "PLAN" && files.plans.size() == 1) return files.plans;
    if (takes != "MODEL" && takes != "CONFIG") return files_of_same_verb();
    if (files.models.size() == 1) return files.models;
    const bool asks_anew = takes == "MODEL" && verb_ != "report" && files.models.empty() &&
                           files.plans.size() == 1 && is_there(files.plans.front());
    return asks_anew ? files.plans : Arguments{};
  }

  // "schedule 1f1b -P 4 --format svg": "penstock schedule ... -o step.svg".
  [[nodiscard]] Arguments files_of_same_verb() const {
    const bool is_same = typed_.size() > 1 && typed_[0] == verb_ && !typed_[1].starts_with('-');
    return is_same ? Arguments{typed_[1]} : Arguments{};
  }

  [[nodiscard]] std::string command_with(const std::vector<GivenOption>& own,
                                         const Arguments& files) const {
    Arguments words = files;
    for (const Arguments& more : {words_of(kept(own, files.front())), words_of(own)}) {
      words.insert(words.end(), more.begin(), more.end());
    }
    const Verb* verb = find_verb(verb_);
    const bool asks_anew = role_of(files.front()) == FileRole::kPlan &&
                           first_argument(options_of(*verb).usage) == "MODEL";
    return asks_anew ? command_for_its_model(verb_, words) : whole_command(verb_, words);
  }

  // Of the options that were typed those which the verb has, and which nothing gainsays.
  [[nodiscard]] std::vector<GivenOption> kept(const std::vector<GivenOption>& own,
                                              const std::string& file) const {
    const Arguments rest(typed_.begin() + 1, typed_.end());
    const auto is_said = [&](const GivenOption& option) {
      return std::any_of(own.begin(), own.end(), [&](const GivenOption& each) {
        return says_same(as_called(verb_, file, each), option);
      });
    };
    std::vector<GivenOption> options;
    for (GivenOption option : given_words({}, options_taken(verb_, file, rest)).options) {
      const GivenOption called = as_called(verb_, file, option);
      const bool is_refused = is_among(refused_, option.name) || is_among(refused_, called.name);
      const bool is_others =
          typed_.front() != verb_ && (is_about_answer(called.name) || is_about_answer(option.name));
      if (option.name == "--pin") option.value = pins_but(option.value, is_said);
      const bool is_left = option.name == "--pin" ? !option.value.empty() : !is_said(called);
      if (!is_refused && !is_others && is_left) options.push_back(std::move(option));
    }
    return options;
  }

  const Arguments& typed_;
  GivenWords own_;
  std::string verb_;
  std::vector<std::string> refused_;
};

// "penstock plan config.json --device a100" of "for another GPU the model's config.json takes the
// profile's place: ..", which is told of a profile without its cluster.
std::string command_instead(Arguments words, const RefusalOf& refusal_of) {
  const std::vector<GivenOption> options = given_words({}, words).options;
  const auto cluster = std::find_if(options.begin(), options.end(), [](const GivenOption& option) {
    return option.name == "--cluster";
  });
  if (cluster == options.end() || !value_of(words, {"--device"})) return "";
  const auto refusal = refusal_of(with_instead(std::move(words), *cluster, {}));
  const std::vector<ProposedCommand> commands = proposed_commands(refusal ? help_in(*refusal) : "");
  if (commands.empty() || commands.front().lengths.size() != 1) return "";
  const Arguments& instead = commands.front().words;
  if (refusal_of(instead)) return "";
  return command_of(instead.front(), {instead.begin() + 1, instead.end()});
}

// Empty where it would be refused, also without what it is refused for.
std::string command_filled(Filling& filling, const Arguments& typed, const RefusalOf& refusal_of) {
  constexpr int kMostLeftOut = 3;
  for (int step = 0; step <= kMostLeftOut; ++step) {
    std::string command = filling.command();
    const Arguments tried = filling.tried();
    if (command.empty() || tried.empty()) return "";
    const auto refusal = refusal_of(tried);
    if (!refusal || is_of_part(*refusal)) return command;
    const Arguments mended = filling.has_places()
                                 ? Arguments{}
                                 : mended_command(tried, *refusal, typed, refusal_of).words;
    if (!mended.empty()) return command_of(mended.front(), {mended.begin() + 1, mended.end()});
    if (!filling.leave_out(option_in(*refusal))) return "";
  }
  return "";
}

// "penstock compare config.json --device h100-sxm --gpus 64 --global-batch 512 --vary mbs=1,2" as
// "penstock compare config.json ... --vary mbs=1,2"; nothing where no example is in it.
std::optional<OpenCommand> without_examples(const ProposedCommand& command,
                                            const Arguments& typed) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kExamples{
      {{"--device", "h100-sxm"}, {"--gpus", "64"}, {"--global-batch", "512"}}};
  const std::size_t length = command.lengths.front();
  OpenCommand open{command.begin, command.ends[length - 1], {}};
  std::size_t examples = 0;
  for (std::size_t i = 0; i < length; ++i) {
    const bool is_example = i + 1 < length && !is_among(typed, command.words[i + 1]) &&
                            std::any_of(kExamples.begin(), kExamples.end(), [&](const auto& row) {
                              return row[0] == command.words[i] && row[1] == command.words[i + 1];
                            });
    if (!is_example) {
      open.words.push_back(command.words[i]);
      continue;
    }
    ++examples;
    ++i;
  }
  if (examples == 0) return std::nullopt;
  return open;
}

}  // namespace

std::string with_filled_commands(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of) {
  if (typed.empty()) return message;
  std::vector<OpenCommand> commands = open_commands(message);
  std::reverse(commands.begin(), commands.end());  // so that the places of the others stay
  for (const OpenCommand& open : commands) {
    Filling filling(message, typed, open.words);
    std::string command = command_instead(filling.tried(), refusal_of);
    if (command.empty()) command = command_filled(filling, typed, refusal_of);
    if (!command.empty()) message.replace(open.begin, open.end - open.begin, command);
  }
  return message;
}

std::string with_filled_examples(std::string message, const Arguments& typed,
                                 const RefusalOf& refusal_of) {
  if (typed.empty()) return message;
  std::vector<ProposedCommand> commands = proposed_commands(message);
  std::reverse(commands.begin(), commands.end());
  for (const ProposedCommand& each : commands) {
    const std::optional<OpenCommand> open = without_examples(each, typed);
    if (!open) continue;
    Filling filling(message, typed, open->words);
    if (!filling.has_more_than(each.words)) continue;
    std::string command = command_filled(filling, typed, refusal_of);
    if (!filling.has_more_than(each.words)) command.clear();  // it was refused
    if (!command.empty()) message.replace(open->begin, open->end - open->begin, command);
  }
  return message;
}

}  // namespace penstock
