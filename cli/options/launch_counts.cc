// The words of torchrun, Slurm, Accelerate, DeepSpeed and Hugging Face's trainer are read by what
// they count: of a node, of nodes, of a GPU. A product is worked out with the numbers that were
// typed, never with usual ones.
#include "cli/options/launch_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "cli/options/field_words.h"
#include "core/values/units.h"
#include "report/words.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = 1 << 17;  // of GPUs, nodes and samples of one of them

struct Count {
  std::string name;
  std::int64_t number;
};

// "8", and of "gpu:8" and "gpu:h100:8" the 8.
std::optional<std::int64_t> number_in(std::string_view value, bool is_behind_colon) {
  const std::size_t colon = value.rfind(':');
  if (is_behind_colon && colon != std::string_view::npos) value.remove_prefix(colon + 1);
  std::int64_t number = 0;
  const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_whole = result.ec == std::errc() && result.ptr == value.data() + value.size();
  if (!is_whole || number < 1 || number > kMost) return std::nullopt;
  return number;
}

bool is_any_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "nproc-per-node", "gpus-per-node", "ntasks-per-node"; of "--gres gpu:8" the value says the rest.
bool is_per_node(const std::string& word) {
  if (word == "gres" || word == "nproc") return true;
  for (const std::string_view node : {"per-node", "per-machine", "per-host"}) {
    const std::size_t at = word.find(node);
    if (at == std::string::npos || at + node.size() != word.size()) continue;
    for (const std::string_view thing : {"gpu", "proc", "task", "device", "rank", "worker"}) {
      if (word.find(thing) < at) return true;
    }
  }
  return false;
}

bool is_nodes(const std::string& name, const std::string& word) {
  return name == "-N" || is_any_of(word, {"nodes", "nnodes", "num-nodes", "n-nodes", "nnode",
                                          "num-machines", "machines", "hosts", "num-hosts",
                                          "node-count", "trainer.num-nodes", "number-of-nodes"});
}

class Counts {
 public:
  Counts(const Arguments& arguments, const Asked& asked) : asked_(asked) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--") break;  // files follow
      const std::size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      if (!name.starts_with('-') || name.find_first_not_of('-') == std::string::npos) continue;
      const bool has_next = equals == std::string::npos && i + 1 < arguments.size();
      read(name, equals != std::string::npos ? argument.substr(equals + 1)
                 : has_next                  ? arguments[i + 1]
                                             : std::string());
    }
  }

  [[nodiscard]] std::vector<CountsMeant> meant() const {
    std::vector<CountsMeant> out;
    if (asked_.has("--gpus") && per_node_ && nodes_) out.push_back(of_nodes());
    const bool is_alone = nodes_ && nodes_->name == "-N" && !per_node_;
    if (is_alone && asked_.has("--nodes") && asked_.has("--gpus")) {
      out.push_back({{"-N"},
                     {},
                     fmt::format("which one? --nodes {0} counts machines (Slurm's -N), --gpus {0} "
                                 "the GPUs of all of them",
                                 nodes_->number)});
    }
    const bool asks_batch = asked_.has("--pin") && asked_.has("--global-batch");
    if (asked_.has("--cost")) add_costs(out);
    if (asks_batch && of_one_ && accumulation_ && !has_global_batch_) out.push_back(of_batch());
    return out;
  }

 private:
  // "--fwd 1ms --bwd 2ms", where a forward and a backward are known.
  void add_costs(std::vector<CountsMeant>& out) const {
    if (costs_.empty()) return;
    CountsMeant meant;
    std::vector<std::string> pairs;
    if (!whole_cost_.empty()) {
      meant.names.emplace_back("--cost");
      pairs.push_back(whole_cost_);
    }
    for (const auto& [name, pair] : costs_) {
      meant.names.push_back(name);
      pairs.push_back(pair);
    }
    const std::string all = joined(pairs, ",");
    std::set<std::string> keys;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find(',', at), all.size());
      const std::string pair = all.substr(at, end - at);
      if (pair.find('=') == std::string::npos) return;
      if (!keys.insert(cost_called(pair.substr(0, pair.find('=')))).second) return;
      at = end + 1;
    }
    const bool is_whole =
        keys.contains("F") && (keys.contains("B") || (keys.contains("I") && keys.contains("W")));
    if (!is_whole) return;
    meant.words = {"--cost", all};
    meant.help = fmt::format("costs are one option, with commas: --cost {}", all);
    out.push_back(std::move(meant));
  }

  void read(const std::string& name, const std::string& value) {
    const std::string word = plain_word(name.substr(name.find_first_not_of('-')));
    const std::string last = word.substr(word.rfind('.') + 1);
    if (name == "--gpus") gpus_ = number_in(value, false);
    if (name == "--cost") whole_cost_ += (whole_cost_.empty() ? "" : ",") + value;
    const std::string cost = asked_.has(name) ? "" : cost_called(word);
    if (cost.size() == 1 && cost != "O" && parse_duration(value)) {
      costs_.push_back({name, cost + '=' + value});
    }
    has_global_batch_ =
        has_global_batch_ || key_called(last) == "global-batch" || word == "global-batch-tokens";
    const auto number = number_in(value, is_per_node(last));
    if (!number) return;
    if (is_per_node(last)) per_node_ = Count{name, *number};
    if (is_nodes(name, word)) nodes_ = Count{name, *number};
    if (key_called(last) == "M" && last.size() > 2) accumulation_ = Count{name, *number};
    if (is_batch_of_one(last) || key_called(last) == "b") of_one_ = Count{name, *number};
  }

  [[nodiscard]] CountsMeant of_nodes() const {
    const std::int64_t gpus = nodes_->number * per_node_->number;
    constexpr std::int64_t kUsual = 8;
    const char* other = per_node_->number == kUsual || !asked_.has("--cluster")
                            ? ""
                            : "; how many a node has, a cluster file says: --cluster FILE";
    const std::string product = fmt::format("{} nodes x {}", nodes_->number, per_node_->number);
    if (gpus_) {
      return {
          {nodes_->name, per_node_->name},
          {},
          *gpus_ == gpus
              ? fmt::format("leave them out: --gpus {} counts the GPUs of all nodes{}", gpus, other)
              : fmt::format("--gpus counts the GPUs of all nodes, {} are {}: write --gpus {} "
                            "alone, or --gpus {} alone{}",
                            product, gpus, gpus, *gpus_, other)};
    }
    return {{nodes_->name, per_node_->name},
            {"--gpus", std::to_string(gpus)},
            fmt::format("write --gpus {}, the GPUs of all nodes ({}){}", gpus, product, other)};
  }

  // Every GPU a replica is what such trainers do; with TP, PP or CP there are fewer.
  [[nodiscard]] CountsMeant of_batch() const {
    std::optional<std::int64_t> gpus = gpus_;
    if (!gpus && per_node_ && nodes_) gpus = nodes_->number * per_node_->number;
    const std::int64_t samples = of_one_->number * accumulation_->number;
    const std::string pin = fmt::format("mbs={}", of_one_->number);
    const std::vector<std::string> names{of_one_->name, accumulation_->name};
    if (!gpus || samples > kMost || samples * *gpus > kMost) {
      return {names,
              {},
              fmt::format("write --global-batch N --pin {}: the samples of a step are {} x {} x DP",
                          pin, of_one_->number, accumulation_->number)};
    }
    return {
        names,
        {"--global-batch", std::to_string(samples * *gpus), "--pin", pin},
        fmt::format("write --global-batch {} --pin {} if every GPU is a replica: {} x {} x {} "
                    "samples a step; with TP, PP or CP it is {} x DP",
                    samples * *gpus, pin, of_one_->number, accumulation_->number, *gpus, samples)};
  }

  const Asked& asked_;
  std::optional<Count> per_node_, nodes_, of_one_, accumulation_;
  std::optional<std::int64_t> gpus_;
  bool has_global_batch_ = false;
  struct Cost {
    std::string name, pair;
  };
  std::vector<Cost> costs_;
  std::string whole_cost_;
};

}  // namespace

std::vector<CountsMeant> counts_meant(const Arguments& arguments, const Asked& asked) {
  return Counts(arguments, asked).meant();
}

}  // namespace penstock
