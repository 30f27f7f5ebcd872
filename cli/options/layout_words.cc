// What people write of a layout: pairs KEY=VALUE in any order, between blanks or commas. Keys have
// the names of all trainers (TP, tensor, pipeline-model-parallel-size), "TP8" and "TP 8 x PP 4", as
// plans are printed, are read too, and numbers behind a list belong to it. A key is known by one
// table, from which --help and the messages are made; a key given twice is refused, never the last
// one taken.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "cli/options/global_batch.h"
#include "cli/options/layout.h"
#include "cli/options/parse.h"
#include "cli/options/pasted_pairs.h"
#include "cli/options/schedule_called.h"
#include "cli/options/sharding_called.h"
#include "report/words.h"

namespace penstock {
namespace {

// What a key is called, the first as --help has it, and what it means.
struct Key {
  std::array<std::string_view, 4> names;
  std::string_view means;
};
constexpr std::array kKeys{
    Key{{"TP", "T", "tensor"}, "tensor degree, default 1"},
    Key{{"CP", "C", "context"}, "ranks that divide every sequence, default 1"},
    Key{{"cp-kind", "cp-comm-type", "context-kind"},
        "ring (default), all-gather or ulysses: how they attend to each other's tokens"},
    Key{{"EP", "expert", "experts"},
        "ranks of DP x CP x TP that have the experts of a layer between them, default 1"},
    Key{{"ETP", "expert-tensor"}, "ranks that divide one expert, 1 or TP, default 1 where EP > 1"},
    Key{{"PP", "P", "pipeline"}, "pipeline ranks, default 1"},
    Key{{"DP", "D", "data"}, "replicas, default --gpus / (TP CP PP), else 1"},
    Key{{"VP", "V", "VPP", "chunks"},
        "virtual stages per rank, default the fewest of the schedule"},
    Key{{"mbs", "b"}, "micro-batch size, default 1"},
    Key{{"gbs", "gb", "B", "global-batch"}, "samples per step"},
    Key{{"M", "micro-batches"}, "micro-batches of a replica, instead of gbs"},
    Key{{"seq", "s", "sequence-length"}, "tokens per sample, default the model's"},
    Key{{"schedule"}, "default 1f1b, with VP > 1 interleaved"},
    Key{{"recompute"}, "a mode of the profile, default none"},
    Key{{"recompute-sections"},
        "4,3,..: how many sections of every stage use that mode, counted from its first, "
        "default all"},
    Key{{"zero1", "distributed-optimizer"}, "on or off, default off"},
    Key{{"sharding", "zero-stage", "zero"},
        "none, zero1, zero2, zero3 or fsdp, fsdp:8 in groups of 8 replicas (HSDP), default none"},
    Key{{"FSDP", "dp-shard", "data-parallel-shard-degree"},
        "sharding=fsdp over this many ranks, with more replicas in groups of them (HSDP)"},
    Key{{"offload"}, "none (default) or optimizer: its state lies on the host, which updates"},
    Key{{"placement"},
        "pipeline-inner (default: neighbouring ranks hold the stages of one replica) or "
        "data-inner"},
    Key{{"device"}, "a device type of the cluster"},
    Key{{"devices"}, "device types of a mixed pipeline, its ranks in order: 2*a100+2*v100"},
    Key{{"replicas"},
        "unequal replicas: 2*a100:24/(a100+v100):8 lists the kinds of replicas, separated by /, "
        "each COUNT*DEVICES and after the colon the samples of each replica per step (without: an "
        "equal part of the rest)"},
    Key{{"cuts"},
        "equal (default: as many layers on every stage, the embedding on the first, the head on "
        "the last); search (as plan does); or 0,5,..: the first section of every stage, and at "
        "the end the number of sections"},
};

// The first name of a key; empty when there is none of the name. A lone B is the global batch, b
// the size of a micro-batch.
std::string_view key_named(std::string_view name) {
  if (name == "b") return "mbs";
  if (name == "B") return "gbs";
  for (const Key& key : kKeys) {
    for (const std::string_view known : key.names) {
      if (!known.empty() && plain_word(known) == plain_word(name)) return key.names[0];
    }
  }
  const std::string field = field_word(key_called(name));
  for (const Key& key : kKeys) {
    if (key.names[0] == field) return key.names[0];
  }
  return {};
}

// What is said elsewhere, or in another word; "{}" is the value that was typed.
struct KeyElsewhere {
  std::array<std::string_view, 6> names;
  std::string_view help;
};
constexpr std::array kElsewhere{
    KeyElsewhere{{"sp", "sequence-parallel", "precision", "attention", "bf16", "dtype"},
                 "leave it out of the layout: sequence parallelism, precision and attention have "
                 "options (--sequence-parallelism off, --precision bfloat16, --attention flash2)"},
    KeyElsewhere{{"gpus", "gpu", "world-size", "ngpus", "num-gpus", "ranks"},
                 "the layout takes TP x CP x PP x DP GPUs; an option counts those that there are, "
                 "and DP follows where it is left out: --gpus {}"},
    KeyElsewhere{{"nodes", "nnodes", "num-nodes", "hosts", "", ""},
                 "the layout takes TP x CP x PP x DP GPUs; those of all nodes are an option: "
                 "--gpus N"},
    KeyElsewhere{{"layers", "hidden", "heads", "hidden-size", "num-layers", "vocab"},
                 "leave it out: the model's config.json says it"},
    KeyElsewhere{{"model", "config", "profile", "name", "", ""},
                 "leave it out: the model is the first argument"},
    KeyElsewhere{{"for", "trainer", "framework", "backend", "engine", ""},
                 "it is an option: --for {}"},
    KeyElsewhere{{"ac", "activation-checkpointing", "checkpointing", "ckpt", "remat",
                  "gradient-checkpointing"},
                 "write recompute=full or recompute=selective"},
    KeyElsewhere{{"optimizer-offload", "cpu-offload", "offload-optimizer", "", "", ""},
                 "write offload=optimizer"},
    KeyElsewhere{
        {"pp-schedule", "pipeline-schedule", "sched", "pipeline-parallel-schedule", "", ""},
        "write schedule={}"},
    KeyElsewhere{{"zero-3", "zero3", "hsdp", "ddp", "fsdp2", "ds-zero"},
                 "write sharding=zero3, zero2, zero1, fsdp (fsdp:8 in groups of 8) or none"},
    KeyElsewhere{{"tokens", "batch-tokens", "global-batch-tokens", "tokens-per-batch",
                  "tokens-per-step", ""},
                 "gbs counts samples: the tokens of a step divided by seq"},
    KeyElsewhere{{"lr", "learning-rate", "steps", "epochs", "seed", "wd"},
                 "leave it out: it changes neither the time of a step nor its memory"},
    KeyElsewhere{{"time", "step-time", "measured", "latency", "", ""},
                 "a time that you measured is an option: --measured {}"},
};

void refuse_elsewhere(std::string_view option, std::string_view name, const std::string& value) {
  for (const KeyElsewhere& row : kElsewhere) {
    if (std::find(row.names.begin(), row.names.end(), plain_word(name)) == row.names.end())
      continue;
    std::string help(row.help);
    if (const std::size_t at = help.find("{}"); at != std::string::npos) {
      help.replace(at, 2, value.empty() ? "N" : value);
    }
    bad_option(option, fmt::format("unknown key '{}'", name), help);
  }
}

[[noreturn]] void unknown_key(std::string_view option, std::string_view name,
                              const std::string& value) {
  for (const std::string_view batch : {"bs", "batch", "batch-size", "bsz"}) {
    if (plain_word(name) != batch) continue;
    bad_option(
        option, fmt::format("'{}' does not say of what", name),
        "write gbs=N, the samples of a step over all GPUs, or mbs=N, those of a micro-batch");
  }
  refuse_elsewhere(option, name, value);
  std::vector<std::string> known, first;
  for (const Key& key : kKeys) {
    first.emplace_back(key.names[0]);
    for (const std::string_view each : key.names) {
      if (!each.empty()) known.emplace_back(each);
    }
  }
  const std::string near = did_you_mean(name, known);
  constexpr std::size_t kShortest = 3;  // "ga" is one letter from "gb", and means another thing
  const bool is_near = name.size() >= kShortest && near.starts_with("did you mean");
  bad_option(option, fmt::format("unknown key '{}'", name.substr(0, 60)),
             is_near ? near : "known: " + joined(first, ", "));
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_list(std::string_view word) {
  const std::string_view key = key_named(word.substr(0, word.find('=')));
  return key == "cuts" || key == "recompute-sections";
}

// The key of a degree, and what follows it without a blank: "TP8" is "TP=8".
std::string with_equals(const std::string& word) {
  const std::size_t digit = word.find_first_of("0123456789");
  if (digit == std::string::npos || digit == 0 || !is_number(word.substr(digit))) return word;
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
        i + 1 < words.size() && !key_called(words[i]).empty() && is_number(words[i + 1]);
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
    const bool continues = is_number(word) && !words.empty() && is_list(words.back());
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

// "4M", "4194304", "512k tokens": more than any step has samples, so they are tokens.
std::optional<double> tokens_in(const std::string& value) {
  const std::string plain = plain_word(value);
  const std::size_t unit = plain.find("tok");
  const bool says_tokens = unit != std::string::npos;
  const std::string number = plain.substr(0, unit);
  double tokens = 0.0;
  const std::size_t end = std::min(number.find_first_not_of("0123456789."), number.size());
  const auto result = std::from_chars(number.data(), number.data() + end, tokens);
  if (result.ec != std::errc() || result.ptr != number.data() + end) return {};
  const std::string suffix = number.substr(end);
  constexpr double kKilo = 1024.0;
  if (suffix == "k") tokens *= kKilo;
  if (suffix == "m") tokens *= kKilo * kKilo;
  const bool is_read = suffix.empty() || suffix == "k" || suffix == "m";
  return is_read && (says_tokens || tokens > kMostSamples || suffix == "m") ? std::optional(tokens)
                                                                            : std::nullopt;
}

// The layout with samples in the place of tokens, whose number follows from seq.
void refuse_tokens(std::string_view option, const std::string& value,
                   const std::vector<std::string>& words) {
  const auto tokens = tokens_in(value);
  if (!tokens) return;
  double length = 0.0;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || key_named(word.substr(0, equals)) != "seq") continue;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), length);
  }
  const bool says_length = length > 0.0;
  constexpr double kUsualLength = 8192.0;
  if (!says_length) length = kUsualLength;
  const double samples = std::max(1.0, std::round(*tokens / length));
  std::string written;
  for (const std::string& word : words) {
    const bool is_batch = key_named(word.substr(0, word.find('='))) == "gbs";
    written +=
        (written.empty() ? "" : " ") + (is_batch ? fmt::format("gbs={:.0f}", samples) : word);
  }
  if (!says_length) written += fmt::format(" seq={:.0f}", length);
  bad_option(
      option,
      fmt::format("gbs = '{}' is a number of tokens, and samples are counted", value.substr(0, 60)),
      fmt::format("divide by seq: {:.0f} / {:.0f}{} are {:.0f} samples: {} \"{}\"", *tokens, length,
                  says_length ? "" : " tokens, if samples are so long,", samples, option, written));
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

// "8 gpus" and "batch 4" of a layout in words; 0 where it says neither.
struct CountsInProse {
  std::int64_t gpus = 0, batch = 0;
};

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The pairs among the words, and the counts; nothing where a word is none of these.
std::optional<std::vector<std::string>> pairs_in_words(const std::vector<std::string>& words,
                                                       CountsInProse& counts) {
  constexpr std::size_t kMostDigits = 7;
  std::vector<std::string> pairs;
  std::int64_t number = 0;
  std::string thing;
  const auto take = [&] {
    if (number == 0 || thing.empty()) return;
    (thing == "gpus" ? counts.gpus : counts.batch) = number;
    number = 0;
    thing.clear();
  };
  for (const std::string& word : words) {
    const std::string plain = plain_word(word);
    if (word.find('=') != std::string::npos) {
      pairs.push_back(word);
    } else if (const std::string pair = pair_called(word); !pair.empty()) {
      pairs.push_back(pair);
    } else if (is_number(word) && word.size() <= kMostDigits && number == 0) {
      number = std::stoll(word);
      take();
    } else if (is_one_of(plain, {"gpus", "gpu", "devices", "cards", "ranks", "batch", "bs",
                                 "batch-size", "global-batch"})) {
      if (!thing.empty()) return std::nullopt;
      thing = plain.find('b') == std::string::npos ? "gpus" : "batch";
      take();
    } else if (!is_one_of(plain, {"on", "with", "and", "of", "x", "size", "over", "at"})) {
      return std::nullopt;
    }
  }
  return number == 0 && thing.empty() ? std::optional(pairs) : std::nullopt;
}

int degree_in(const std::vector<std::string>& pairs, std::string_view key) {
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (key_named(pair.substr(0, equals)) != key || !is_number(pair.substr(equals + 1))) continue;
    return pair.size() - equals < 8 ? std::stoi(pair.substr(equals + 1)) : 0;
  }
  return 0;
}

// "ZeRO-3 8 gpus batch 4" as "sharding=zero3 DP=8 mbs=4 gbs=32"; empty where a word is not known. A
// batch that is smaller than the replicas is that of one GPU.
std::string layout_in_prose(const std::vector<std::string>& words) {
  CountsInProse counts;
  auto pairs = pairs_in_words(words, counts);
  if (!pairs || (counts.gpus == 0 && counts.batch == 0)) return "";
  std::int64_t others = 1, replicas = degree_in(*pairs, "DP");
  for (const std::string_view key : {"TP", "CP", "PP"})
    others *= std::max(1, degree_in(*pairs, key));
  if (replicas == 0 && counts.gpus > 0 && others > 0 && counts.gpus % others == 0) {
    replicas = counts.gpus / others;
    pairs->push_back(fmt::format("DP={}", replicas));
  }
  if (counts.batch > 0 && counts.batch < replicas) {
    pairs->push_back(fmt::format("mbs={} gbs={}", counts.batch, counts.batch * replicas));
  } else if (counts.batch > 0) {
    pairs->push_back(fmt::format("gbs={}", counts.batch));
  }
  return joined(*pairs, " ");
}

}  // namespace

Layout parse_layout(std::string_view option, std::string_view text) {
  Layout layout;
  std::vector<std::string_view> seen;
  const std::vector<std::string> words = with_equals(words_in(text));
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
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
      if (const std::string pair = pair_called(word); !pair.empty()) {
        std::vector<std::string> all = words;
        std::replace(all.begin(), all.end(), word, pair);
        bad_option(option, fmt::format("'{}' is not KEY=VALUE", word.substr(0, 60)),
                   fmt::format("write {} \"{}\"", option, joined(all, " ")));
      }
      if (word.find_first_not_of("0123456789") == std::string::npos)
        refuse_second_value(option, text, word);
      if (equals == std::string::npos) refuse_elsewhere(option, word, "");
      bad_option(option, fmt::format("'{}' is not KEY=VALUE", word.substr(0, 60)),
                 "write for example \"TP=4 PP=8 DP=2 mbs=1 gbs=128\"");
    }
    const std::string_view key = key_named(word.substr(0, equals));
    if (key.empty()) unknown_key(option, word.substr(0, equals), word.substr(equals + 1));
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      bad_option(option, fmt::format("{} is given twice", key), "keep one of them");
    }
    seen.push_back(key);
    if (key == "gbs" && option == "--layout") refuse_tokens(option, word.substr(equals + 1), words);
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
      if (std::find(types.begin(), types.end(), run.device) == types.end()) {
        types.push_back(run.device);
      }
    }
  };
  add(layout.devices);
  for (const ReplicasOn& kind : layout.replicas) add(kind.ranks);
  return types;
}

std::string layout_keys_help() {
  std::string text;
  for (const Key& key : kKeys) {
    text += text.empty() ? "" : "; ";
    text += key.names[0];
    for (std::size_t i = 1; i < key.names.size(); ++i) {
      if (!key.names[i].empty()) text += fmt::format(" or {}", key.names[i]);
    }
    text += fmt::format(": {}", key.means);
  }
  return text;
}

}  // namespace penstock
