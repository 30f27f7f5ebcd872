#include "cli/answers/words/odd_values.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/commands/given_options.h"
#include "cli/answers/commands/whole_command.h"
#include "cli/words/field_words.h"
#include "core/values/error.h"

namespace penstock {
namespace {

// What a word wishes for; -1 may be any of these.
enum Wish : unsigned { kChoose = 1, kWithout = 2, kEvery = 4, kNought = 8, kMinus = 16 };

struct WordsOfWish {
  unsigned wish;
  std::array<std::string_view, 10> words;
};
constexpr std::array kWordsOfWishes{
    WordsOfWish{kChoose,
                {"auto", "automatic", "any", "best", "search", "optimal", "default", "choose",
                 "find", "tune"}},
    WordsOfWish{kWithout,
                {"none", "null", "no", "off", "false", "never", "nil", "n-a", "free", "unset"}},
    WordsOfWish{kEvery,
                {"all", "max", "maximum", "unlimited", "inf", "infinite", "infinity", "everything",
                 "full", "no-limit"}},
    WordsOfWish{kNought, {"0", "0.0", "0s", "0min", "0h"}},
    WordsOfWish{kMinus, {"-1", "-1.0"}},
};

unsigned wish_of(const std::string& value) {
  const std::string word = value.starts_with('-') ? value : plain_word(value);
  for (const WordsOfWish& row : kWordsOfWishes) {
    if (std::find(row.words.begin(), row.words.end(), word) != row.words.end()) return row.wish;
  }
  return 0;
}

// `help` ends where the command without the option can stand behind it, unless it has none.
struct OddValue {
  std::string_view option;
  unsigned wishes;
  std::string_view what, help;
  bool is_left_out = true;
  std::string_view beside = "";  // an option that the verb has as well
};
constexpr std::array kOdd{
    OddValue{"--top", kChoose | kWithout | kEvery | kNought | kMinus, "number of plans",
             "how many are printed is a number, --top 20 for example, 1000 at most", false},
    OddValue{"--threads", kChoose | kWithout | kEvery | kNought | kMinus, "number of threads",
             "leave it out: without it there is one for each core"},
    OddValue{"--budget", kChoose | kWithout | kEvery | kNought | kMinus, "time",
             "leave it out: without it the search ends by itself"},
    OddValue{"--sequence-length", kChoose | kWithout | kEvery | kNought | kMinus,
             "number of tokens",
             "leave it out: without it the length is the model's own, at most 8192, or the longest "
             "of a profile"},
    OddValue{"--tokens", kChoose | kWithout | kNought | kMinus, "number of tokens",
             "leave it out: without it a step is planned, and no whole training"},
    OddValue{"--usd-per-gpu-hour", kChoose | kWithout | kNought | kMinus, "price",
             "leave it out: without it no price is printed, or that of the cluster file"},
    OddValue{"--mtbf-hours", kChoose | kWithout | kEvery | kNought | kMinus,
             "time between failures", "leave --mtbf-hours out: without it nothing fails"},
    OddValue{"--reserve-gib", kChoose | kWithout | kMinus, "amount of memory",
             "leave it out: without it as much is left free as the cluster file says"},
    OddValue{"--memory-limit", kChoose | kWithout | kMinus, "amount of memory",
             "leave it out: without it plans take all the memory of a GPU"},
    OddValue{"--schedule", kWithout | kNought, "schedule",
             "without a pipeline there is none: --pin PP=1; the names of those that there are "
             "prints penstock schedule --help",
             false, "--pin"},
    OddValue{"--recompute", kChoose, "mode", "leave it out: the search chooses", true, "--pin"},
    OddValue{"--sharding", kChoose, "sharding", "leave it out: the search chooses", true, "--pin"},
    OddValue{"--for", kChoose | kWithout | kEvery, "trainer",
             "leave it out: without it plans are for any trainer"},
    OddValue{"--precision", kChoose, "precision", "leave it out: bfloat16 is the default"},
    OddValue{"--gpus", kChoose | kEvery | kMinus, "number of GPUs",
             "write a number, --gpus 64, or vary it: --vary gpus=16,32,64", false, "--vary"},
    OddValue{
        "--gpus", kChoose | kEvery | kMinus, "number of GPUs",
        "write a number, --gpus 64, or a range: --gpus 8..64 plans for each number, and says the "
        "fewest that do",
        false, "--every-candidate"},
    OddValue{"--global-batch", kChoose | kEvery | kNought | kMinus, "number of samples",
             "it is your choice, as training depends on it: write --global-batch 512; what sizes "
             "do to speed is shown by penstock compare ... --vary gbs=256,512",
             false, "--every-candidate"},
};

const OddValue* odd_value(const OptionTable& table, const std::string& name, unsigned wish) {
  const auto row = std::find_if(kOdd.begin(), kOdd.end(), [&](const OddValue& each) {
    const bool is_here = each.beside.empty() || row_named(table, each.beside) != nullptr;
    return each.option == name && (each.wishes & wish) != 0 && is_here;
  });
  return row == kOdd.end() ? nullptr : &*row;
}

}  // namespace

// All of them are told at once.
void refuse_odd_values(const OptionTable& table, const Arguments& words) {
  std::string letters;
  for (const GivenOption& option : given_words(table, words).options) {
    const unsigned wish = wish_of(option.value);
    const OptionRow* own = row_named(table, option.name);
    if (wish == 0 || own == nullptr) continue;
    const OddValue* row = odd_value(table, own->names.back(), wish);
    if (row == nullptr) continue;
    const std::string command =
        row->is_left_out ? ": " + whole_command(verb_of(table), with_instead(words, option, {}))
                         : "";
    letters += fmt::format("{}{}: '{}' is no {}\nhelp: {}{}",
                           letters.empty() ? "" : "\nerror: ", option.name, option.value, row->what,
                           row->help, command);
  }
  if (!letters.empty()) throw_bad_input(letters);
}

}  // namespace penstock
