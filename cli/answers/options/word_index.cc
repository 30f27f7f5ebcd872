// A word weighs the more, the fewer options have it; one that none has weighs most, so that a
// match of "world" alone says little of "--hello-world". Words of a name that nobody typed cost a
// little, so that of --checkpoint-every and --checkpoint-keep the nearer one stands first.
#include "cli/answers/options/word_index.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cli/words/longest_name.h"

namespace penstock {
namespace {

// Words that mean the same in an option's name; the first stands for all of them.
constexpr std::array<std::string_view, 51> kThesaurus{
    "gpu device accelerator card",
    "rank process proc worker world nproc",
    "node machine host server",
    "memory mem vram hbm ram",
    "transport backend communicator",
    "watch follow live tail refresh poll loop monitor",
    "checkpoint ckpt save snapshot",
    "fraction split share ratio",
    "every interval freq frequency period each",
    "usd price cost dollar money currency",
    "sequence seq ctx context",
    "length len",
    "layer block depth",
    "hidden embd embed width",
    "head nhead",
    "feed ffn mlp intermediate",
    "vocabulary vocab",
    "learning lr",
    "precision dtype amp autocast",
    "output out outfile dest destination write",
    "time timeout duration",
    "thread core cpu",
    "top best",
    "cloud provider vendor platform",
    "slow straggler slowdown degraded",
    "trace recording availability",
    "trainer framework as",
    "step iteration iter",
    "resume restart continue restore load",
    "data dataset corpus input train",
    "validation valid eval val test evaluation evaluate",
    "address addr ip",
    "master main coordinator rendezvous rdzv",
    "notice warning grace",
    "jitter noise variance sigma random",
    "accumulate accum accumulation",
    "clip clipping",
    "draw plot figure picture",
    "title caption",
    "window zoom crop range",
    "ignore skip exclude suppress disable",
    "key token secret credential",
    "gradient grad",
    "folder dir directory",
    "tensorboard wandb mlflow comet tb",
    "sample repeat trial",
    "at when",
    "document pack packing",
    "expert moe",
    "log logging",
    "dispatch dispatcher",
};

// Two words of other tools that are other words here.
constexpr std::array<std::array<std::string_view, 2>, 12> kPhrases{
    {{"block size", "sequence length"},
     {"bs", "batch size"},
     {"n ctx", "sequence length"},
     {"d model", "hidden"},
     {"d ff", "feed forward"},
     {"hidden dim", "hidden"},
     {"max length", "sequence length"},
     {"grad norm", "clip norm"},
     {"time limit", "budget"},
     {"wd", "weight decay"},
     {"total limit", "keep"},
     {"restart time", "start"}}};

bool is_around(std::string_view word) {
  constexpr std::array<std::string_view, 26> kAround{
      "use",  "enable", "with",  "num", "number", "size", "degree", "count", "name",
      "type", "mode",   "value", "set", "n",      "the",  "of",     "and",   "in",
      "a",    "or",     "by",    "per", "path",   "max",  "min",    "total"};
  return std::find(kAround.begin(), kAround.end(), word) != kAround.end();
}

// Words that many names end in and that alone say little: "tokenizer-model" is no model, and
// "warmup-ratio" is about the warm-up.
bool says_little(std::string_view word) {
  constexpr std::array<std::string_view, 18> kVague{
      "model",  "ratio", "fraction", "percent",  "factor", "limit", "folder", "option", "file",
      "config", "path",  "policy",   "strategy", "kind",   "id",    "flag",   "list",   "arg"};
  return std::find(kVague.begin(), kVague.end(), word) != kVague.end();
}

// Words of kAround that say another thing of the same: the least GPUs, tokens per step.
bool has_bound(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> kBounds{"max", "min", "total", "per", "by"};
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(kBounds.begin(), kBounds.end(), word) != kBounds.end();
  });
}

std::string singular(std::string word) {
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  return word;
}

// "numNodes" is written in two words as well.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  bool was_lower = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0) {
      end_word();
    } else {
      if (was_lower && std::isupper(byte) != 0) end_word();
      word.push_back(static_cast<char>(std::tolower(byte)));
    }
    was_lower = std::islower(byte) != 0;
  }
  end_word();
  return words;
}

const std::map<std::string_view, std::string_view>& meanings() {
  static const std::map<std::string_view, std::string_view> kMeanings = [] {
    std::map<std::string_view, std::string_view> of;
    for (const std::string_view row : kThesaurus) {
      for (std::size_t begin = 0; begin < row.size();) {
        const std::size_t end = std::min(row.find(' ', begin), row.size());
        of.emplace(row.substr(begin, end - begin), row.substr(0, row.find(' ')));
        begin = end + 1;
      }
    }
    return of;
  }();
  return kMeanings;
}

std::string meaning_of(const std::string& word) {
  const auto found = meanings().find(word);
  return found == meanings().end() ? word : std::string(found->second);
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> meanings_of(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::string meaning = meaning_of(word);
    if (!has(out, meaning)) out.push_back(std::move(meaning));
  }
  return out;
}

// As what is typed reads after kPhrases.
std::string rephrased(std::string_view typed) {
  std::string text = ' ' + fmt::format("{}", fmt::join(words_of(typed), " ")) + ' ';
  for (const auto& [from, to] : kPhrases) {
    const std::size_t at = text.find(fmt::format(" {} ", from));
    if (at != std::string::npos) text.replace(at + 1, from.size(), to);
  }
  return text;
}

bool are_same(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  const auto are_in = [](const std::vector<std::string>& some,
                         const std::vector<std::string>& all) {
    return std::all_of(some.begin(), some.end(), [&](const auto& each) { return has(all, each); });
  };
  return !one.empty() && are_in(one, other) && are_in(other, one);
}

}  // namespace

std::vector<std::string> content_words(std::string_view typed) {
  std::vector<std::string> all = words_of(typed), content;
  for (std::string& word : all) {
    if (!is_around(word)) content.push_back(singular(std::move(word)));
  }
  return content;
}

WordIndex::WordIndex(OptionTable table) : table_(std::move(table)) {
  for (const OptionRow& row : table_.rows) {
    Entry entry;
    if (!row.positional) {
      entry.plain = content_words(row.names.back());
      entry.name = meanings_of(entry.plain.empty() ? words_of(row.names.back()) : entry.plain);
      entry.help = meanings_of(content_words(row.help + ' ' + row.value_name));
    }
    entries_.push_back(std::move(entry));
  }
}

// A bound of something is not the thing: "--min-gpus" has no same words, and means only what is a
// minimum as well.
bool WordIndex::takes_value(std::string_view option) const {
  return std::any_of(rows().begin(), rows().end(), [&option](const OptionRow& row) {
    return !row.positional && row.takes_value() &&
           std::find(row.names.begin(), row.names.end(), option) != row.names.end();
  });
}

const OptionRow* WordIndex::same_words(std::string_view typed) const {
  if (typed.size() > kLongestName || has_bound(words_of(typed))) return nullptr;
  const std::vector<std::string> words = content_words(typed);
  const OptionRow* found = nullptr;
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    if (!are_same(words, entries_[i].plain)) continue;
    if (found != nullptr) return nullptr;
    found = &table_.rows[i];
  }
  return found;
}

std::string WordIndex::help_for_argument(std::string_view typed) const {
  if (typed.size() > kLongestName) return "";
  const std::vector<std::string> words = content_words(typed);
  for (const OptionRow& row : table_.rows) {
    if (!row.positional || !are_same(words, content_words(row.names.front()))) continue;
    return fmt::format("{} is the argument without a name: penstock {}", row.names.front(),
                       table_.usage);
  }
  return "";
}

const OptionRow* WordIndex::same_meaning(std::string_view typed) const {
  if (typed.size() > kLongestName) return nullptr;
  const std::string text = rephrased(typed);
  const std::vector<std::string> words = meanings_of(content_words(text)), all = words_of(text);
  const bool is_least = has(all, "min"), is_most = has(all, "max");
  const OptionRow* found = nullptr;
  for (std::size_t i = 0; i < table_.rows.size(); ++i) {
    if (!are_same(words, entries_[i].name)) continue;
    const std::vector<std::string> own = words_of(table_.rows[i].names.back());
    if ((is_least && !has(own, "min")) || (is_most && !has(own, "max"))) continue;
    if (found != nullptr) return nullptr;
    found = &table_.rows[i];
  }
  return found;
}

double WordIndex::weight_of(const std::string& word) const {
  double count = 0.0;
  for (const Entry& entry : entries_) count += has(entry.name, word) || has(entry.help, word);
  constexpr double kVague = 0.3;
  return std::log(1.0 + static_cast<double>(entries_.size()) / (1.0 + count)) *
         (says_little(word) ? kVague : 1.0);
}

std::vector<const OptionRow*> WordIndex::about(std::string_view typed) const {
  constexpr double kInHelp = 0.45, kUnsaid = 0.1, kLeast = 0.38, kNear = 0.85;
  if (typed.size() > kLongestName) return {};
  const std::vector<std::string> words = meanings_of(content_words(rephrased(typed)));
  double whole = 0.0;
  for (const std::string& word : words) whole += weight_of(word);
  struct Scored {
    const OptionRow* row;
    double score;
  };
  std::vector<Scored> scored;
  for (std::size_t i = 0; i < table_.rows.size() && whole > 0.0; ++i) {
    const Entry& entry = entries_[i];
    double score = 0.0;
    for (const std::string& word : words) {
      score += weight_of(word) * (has(entry.name, word)   ? 1.0
                                  : has(entry.help, word) ? kInHelp
                                                          : 0.0);
    }
    const auto unsaid = std::count_if(entry.name.begin(), entry.name.end(),
                                      [&](const std::string& word) { return !has(words, word); });
    score = score / whole - kUnsaid * static_cast<double>(unsaid);
    if (score >= kLeast) scored.push_back({&table_.rows[i], score});
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  constexpr std::size_t kMost = 3;
  std::vector<const OptionRow*> best;
  for (const Scored& each : scored) {
    if (best.size() == kMost || each.score < scored.front().score * kNear) break;
    best.push_back(each.row);
  }
  return best;
}

namespace {

bool can_be_shown(const std::string& typed) {
  return !typed.empty() && typed.size() <= kLongestName && !typed.starts_with('-') &&
         typed.find(' ') == std::string::npos;
}

}  // namespace

std::string with_value(std::string help, const std::string& typed) {
  for (std::size_t at = help.find('{'); at != std::string::npos; at = help.find('{', at)) {
    const std::size_t end = help.find('}', at);
    const std::string word = can_be_shown(typed) ? typed : help.substr(at + 1, end - at - 1);
    help.replace(at, end - at + 1, word);
    at += word.size();
  }
  return help;
}

std::string option_shown(const OptionRow& row, const std::string& typed) {
  constexpr std::size_t kLongest = 110;
  std::string help = row.help.substr(0, row.help.find(". "));
  if (help.size() > kLongest) {
    std::size_t end = help.find_last_of(";,", kLongest);
    if (end == std::string::npos || end < kLongest / 3) end = help.rfind(' ', kLongest);
    if (end < help.size()) help = help.substr(0, end) + (help[end] == ';' ? "" : " ...");
  }
  if (row.value_name.empty()) return fmt::format("{}: {}", row.names.back(), help);
  return fmt::format("{} {}: {}", row.names.back(), can_be_shown(typed) ? typed : row.value_name,
                     help);
}

}  // namespace penstock
