#include "cli/answers/words/surplus_pairs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/answers/options/launch_counts.h"
#include "cli/answers/options/option_aliases.h"
#include "cli/answers/words/parted_value.h"
#include "cli/answers/words/placed_words.h"
#include "cli/words/environment_words.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/parse.h"
#include "cli/words/pasted_pairs.h"
#include "core/values/units.h"
#include "report/words.h"

namespace penstock {
namespace {

// "trainer.num_nodes=4 trainer.devices=8" among the words, as the options that other tools have.
Arguments assignments_as_options(Arguments words, const Arguments& left) {
  for (std::string& word : words) {
    const std::size_t equals = word.find('='), begin = word.find_first_not_of("+~");
    const bool is_pair = equals != std::string::npos && begin < equals;
    if (is_pair && is_among(left, word)) word = "--" + word.substr(begin);
  }
  return words;
}

// The surplus words that are pairs, as options of the verb.
class PairsAsOptions {
 public:
  explicit PairsAsOptions(const SurplusWord& surplus)
      : surplus_(surplus),
        counts_(counts_meant(assignments_as_options(surplus.own, surplus.left), surplus.asked)) {}

  [[nodiscard]] std::string help() {
    for (const std::string& word : surplus_.left) {
      if (const auto help = help_for(word)) return *help;
    }
    return all_written();
  }

 private:
  // Takes the word, or says what ends the reading of all.
  std::optional<std::string> help_for(const std::string& word) {
    const std::size_t equals = word.find('='), begin = word.find_first_not_of("+~");
    if (equals == std::string::npos || word.starts_with('-') || begin >= equals) return {};
    if (is_environment_setting(word) && is_of_a_library(word)) return {};
    const std::string key = word.substr(begin, equals - begin), value = word.substr(equals + 1);
    if (key.find('/') != std::string::npos || is_there(word)) return {};  // "runs/lr=0.1/train.sh"
    if (surplus_.has("--cost") && parse_duration(value)) return help_for_cost();
    const Arguments option{(key.size() == 1 ? "-" : "--") + key, value};
    const auto group = std::find_if(counts_.begin(), counts_.end(), [&](const CountsMeant& each) {
      return is_among(each.names, option[0]);
    });
    if (group == counts_.end()) return help_for_option(option, is_environment_setting(word));
    if (group->words.empty()) return group->help;
    if (said_.insert(group->words.front()).second) append(group->words);  // once for all
    return {};
  }

  [[nodiscard]] std::string help_for_cost() const {
    const auto cost = std::find(surplus_.own.begin(), surplus_.own.end(), "--cost");
    return cost == surplus_.own.end()
               ? "costs are one word, with commas: --cost F=10ms,B=20ms"
               : "write it as one word: --cost " + costs_as_one_word(cost + 1, surplus_.own.end());
  }

  std::optional<std::string> help_for_option(const Arguments& option, bool is_of_environment) {
    const Asked& asked = surplus_.asked;
    const MeantOption found =
        meant_option(option[0], option[1], asked.known, asked.remarks, asked.index);
    if (!found.help.empty()) return found.help;
    const Arguments& meant = found.words;
    if (surplus_.has("--vary") && meant.front() == "--pin") {
      return "each has its own: --vary " + meant[1];
    }
    // What is unknown even so has its answer as an option.
    const bool is_unknown = meant == option && !surplus_.has(option[0]);
    if (is_unknown && is_of_environment) return {};
    if (is_unknown) return best_guess(option[0], option[1], asked);
    add(meant);
    return {};
  }

  void add(const Arguments& meant) {
    const bool has_key = meant.size() > 1 && meant[1].find('=') != std::string::npos;
    const std::string said = has_key ? meant[1].substr(0, meant[1].find('=')) : meant.front();
    if (!said_.insert(said).second) return;
    const bool is_pin = meant.front() == "--pin" && meant.size() > 1;
    const bool is_layout = meant.front() == "--layout" && meant.size() > 1;
    if ((is_pin || is_layout) && pins_ > 0) {
      options_[pins_] += (is_pin ? "," : " ") + meant[1];
      return;
    }
    if (is_pin || is_layout) pins_ = options_.size() + 1;
    append(meant);
  }

  void append(const Arguments& words) {
    options_.insert(options_.end(), words.begin(), words.end());
  }

  [[nodiscard]] std::string all_written() {
    const Arguments& own = surplus_.own;
    const auto given = std::find(own.begin(), own.end(), "--pin");
    const bool has_layout = pins_ > 0 && options_[pins_ - 1] == "--layout";
    if (has_layout) options_[pins_] = '"' + options_[pins_] + '"';
    if (pins_ > 0 && own.end() - given > 1) options_[pins_] = *(given + 1) + ',' + options_[pins_];
    return options_.empty() ? "" : "write " + joined(options_, " ");
  }

  const SurplusWord& surplus_;
  std::vector<CountsMeant> counts_;
  Arguments options_;
  std::size_t pins_ = 0;        // where in them the value of --pin or --layout stands
  std::set<std::string> said_;  // options, and keys of --pin
};

// "--layout TP=8 PP=4".
std::string help_for_unquoted_layout(const Arguments& own) {
  const auto from = std::find(own.begin(), own.end(), "--layout");
  if (from == own.end()) return "";
  const auto to = std::find_if(from + 1, own.end(),
                               [](const std::string& each) { return each.starts_with('-'); });
  return "quote it: --layout \"" + joined(Arguments(from + 1, to), " ") + "\"";
}

// "tp 1,2,4 pp 2,4".
std::string help_for_varied_degrees(const Arguments& left) {
  std::vector<std::string> varied;
  for (std::size_t i = 0; i + 1 < left.size(); i += 2) {
    const std::string key = key_called(left[i]);
    const bool are_numbers = left[i + 1].find_first_not_of("0123456789,") == std::string::npos;
    if (key.empty() || !are_numbers) return "";
    varied.push_back(fmt::format("--vary {}={}", field_word(key), left[i + 1]));
  }
  return varied.empty() || left.size() % 2 != 0 ? "" : "write " + joined(varied, " ");
}

// "why is TP 1 better than TP 8" asks about the last.
std::string with_last_of_each(std::string_view pairs) {
  Arguments last;
  for (const std::string& pair : parse_list("--why-not", pairs)) {
    const std::string key = pair.substr(0, pair.find('=') + 1);
    std::erase_if(last, [&key](const std::string& other) { return other.starts_with(key); });
    last.push_back(pair);
  }
  return joined(last, ",");
}

}  // namespace

std::string help_for_assignment(const SurplusWord& surplus) {
  const std::string help = help_for_unquoted_layout(surplus.own);
  return help.empty() ? PairsAsOptions(surplus).help() : help;
}

std::string help_for_degrees(const SurplusWord& surplus) {
  const Arguments& left = surplus.left;
  if (surplus.has("--vary")) return help_for_varied_degrees(left);
  if (std::any_of(left.begin(), left.end(), is_like_gpu)) return "";  // "h100 64 512 TP=8"
  const std::string prose = joined(left, " ");
  std::string pairs = pairs_in_prose(prose);
  if (surplus.has("--why-not") && pairs.empty()) pairs = degree_in_prose(prose);
  if (pairs.empty()) return "";
  if (surplus.has("--pin")) return can_be_pinned(pairs) ? "write --pin " + pairs : "";
  const std::string listed = ',' + pairs;
  if (listed.find(",gbs=") != std::string::npos || listed.find(",M=") != std::string::npos) {
    return "";
  }
  if (surplus.has("--why-not")) return "write --why-not " + with_last_of_each(pairs);
  if (!surplus.has("--layout")) return "";
  std::replace(pairs.begin(), pairs.end(), ',', ' ');
  return fmt::format("write --layout \"{}\"", pairs);
}

}  // namespace penstock
