#include "cli/answers/options/denied_options.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/answers/options/word_for_parts.h"
#include "cli/words/field_words.h"

namespace penstock {

// "--no-pipeline", "--disable-zero": no misspelt option, but the opposite of one.
std::string help_for_denied(const std::string& plain, const Asked& asked) {
  for (const std::string_view no : {"no-", "disable-", "without-"}) {
    if (!plain.starts_with(no)) continue;
    const std::string rest = plain.substr(no.size());
    const OptionRow* flag = asked.index().same_words(rest);
    if (flag == nullptr) flag = asked.index().same_meaning(rest);
    if (flag != nullptr && !flag->takes_value()) {
      return fmt::format("leave it out: {} is off unless it is written", flag->names.back());
    }
    if (rest.starts_with("interleav") || rest.starts_with("virtual") || rest == "vpp") {
      return asked.has("--pin") ? "write --pin VP=1" : "";
    }
    const std::string key = key_called(rest);
    if (!key.empty() && key.size() <= 2 && asked.has("--pin")) {
      return fmt::format("write --pin {}=1", field_word(key));
    }
    if (word_for_parts(rest) == "activation-checkpointing") {
      if (asked.has("--recompute")) return "write --recompute none";
      if (asked.has("--layout")) return "write --layout \"... recompute=none\"";
    }
    for (const std::string_view sharded : {"zero", "fsdp", "sharding", "zero1", "shard"}) {
      if (rest == sharded && asked.has("--sharding")) return "write --sharding none";
    }
  }
  // "--tp-range", "--mbs-list".
  for (const std::string_view many : {"-range", "-list", "-values", "-options", "-choices"}) {
    if (!plain.ends_with(many) || !asked.has("--pin")) continue;
    const std::string key = key_called(plain.substr(0, plain.size() - many.size()));
    const std::string word = field_word(key);
    if (key == "M" || key.empty()) continue;
    const bool is_searched = word == "TP" || word == "PP" || word == "DP" || word == "VP" ||
                             word == "CP" || word == "EP" || word == "mbs";
    return fmt::format("{}penstock compare ... --vary {}=1,2,4 plans for each",
                       is_searched ? "all are tried; " : "", word);
  }
  return "";
}

std::string help_for_filter(const std::string& plain, const Asked& asked) {
  if (const std::string own = "--" + plain.substr(std::min<std::size_t>(3, plain.size()));
      plain.starts_with("no-") && asked.has(own)) {
    return fmt::format("leave it out: {} is off, or has its default, unless it is written", own);
  }
  if (!asked.has("--pin")) return "";
  for (const std::string_view no : {"no-", "disable-", "without-"}) {
    if (!plain.starts_with(no) || !asked.has("--schedule")) continue;
    return "--schedule NAME,... names the schedules to try and --pin K=N,... fixes degrees: what "
           "is not named there is left out";
  }
  for (const std::string_view limit :
       {"min-", "max-", "least-", "most-", "at-least-", "at-most-"}) {
    if (!plain.starts_with(limit)) continue;
    return "no answer is filtered: plans are ranked by step time, with MFU, memory and price "
           "beside it (--top 20 prints more, --json all figures); --pin K=N,... fixes degrees";
  }
  return "";
}

}  // namespace penstock
