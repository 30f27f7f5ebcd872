// The words of torchrun, Slurm, Accelerate, DeepSpeed and Hugging Face's trainer are read by what
// they count: of a node, of nodes, of a GPU. A product is worked out with the numbers that were
// typed, never with usual ones.
#include "cli/answers/options/launch_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cli/answers/options/fsdp_flags.h"
#include "cli/answers/options/gpu_bounds.h"
#include "cli/answers/options/unread_options.h"
#include "cli/words/device_facts.h"
#include "cli/words/field_words.h"
#include "cli/words/is_like_gpu.h"
#include "cli/words/option_spellings.h"
#include "cli/words/schedule_spelled.h"
#include "core/values/units.h"
#include "report/words.h"
#include "simulator/schedules/schedules.h"

namespace penstock {
namespace {

constexpr std::int64_t kMost = 1 << 17;  // of GPUs, nodes and samples of one of them

bool is_any_of(const std::string& word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Count {
  std::string name;
  std::int64_t number;
  int rank = 0;  // of those per node
};

// Those of the highest rank say how many there are; nothing where they disagree.
std::optional<std::int64_t> number_of(const std::vector<Count>& counts) {
  std::optional<Count> best;
  bool do_agree = true;
  for (const Count& count : counts) {
    if (best && count.rank < best->rank) continue;
    const bool is_better = !best || count.rank > best->rank;
    do_agree = is_better || (do_agree && count.number == best->number);
    if (is_better) best = count;
  }
  return best && do_agree ? std::optional(best->number) : std::nullopt;
}

// Whether TP, PP, CP or another degree stands in "--pin TP=8,mbs=1".
bool has_degree(const std::string& pairs) {
  for (std::size_t at = 0; at < pairs.size();) {
    const std::size_t end = std::min(pairs.find_first_of(", ", at), pairs.size());
    const std::string pair = pairs.substr(at, end - at);
    if (is_any_of(key_called(pair.substr(0, pair.find('='))),
                  {"T", "P", "C", "D", "V", "EP", "ETP"})) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

// Whether the schedule that is named needs I and W instead of B.
bool splits_backward(const std::string& names) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    const ScheduleKind* kind = find_schedule(schedule_spelled(names.substr(at, end - at)));
    if (kind != nullptr && kind->splits_backward()) return true;
    at = end + 1;
  }
  return false;
}

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

// "--gpus H100:8" of SkyPilot, which counts those of a node.
bool names_gpu_of_node(const std::string& name, const std::string& value) {
  const std::size_t colon = value.find(':');
  return name == "--gpus" && colon != std::string::npos && is_like_gpu(value.substr(0, colon)) &&
         number_in(value, true).has_value();
}

// How surely a word counts the GPUs of a node: by its name (of "--gres gpu:8" the value says it),
// as the processes that torchrun starts, or as tasks, of which one may start the others. 0: not.
int rank_per_node(const std::string& word) {
  constexpr int kGpus = 3, kProcesses = 2, kTasks = 1;
  if (word == "gres") return kGpus;
  if (word == "nproc" || word == "devices") return kProcesses;  // of Lightning's trainer
  for (const std::string_view node : {"-per-node", "-per-machine", "-per-host"}) {
    if (!word.ends_with(node)) continue;
    std::string thing = word.substr(0, word.size() - node.size());
    if (thing.find("gpu") != std::string::npos || thing.find("device") != std::string::npos) {
      return kGpus;
    }
    if (thing.starts_with("num-")) thing.erase(0, std::string_view("num-").size());
    if (is_any_of(thing, {"nproc", "nprocs", "proc", "procs", "process", "processes"})) {
      return kProcesses;
    }
    if (is_any_of(thing, {"ntasks", "task", "tasks", "rank", "ranks"})) return kTasks;
  }
  return 0;
}

bool is_nodes(const std::string& name, const std::string& word) {
  return name == "-N" ||
         is_any_of(word, {"nodes", "nnodes", "num-nodes", "n-nodes", "nnode", "num-machines",
                          "machines", "hosts", "num-hosts", "node-count", "trainer.num-nodes",
                          "number-of-nodes", "slurm-nodes", "slurm-nnodes", "slurm-job-num-nodes"});
}

class Counts {
 public:
  Counts(const Arguments& arguments, const Asked& asked) : asked_(asked) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--") break;  // files follow
      const std::size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      if (!name.starts_with('-')) is_split_ = is_split_ || splits_backward(argument);
      if (!name.starts_with('-') || name.find_first_not_of('-') == std::string::npos) continue;
      const bool has_next = equals == std::string::npos && i + 1 < arguments.size();
      read(name, equals != std::string::npos ? argument.substr(equals + 1)
                 : has_next                  ? arguments[i + 1]
                                             : std::string());
    }
  }

  [[nodiscard]] std::vector<CountsMeant> meant() const {
    std::vector<CountsMeant> out;
    if (asked_.has("--gpus")) add_nodes(out);
    if (asked_.has("--gpus") && !asked_.has("--layout") && !has_nodes_) add_one_node(out);
    if (asked_.has("--gpus") && out.empty() && !gpus_ && nodes_.empty()) add_tasks(out);
    const bool is_alone = nodes_.size() == 1 && nodes_[0].name == "-N" && per_node_.empty();
    if (is_alone && asked_.has("--nodes") && asked_.has("--gpus")) {
      out.push_back({{"-N"},
                     {},
                     fmt::format("which one? --nodes {0} counts machines (Slurm's -N), --gpus {0} "
                                 "the GPUs of all of them",
                                 nodes_[0].number)});
    }
    const bool asks_batch = asked_.has("--pin") && asked_.has("--global-batch");
    if (asked_.has("--cost")) add_costs(out);
    if (asks_batch && of_one_ && accumulation_) add_batch(out);
    if (asks_batch && letter_b_ > 0 && !accumulation_) add_letter_b(out);
    return out;
  }

 private:
  // "-b 64", where no batch is said: that of a step, as other tools have it.
  void add_letter_b(std::vector<CountsMeant>& out) const {
    if (beside().has_batch) return;
    out.push_back({{"-b"},
                   {"--global-batch", std::to_string(letter_b_)},
                   fmt::format("write --global-batch {0}, the samples of a step over all GPUs (a "
                               "micro-batch is --pin mbs={0})",
                               letter_b_)});
  }

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
    const bool is_known = std::all_of(keys.begin(), keys.end(), [](const std::string& key) {
      return key.size() == 1 && std::string_view("FBIWROC").find(key) != std::string_view::npos;
    });
    const std::size_t halves = keys.count("I") + keys.count("W");
    // Beside W papers write B for the input gradient alone.
    const bool is_half = is_split_ && keys.contains("B") && keys.contains("W") && halves == 1 &&
                         all.find("B=") != std::string::npos;
    const bool is_whole =
        keys.contains("F") &&
        (is_half || (keys.contains("B") ? halves == 0 && !is_split_ : halves == 2));
    if (!is_known || !is_whole) return;
    std::string cost = all;
    if (is_half) cost.replace(cost.find("B="), 1, "I");
    meant.words = {"--cost", cost};
    meant.help = fmt::format("costs are one option, with commas: --cost {}{}", cost,
                             is_half ? " (I: the input gradient, B of papers)" : "");
    out.push_back(std::move(meant));
  }

  void read(const std::string& name, const std::string& value) {
    const std::string word = plain_word(name.substr(name.find_first_not_of('-')));
    const std::string last = word.substr(word.rfind('.') + 1);
    if (name == "--gpus") gpus_ = number_in(value, false);
    if (name == "--cost") whole_cost_ += (whole_cost_.empty() ? "" : ",") + value;
    const std::string cost = asked_.has(name) ? "" : cost_called(word);
    const bool is_bare = parse_decimal_duration(value, TimeUnit::kMilliseconds).has_value();
    if (cost.size() == 1 && cost != "O" && (parse_duration(value) || is_bare)) {
      costs_.push_back({name, cost + '=' + value + (is_bare ? "ms" : "")});
    }
    has_cluster_ = has_cluster_ || name == "--cluster";
    typed_.emplace_back(name, value);
    const bool is_of_node = names_gpu_of_node(name, value);
    const int rank = is_of_node ? rank_per_node("gres") : rank_per_node(last);
    has_device_ = has_device_ || (asked_.has("--device") && (name == "--device" || name == "-d" ||
                                                             (word == "gpu" && !asked_.has(name))));
    const std::size_t colon = value.find(':'), end = value.rfind(':');
    const bool is_of_gpus = value.substr(0, colon) == "gpu";  // "gpu:h100:8", and "h100:8"
    if (rank > 0 && (!asked_.has(name) || is_of_node) && colon != std::string::npos &&
        (end > colon || !is_of_gpus)) {
      const std::size_t begin = is_of_gpus ? colon + 1 : 0;
      device_of_node_ = value.substr(begin, end - begin);
    }
    if (!asked_.has(name) && is_any_of(word, {"ntasks", "n-tasks", "num-tasks"})) {
      tasks_ = {name, number_in(value, false).value_or(0)};
    }
    if (!asked_.has(name) && word == "gpus-per-task") {
      of_task_ = {name, number_in(value, false).value_or(0)};
    }
    has_nodes_ = has_nodes_ || is_nodes(name, word);  // also "1:4" of them
    const auto number = number_in(value, rank > 0);
    if (!number) return;
    if (name == "-b" && !asked_.has(name)) letter_b_ = *number;
    if (rank > 0) per_node_.push_back({name, *number, rank});
    if (is_nodes(name, word)) nodes_.push_back({name, *number});
    if (key_called(last) == "M" && last.size() > 2) accumulation_ = Count{name, *number};
    if (is_batch_of_one(last) || key_called(last) == "b") of_one_ = Count{name, *number};
  }

  // A name that the verb has itself stays in its place, but for nodes, which are said in GPUs.
  void add_nodes(std::vector<CountsMeant>& out) const {
    const auto nodes = number_of(nodes_), per_node = number_of(per_node_);
    if (!nodes || !per_node) return;
    std::vector<std::string> of_node;
    for (const Count& count : per_node_) {
      if (!asked_.has(count.name) || count.name == "--gpus") of_node.push_back(count.name);
    }
    if (has_cluster_ && asked_.has("--cluster") && asked_.has("--nodes")) {
      if (of_node.empty()) return;
      const std::string help = fmt::format(
          "leave {} out: the cluster file says how many GPUs a node has", joined(of_node, ", "));
      out.push_back({of_node, {}, help});
      return;
    }
    if (of_node.empty() && knows_nodes()) return;
    const bool is_lone_task = per_node_.size() == 1 && per_node_[0].rank == 1 && *per_node == 1;
    if (is_lone_task || *nodes * *per_node > kMost) return;
    std::vector<std::string> names;
    for (const Count& count : nodes_) names.push_back(count.name);
    names.insert(names.end(), of_node.begin(), of_node.end());
    const bool has_own = of_node.size() < per_node_.size();
    out.push_back(of_nodes(names, *nodes, *per_node, has_own));
  }

  // "--nodes 4", where the verb counts whole nodes itself.
  [[nodiscard]] bool knows_nodes() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [&](const Count& count) { return asked_.has(count.name); });
  }

  // "--gres gpu:h100:8" alone: Slurm takes one node where no number of them is said.
  void add_one_node(std::vector<CountsMeant>& out) const {
    const auto per_node = number_of(per_node_);
    std::vector<std::string> names;
    for (const Count& count : per_node_) {
      const std::string number = std::to_string(count.number);
      const auto reading = certain_reading(count.name, number, asked_);
      const bool is_read = reading && !reading->words.empty();  // "--devices 8" is --gpus 8
      if (!asked_.has(count.name) && count.rank > 1 && !is_read) names.push_back(count.name);
    }
    if (!per_node || names.empty() || gpus_ || has_cluster_) return;
    CountsMeant meant{names, {"--gpus", std::to_string(*per_node)}, ""};
    const bool names_device = !device_of_node_.empty() && asked_.has("--device") && !has_device_;
    if (names_device) meant.words.insert(meant.words.begin(), {"--device", device_of_node_});
    meant.help = fmt::format("write {} for one node; with several, --gpus counts those of all",
                             joined(meant.words, " "));
    out.push_back(std::move(meant));
  }

  // GPUs of a node of the device that was typed.
  [[nodiscard]] int usual_size() const {
    const auto device = std::find_if(typed_.begin(), typed_.end(), [](const auto& each) {
      return each.first == "--device" && !each.second.empty();
    });
    return device_facts(device == typed_.end() ? device_of_node_ : device->second).per_node;
  }

  [[nodiscard]] CountsMeant of_nodes(const std::vector<std::string>& names, std::int64_t nodes,
                                     std::int64_t per_node, bool has_own) const {
    const std::int64_t gpus = nodes * per_node;
    Arguments size;  // of a node, where it is not the datasheet's
    if (!has_own && !has_cluster_ && asked_.has("--gpus-per-node") && per_node != usual_size()) {
      size = {"--gpus-per-node", std::to_string(per_node)};
    }
    const std::string other = size.empty() ? "" : " " + joined(size, " ");
    const std::string product = fmt::format("{} x {}", count_of(nodes, "node"), per_node);
    if (!gpus_) {
      Arguments words{"--gpus", std::to_string(gpus)};
      words.insert(words.end(), size.begin(), size.end());
      const bool names_device =
          !device_of_node_.empty() && asked_.has("--device") && !has_device_ && !has_cluster_;
      if (names_device) words.insert(words.begin(), {"--device", device_of_node_});
      return {names, words,
              fmt::format("write {}, the GPUs of all nodes ({})", joined(words, " "), product)};
    }
    if (*gpus_ == gpus) {
      return {names, size,
              fmt::format("leave {} out: --gpus {} counts the GPUs of all nodes{}",
                          names.size() > 1 ? "them" : "it", gpus,
                          other.empty() ? "" : ", and" + other + " says how large they are")};
    }
    return {names,
            {},
            fmt::format("--gpus counts the GPUs of all nodes, {} are {}: write --gpus {}{} "
                        "alone, or --gpus {}{} alone",
                        product, gpus, gpus, other, *gpus_, other)};
  }

  // Slurm's tasks, of which trainers start one for a GPU.
  void add_tasks(std::vector<CountsMeant>& out) const {
    if (tasks_.number < 1 || !per_node_.empty()) return;
    if (of_task_.number < 1) {
      out.push_back({{tasks_.name},
                     {"--gpus", std::to_string(tasks_.number)},
                     fmt::format("write --gpus {} if every task has one GPU", tasks_.number)});
      return;
    }
    const std::int64_t gpus = tasks_.number * of_task_.number;
    if (gpus > kMost) return;
    out.push_back({{tasks_.name, of_task_.name},
                   {"--gpus", std::to_string(gpus)},
                   fmt::format("write --gpus {}, the GPUs of all nodes ({} tasks x {})", gpus,
                               tasks_.number, of_task_.number)});
  }

  // What else the command says of the batch and of degrees, in whatever words.
  struct Beside {
    bool has_batch = false, has_degree = false;
  };
  [[nodiscard]] Beside beside() const {
    Beside found;
    for (std::size_t i = 0; i < typed_.size() && i < kMostUnread; ++i) {
      auto [option, value] = typed_[i];
      if (!asked_.has(option)) {
        const auto reading = certain_reading(option, value, asked_);
        if (!reading || reading->words.empty()) continue;
        option = reading->words.front();
        value = reading->words.back();
      }
      const bool is_batch = option == "--global-batch" || option == "--global-batch-tokens";
      found.has_batch = found.has_batch || is_batch || varies_batch(option, value);
      const bool has_pairs = option == "--pin" || option == "--vary";
      found.has_degree = found.has_degree || (has_pairs && has_degree(value));
    }
    return found;
  }
  static bool varies_batch(const std::string& option, const std::string& value) {
    return option == "--vary" && key_called(value.substr(0, value.find('='))) == "global-batch";
  }

  void add_batch(std::vector<CountsMeant>& out) const {
    const Beside others = beside();
    if (!others.has_batch) out.push_back(of_batch(others.has_degree));
  }

  // Every GPU a replica is what such trainers do; with TP, PP or CP there are fewer.
  [[nodiscard]] CountsMeant of_batch(bool has_degrees) const {
    std::optional<std::int64_t> gpus = gpus_;
    const auto nodes = number_of(nodes_), per_node = number_of(per_node_);
    if (!gpus && nodes && per_node) gpus = *nodes * *per_node;
    const std::int64_t samples = of_one_->number * accumulation_->number;
    const std::string pin = fmt::format("mbs={}", of_one_->number);
    const std::vector<std::string> names{of_one_->name, accumulation_->name};
    if (!gpus || has_degrees || samples > kMost || samples * *gpus > kMost) {
      return {names,
              {},
              fmt::format("write --global-batch N --pin {}: the samples of a step are {} x {} x DP",
                          pin, of_one_->number, accumulation_->number)};
    }
    const std::string replicas = fmt::format("DP={},{}", *gpus, pin);
    return {
        names,
        {"--global-batch", std::to_string(samples * *gpus), "--pin", replicas},
        fmt::format("write --global-batch {} --pin {} in place of {} if every GPU is a replica: {} "
                    "x {} x {} samples a step; with TP, PP or CP it is {} x DP",
                    samples * *gpus, replicas, joined(names, " and "), of_one_->number,
                    accumulation_->number, *gpus, samples)};
  }

  const Asked& asked_;
  std::vector<Count> per_node_, nodes_;
  std::int64_t letter_b_ = 0;
  std::optional<Count> of_one_, accumulation_;
  std::optional<std::int64_t> gpus_;
  bool has_cluster_ = false, has_device_ = false, has_nodes_ = false, is_split_ = false;
  Count tasks_{"", 0}, of_task_{"", 0};
  std::string device_of_node_;                              // "h100" of "gpu:h100:8"
  std::vector<std::pair<std::string, std::string>> typed_;  // options and what stands behind them
  struct Cost {
    std::string name, pair;
  };
  std::vector<Cost> costs_;
  std::string whole_cost_;
};

}  // namespace

std::vector<CountsMeant> counts_meant(const Arguments& arguments, const Asked& asked) {
  std::vector<CountsMeant> counts = Counts(arguments, asked).meant();
  if (auto range = range_of_gpus(arguments, asked)) counts.push_back(*std::move(range));
  if (auto sharding = sharding_meant(arguments, asked)) counts.push_back(*std::move(sharding));
  return counts;
}

}  // namespace penstock
