// What people write of a layout: pairs KEY=VALUE in any order, between blanks or commas. Keys have
// the names of all trainers (TP, tensor, pipeline-model-parallel-size), "TP8" and "TP 8 x PP 4", as
// plans are printed, are read too, and numbers behind a list belong to it. A key given twice is
// refused, never the last one taken.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/answers/files/typed_files.h"
#include "cli/options/batch_in_tokens.h"
#include "cli/options/layout.h"
#include "cli/options/layout_in_prose.h"
#include "cli/options/layout_keys.h"
#include "cli/words/field_words.h"
#include "cli/words/is_among.h"
#include "cli/words/is_digits.h"
#include "cli/words/parse.h"
#include "cli/words/pasted_pairs.h"
#include "cli/words/schedule_called.h"
#include "cli/words/sharding_called.h"
#include "report/words.h"

namespace penstock {
namespace {

bool is_list(std::string_view word) {
  const std::string_view key = key_named(word.substr(0, word.find('=')));
  return key == "cuts" || key == "recompute-sections";
}

// The key of a degree, and what follows it without a blank: "TP8" is "TP=8".
std::string with_equals(const std::string& word) {
  const std::size_t digit = word.find_first_of("0123456789");
  if (digit == std::string::npos || digit == 0 || !is_digits(word.substr(digit))) return word;
  return key_called(word.substr(0, digit)).empty()
             ? word
             : word.substr(0, digit) + "=" + word.substr(digit);
}

// "TP 8 x PP 4 x DP 2, VP 2, mbs 1", as plans are printed, is "TP=8 PP=4 DP=2 VP=2 mbs=1".
std::vector<std::string> with_equals(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "x" || words[i] == "*") continue;
    const bool is_pair =
        i + 1 < words.size() && !key_called(words[i]).empty() && is_digits(words[i + 1]);
    result.push_back(is_pair ? words[i] + "=" + words[i + 1] : with_equals(words[i]));
    if (is_pair) ++i;
  }
  return result;
}

// Words between blanks and commas; a number that follows that of a list belongs to it.
std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    const bool continues = is_digits(word) && !words.empty() && is_list(words.back());
    if (continues) {
      words.back() += "," + word;
    } else {
      words.push_back(word);
    }
    word.clear();
  };
  for (const char c : text) {
    if (c == ',' || c == ';' || std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
    } else {
      word.push_back(c);
    }
  }
  end_word();
  return words;
}

std::vector<int> parse_cuts(std::string_view option, const std::string& value) {
  std::vector<int> cuts;
  for (const std::string& cut : parse_list(option, value)) {
    cuts.push_back(parse_int(std::string(option) + " cuts", cut, 0));
    if (cuts.size() > 1 && cuts.back() <= cuts[cuts.size() - 2]) {
      bad_option(option,
                 fmt::format("cuts do not ascend: {} after {}", cuts.back(), cuts[cuts.size() - 2]),
                 "give the first section of every stage and, last, the number of sections");
    }
  }
  return cuts;
}

std::vector<int> parse_counts(std::string_view option, const std::string& value) {
  std::vector<int> counts;
  for (const std::string& count : parse_list(option, value)) {
    counts.push_back(parse_int(std::string(option) + " recompute-sections", count, 0));
  }
  return counts;
}

void set_cuts(std::string_view option, const std::string& value, Layout& layout) {
  if (value == "search") {
    layout.default_cuts = DefaultCuts::kSearched;
  } else if (value != "equal") {
    layout.cuts = parse_cuts(option, value);
  }
}

Placement placement_of(std::string_view option, const std::string& value) {
  if (value == "pipeline-inner") return Placement::kPipelineInner;
  if (value == "data-inner") return Placement::kDataInner;
  bad_option(option, fmt::format("unknown placement '{}'", value), "pipeline-inner or data-inner");
}

std::optional<int>* number_of(Layout& layout, std::string_view key) {
  if (key == "TP") return &layout.tensor;
  if (key == "CP") return &layout.context;
  if (key == "EP") return &layout.expert;
  if (key == "ETP") return &layout.expert_tensor;
  if (key == "PP") return &layout.pipeline;
  if (key == "DP") return &layout.data;
  if (key == "VP") return &layout.chunks;
  if (key == "mbs") return &layout.micro_batch_size;
  if (key == "gbs") return &layout.global_batch;
  if (key == "M") return &layout.micro_batches;
  if (key == "seq") return &layout.sequence_length;
  if (key == "FSDP") return &layout.shards;
  return nullptr;
}

void set(std::string_view option, std::string_view key, const std::string& value, Layout& layout) {
  if (std::optional<int>* number = number_of(layout, key)) {
    if (value.find('/') != std::string::npos) {
      bad_option(option, fmt::format("{} is '{}'", key, value),
                 "replicas may differ in their device types and their shares of the batch "
                 "(replicas=..), not in TP, PP, mbs or cuts");
    }
    *number = parse_int(fmt::format("{} {}", option, key), value, 1);
  } else if (key == "schedule") {
    layout.schedule = schedule_called(option, value);
  } else if (key == "recompute") {
    layout.recompute = value;
  } else if (key == "recompute-sections") {
    layout.recompute_sections = parse_counts(option, value);
  } else if (key == "zero1") {
    layout.zero1 = parse_on_off(fmt::format("{} zero1", option), value);
  } else if (key == "sharding") {
    layout.sharding = sharding_called(fmt::format("{} sharding", option), value);
  } else if (key == "offload") {
    layout.offload = offload_called(fmt::format("{} offload", option), value);
  } else if (key == "cp-kind") {
    layout.context_kind = context_kind_called(fmt::format("{} cp-kind", option), value);
  } else if (key == "placement") {
    layout.placement = placement_of(option, value);
  } else if (key == "device") {
    layout.device = value;
  } else if (key == "devices") {
    layout.devices = parse_ranks_on(fmt::format("{} devices", option), value);
  } else if (key == "replicas") {
    layout.replicas = parse_replicas_on(fmt::format("{} replicas", option), value);
  } else {
    set_cuts(option, value, layout);
  }
}

// "TP8PP4DP2 gbs=64": what runs together, and what does not, as pairs; or nothing.
std::string pairs_of_words(const std::vector<std::string>& words) {
  std::string pairs;
  for (const std::string& word : with_equals(words)) {
    const std::string more = word.find('=') != std::string::npos ? word : pasted_pairs(word);
    if (more.empty()) return "";
    pairs += (pairs.empty() ? "" : ",") + more;
  }
  return pairs;
}

// "fp8", "bf16": the precision that is called so, or nothing.
std::string_view precision_named(const std::string& typed) {
  struct Row {
    std::string_view typed, name;
  };
  constexpr std::array<Row, 10> kRows{
      Row{"fp8", "float8"},         Row{"float8", "float8"},
      Row{"bf16", "bfloat16"},      Row{"bfloat16", "bfloat16"},
      Row{"fp16", "float16"},       Row{"float16", "float16"},
      Row{"tf32", "tensorfloat32"}, Row{"fp32", "float32"},
      Row{"float32", "float32"},    Row{"tensorfloat32", "tensorfloat32"}};
  const std::string word = plain_word(typed);
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) { return each.typed == word; });
  return row == kRows.end() ? std::string_view() : row->name;
}

// "2x4x8" in its parts; nothing of other words.
std::vector<std::string> bare_degrees(const std::string& word) {
  std::vector<std::string> parts(1);
  for (const char c : word) {
    if (c == 'x' || c == '*') {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  const bool are_numbers = std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
    return !part.empty() && is_digits(part);
  });
  return are_numbers ? parts : std::vector<std::string>{};
}

// Of a word that is not KEY=VALUE.
[[noreturn]] void refuse_no_pair(std::string_view option, std::string_view text,
                                 const std::string& word, const std::vector<std::string>& words) {
  std::string pairs = pasted_pairs(text);
  if (pairs.empty()) pairs = pairs_of_words(words_in(text));
  std::replace(pairs.begin(), pairs.end(), ',', ' ');
  if (!pairs.empty()) {
    bad_option(option, "it is not written as KEY=VALUE ...",
               fmt::format("write \"{}\"{}", pairs,
                           option == "--layout" && pairs.find("gbs=") == std::string::npos
                               ? ", and gbs=N, the samples of a step, with them"
                               : ""));
  }
  if (word.starts_with("bs") || word.starts_with("batch")) unknown_key(option, word, "");
  if (const std::string prose = layout_in_prose(words); !prose.empty()) {
    bad_option(option, "it is not written as KEY=VALUE ...",
               fmt::format("write {} \"{}\"; gbs counts the samples of a step over all GPUs, "
                           "mbs those of a micro-batch",
                           option, prose));
  }
  if (role_of(word) == FileRole::kPlan) {
    bad_option(option, word.substr(0, 60) + " is a plan, which has a layout of its own",
               "penstock simulate " + word +
                   " replays it; a layout is written as \"TP=4 PP=8 DP=2 "
                   "mbs=1 gbs=128\"");
  }
  if (const std::string_view precision = precision_named(word); !precision.empty()) {
    bad_option(option, fmt::format("'{}' is no part of a layout", word.substr(0, 60)),
               fmt::format("leave it out there, and write --precision {} beside it", precision));
  }
  if (const std::string pair = pair_called(word); !pair.empty()) {
    std::vector<std::string> all = words;
    std::replace(all.begin(), all.end(), word, pair);
    bad_option(option, fmt::format("'{}' is not KEY=VALUE", word.substr(0, 60)),
               fmt::format("write {} \"{}\"", option, joined(all, " ")));
  }
  if (const std::vector<std::string> degrees = bare_degrees(word); degrees.size() == 3) {
    bad_option(
        option, fmt::format("'{}' does not say which degree is which", word),
        fmt::format("if they are TP, PP and DP, write {} \"TP={} PP={} DP={} mbs=1 gbs=512\"",
                    option, degrees[0], degrees[1], degrees[2]));
  }
  if (word.find_first_not_of("0123456789") == std::string::npos)
    refuse_second_value(option, text, word);
  if (word.find('=') == std::string::npos) refuse_elsewhere(option, word, "");
  bad_option(option, fmt::format("'{}' is not KEY=VALUE", word.substr(0, 60)),
             "write for example \"TP=4 PP=8 DP=2 mbs=1 gbs=128\"");
}

}  // namespace

Layout parse_layout(std::string_view option, std::string_view text) {
  Layout layout;
  std::vector<std::string_view> seen;
  const std::vector<std::string> words = with_equals(words_in(text));
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      refuse_no_pair(option, text, word, words);
    }
    const std::string_view key = key_named(word.substr(0, equals));
    if (key.empty()) unknown_key(option, word.substr(0, equals), word.substr(equals + 1));
    if (is_among(seen, key)) {
      bad_option(option, fmt::format("{} is given twice", key), "keep one of them");
    }
    seen.push_back(key);
    if (key == "gbs" && option == "--layout")
      refuse_batch_in_tokens(option, word.substr(equals + 1), words);
    set(option, key, word.substr(equals + 1), layout);
  }
  if (seen.empty()) {
    bad_option(option, "it is empty", "write for example \"TP=4 PP=8 DP=2 mbs=1 gbs=128\"");
  }
  return layout;
}

std::vector<std::string> device_types_of(const Layout& layout) {
  std::vector<std::string> types;
  const auto add = [&](const std::vector<RanksOn>& ranks) {
    for (const RanksOn& run : ranks) {
      if (!is_among(types, run.device)) types.push_back(run.device);
    }
  };
  add(layout.devices);
  for (const ReplicasOn& kind : layout.replicas) add(kind.ranks);
  return types;
}

}  // namespace penstock
