#include "cli/reports/remarks_on_question.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "cli/io/files.h"
#include "cli/options/assumed_machine.h"
#include "cli/options/network_rate.h"
#include "cli/words/device_called.h"
#include "cli/words/field_words.h"
#include "report/words.h"
#include "studies/contradictions.h"

namespace penstock {
namespace {

// "1, 2 and 4"
std::string listed(std::vector<std::string> words, std::string_view last) {
  if (words.size() < 2) return joined(words, "");
  const std::string end = words.back();
  words.pop_back();
  return fmt::format("{} {} {}", joined(words, ", "), last, end);
}

// 0 of what is no number.
int number_in(const std::string& text) {
  int number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size() ? number : 0;
}

// A degree that `gpus` is divided by, in the order of layouts.
bool divides_gpus(std::string_view key) {
  constexpr std::array<std::string_view, 4> kDegrees{"T", "C", "P", "D"};
  return std::find(kDegrees.begin(), kDegrees.end(), key) != kDegrees.end();
}

bool is_varied(const Varied& varied, std::string_view key) {
  return std::any_of(varied.begin(), varied.end(),
                     [&](const auto& axis) { return axis.first == key; });
}

std::string divisors_of(int number) {
  constexpr std::size_t kMostListed = 10;
  std::vector<std::string> divisors;
  for (int each = 1; each <= number; ++each) {
    if (number % each == 0) divisors.push_back(std::to_string(each));
  }
  return divisors.size() > kMostListed ? fmt::format("a divisor of {}", number)
                                       : listed(divisors, "or");
}

// The most GPUs of the rows in which `key` is `value`; 0 where none has a plan.
int most_used(const std::vector<Variant>& rows, const std::string& key, const std::string& value) {
  int most = 0;
  for (const Variant& row : rows) {
    const bool is_of_it = std::find(row.settings.begin(), row.settings.end(),
                                    std::pair(key, value)) != row.settings.end();
    if (is_of_it && row.best) most = std::max(most, row.best->plan.devices());
  }
  return most;
}

// "--vary PP=3,5,7" of 32 GPUs.
std::string remark_of_degree(const std::string& key, const std::vector<std::string>& values,
                             int gpus, const std::vector<Variant>& rows) {
  std::vector<std::string> bad, used;
  for (const std::string& value : values) {
    const int degree = number_in(value), most = most_used(rows, key, value);
    if (degree == 0 || gpus % degree == 0 || most == 0) continue;
    bad.push_back(value);
    used.push_back(std::to_string(most));
  }
  if (bad.empty()) return "";
  const std::string word = field_word(key);
  return fmt::format("note: {} = {} {} not divide {} GPUs: {} {} of them; {} = {} can use all\n",
                     word, listed(bad, "and"), bad.size() == 1 ? "does" : "do", gpus,
                     bad.size() == 1 ? "its row uses" : "their rows use", listed(used, "and"), word,
                     divisors_of(gpus));
}

std::string remark_of_name(const SearchOptions& given) {
  return given.device && !given.cluster ? remark_of_device(*given.device) : "";
}

bool is_uneven(const Variant& row) {
  if (!row.best || row.best->plan.is_mixed() || !row.best->plan.has_even_batch()) return false;
  return !has_equal_micro_batches(row.best->plan);
}

// Where a degree was asked for, and the batch is not divided by what became of it.
std::string remark_of_uneven_rows(const std::vector<Variant>& rows) {
  std::vector<std::string> numbers, rounds;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!is_uneven(rows[i])) continue;
    const Plan& plan = rows[i].best->plan;
    numbers.push_back(std::to_string(i + 1));
    rounds.push_back(std::to_string(std::int64_t{plan.data} * plan.micro_batch_size));
  }
  if (numbers.empty()) return "";
  return fmt::format(
      "note: in row{} {} the batch is no multiple of DP x mbs = {}, which Megatron-LM, torchtitan "
      "and DeepSpeed refuse; --for megatron plans only what that trainer runs\n",
      numbers.size() == 1 ? "" : "s", listed(numbers, "and"), listed(rounds, "and"));
}

// "--vary schedule=1f1b,zb-h1" where one stage is fastest.
std::string remark_of_no_pipeline(const Varied& varied, const SearchRequest& request,
                                  const std::vector<Variant>& rows) {
  constexpr int kUsualRanks = 4;
  const int ranks = std::min(kUsualRanks, request.gpus);
  if (request.pins.pipeline || is_varied(varied, "P") || ranks == 1) return "";
  const Variant* first = nullptr;
  for (const Variant& row : rows) {
    if (!row.best) continue;
    if (first == nullptr) first = &row;
    const bool is_alike = row.best->plan.pipeline == 1 &&
                          row.best->evaluation.step_time == first->best->evaluation.step_time;
    if (!is_alike) return "";  // GPipe keeps all micro-batches on one rank as well
  }
  if (!is_varied(varied, "schedule") || first == nullptr) return "";
  return fmt::format(
      "note: no row has a pipeline, since PP = 1 is fastest here, and without one these schedules "
      "are alike; --pp {} compares them in one\n",
      ranks);
}

}  // namespace

std::string remark_of_uneven_batch(int global_batch, std::string_view what, std::int64_t round,
                                   std::int64_t step) {
  if (step > global_batch) step = round;
  const std::int64_t below = global_batch / step * step;
  return fmt::format(
      "note: gbs = {} is no multiple of {} = {}: its micro-batches are not all equal, or not as "
      "many in every replica, which Megatron-LM, torchtitan and DeepSpeed refuse; they take gbs = "
      "{}\n",
      global_batch, what, round,
      below > 0 ? fmt::format("{} or {}", below, below + step) : std::to_string(step));
}

std::string remark_of_uneven_plan(const SearchRequest& request, const Plan& plan) {
  const bool is_even = plan.is_mixed() || !plan.has_even_batch() || has_equal_micro_batches(plan);
  // Those that are pinned have a remark of their own.
  const std::int64_t pinned =
      std::int64_t{request.pins.data.value_or(1)} * request.pins.micro_batch_size.value_or(1);
  const bool is_pinned =
      request.global_batch % pinned != 0 || (request.pins.data && request.pins.micro_batch_size);
  if (request.trainer != nullptr || is_even || is_pinned) return "";
  return fmt::format(
      "note: gbs = {} is no multiple of DP x mbs = {}, which most trainers refuse; --for megatron "
      "plans what it runs\n",
      plan.global_batch, std::int64_t{plan.data} * plan.micro_batch_size);
}

std::string remark_of_one_group(const SearchRequest& request, const Plan& plan) {
  const int group = request.pins.shard_group.value_or(0);
  if (group == 0 || plan.shard_group > 0 || plan.weight_copies() != group) return "";
  return fmt::format(
      "note: groups of {0} are all {0} GPUs that share a stage's weights (DP x CP of plan 1), so "
      "that there is one; several groups (HSDP) have a larger DP: --pin DP={1}\n",
      group, 2 * group);
}

std::string remark_of_idle_gpus(const SearchRequest& request, const Plan& plan) {
  // A book's pages and ranges of GPUs are for fewer on purpose.
  const bool is_one_size = request.sizes.empty() && request.gpus > plan.devices();
  if (!is_one_size || plan.data < plan.global_batch) return "";
  return fmt::format(
      "note: {} of {} GPUs are used, since a batch of {} has a sample for each of {} replicas "
      "and no more: a larger --global-batch, or other pins, use more\n",
      plan.devices(), request.gpus, plan.global_batch, plan.data);
}

std::string remark_of_alike(const Question& question) {
  if (question.devices_alike.empty()) return "";
  return fmt::format("note: {}: one device by two names\n", joined(question.devices_alike, "; "));
}

std::string remarks_on_machine(const SearchOptions& given, int gpus) {
  if (given.network && given.device) {
    DeviceSheet sheet = sheet_of(*given.device);
    set_nodes(sheet, {given.gpus_per_node, {}});
    return remark_of_network(*given.network, sheet, gpus);
  }
  if (!given.cluster || !given.device || !given.also_on.empty()) return "";
  const ClusterSpec cluster = load_cluster(*given.cluster).value;
  if (cluster.device_types.size() < 2) return "";
  return fmt::format(
      "note: --device {} uses that type alone, of {}; without --device all of {} are "
      "planned with\n",
      *given.device, count_of(device_count(cluster), "GPU"), *given.cluster);
}

namespace {

std::string remark_of_batch(const SearchRequest& request) {
  const Pins& pins = request.pins;
  const std::int64_t round =
      std::int64_t{pins.micro_batch_size.value_or(1)} * pins.data.value_or(1);
  if (request.trainer != nullptr || request.global_batch % round == 0) return "";
  const char* what = !pins.data ? "mbs" : pins.micro_batch_size ? "DP x mbs" : "DP";
  return remark_of_uneven_batch(request.global_batch, what, round, batch_step(pins, request.gpus));
}

}  // namespace

std::string remarks_on_question(const SearchOptions& given, const SearchRequest& request) {
  return remark_of_name(given) + remarks_on_machine(given, request.gpus) + remark_of_batch(request);
}

std::string remarks_on_rows(const SearchOptions& given, const Varied& varied,
                            const SearchRequest& request, const std::vector<Variant>& rows) {
  std::string remarks = remark_of_name(given) + remark_of_no_pipeline(varied, request, rows);
  if (!is_varied(varied, "gpus")) remarks += remarks_on_machine(given, request.gpus);
  bool has_degree = is_varied(varied, "b") || !given.pins.empty();
  for (const auto& [key, values] : varied) {
    if (!divides_gpus(key)) continue;
    has_degree = true;
    if (!is_varied(varied, "gpus")) remarks += remark_of_degree(key, values, request.gpus, rows);
  }
  const bool is_of_trainer = request.trainer != nullptr || is_varied(varied, "for");
  return has_degree && !is_of_trainer ? remarks + remark_of_uneven_rows(rows) : remarks;
}

}  // namespace penstock
