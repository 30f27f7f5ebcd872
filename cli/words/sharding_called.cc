#include "cli/words/sharding_called.h"

#include <utility>

#include <fmt/format.h>

#include "cli/words/field_words.h"
#include "cli/words/parse.h"

namespace penstock {
namespace {

using Table = std::vector<std::pair<std::string, ShardingChoice>>;

const Table& names() {
  static const Table table{
      {"none", {}},
      {"zero1", {true, Sharding::kState}},
      {"zero2", {true, Sharding::kGradients}},
      {"zero3", {true, Sharding::kParameters}},
      {"fsdp", {true, Sharding::kFsdp}},
  };
  return table;
}

// Other people's words for them.
const Table& synonyms() {
  static const Table table{
      {"ddp", {}},
      {"off", {}},
      {"0", {}},
      {"no-shard", {}},
      {"1", {true, Sharding::kState}},
      {"on", {true, Sharding::kState}},
      {"zero-1", {true, Sharding::kState}},
      {"optim", {true, Sharding::kState}},
      {"2", {true, Sharding::kGradients}},
      {"zero-2", {true, Sharding::kGradients}},
      {"optim-grads", {true, Sharding::kGradients}},
      {"shard-grad-op", {true, Sharding::kGradients}},
      {"3", {true, Sharding::kParameters}},
      {"zero-3", {true, Sharding::kParameters}},
      {"optim-grads-params", {true, Sharding::kParameters}},
      {"stage0", {}},
      {"stage1", {true, Sharding::kState}},
      {"stage2", {true, Sharding::kGradients}},
      {"stage3", {true, Sharding::kParameters}},
      {"zero-0", {}},
      {"fsdp2", {true, Sharding::kFsdp}},
      {"full-shard", {true, Sharding::kFsdp}},
      {"fully-shard", {true, Sharding::kFsdp}},
  };
  return table;
}

}  // namespace

ShardingChoice sharding_called(std::string_view option, const std::string& typed) {
  const std::size_t colon = typed.find(':');
  const std::string word = plain_word(typed.substr(0, colon));
  ShardingChoice choice;
  bool known = false;
  for (const auto& [name, value] : synonyms()) {
    if (name != word) continue;
    choice = value;
    known = true;
  }
  if (word == "hybrid-shard" || word == "hsdp" || word.starts_with("zero++")) {
    bad_option(option, fmt::format("'{}' does not say the groups", typed),
               "write fsdp:8 for FSDP within groups of 8 replicas, or zero3:8");
  }
  if (!known) choice = parse_word(option, word, names(), "sharding ");
  if (colon == std::string::npos) return choice;
  if (choice.sharding < Sharding::kParameters) {
    bad_option(option, "groups of shards are for fsdp and zero3", "leave out what follows the ':'");
  }
  choice.group = parse_int(option, typed.substr(colon + 1), 1);
  return choice;
}

bool offload_called(std::string_view option, const std::string& typed) {
  const std::string word = plain_word(typed);
  if (word == "off" || word == "device" || word == "gpu") return false;
  if (word == "on" || word == "cpu" || word == "host" || word == "optim") return true;
  static const std::vector<std::pair<std::string, bool>> table{{"none", false},
                                                               {"optimizer", true}};
  return parse_word(option, word, table, "offload ");
}

ContextKind context_kind_called(std::string_view option, const std::string& typed) {
  const std::string word = plain_word(typed);
  if (word == "p2p") return ContextKind::kRing;
  if (word == "a2a") return ContextKind::kUlysses;
  if (word == "allgather") return ContextKind::kAllGather;
  static const std::vector<std::pair<std::string, ContextKind>> table{
      {"ring", ContextKind::kRing},
      {"all-gather", ContextKind::kAllGather},
      {"ulysses", ContextKind::kUlysses}};
  return parse_word(option, word, table, "kind ");
}

std::vector<std::string> context_kind_names() { return {"ring", "all-gather", "ulysses"}; }

}  // namespace penstock
