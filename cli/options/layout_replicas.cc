// The grammar of device types: 2*a100+2*v100 lists the ranks of a pipeline in order; kinds of
// replicas are separated by /, each COUNT*(DEVICES):SAMPLES. Samples that are not said are an equal
// part of what the others leave.
#include "cli/options/layout_replicas.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cli/words/parse.h"

namespace penstock {
namespace {

constexpr const char* kDevicesHelp =
    "write a device type for all ranks, or for example "
    "2*a100-40gb+2*v100-16gb";
constexpr const char* kReplicasHelp =
    "write for example 2*a100-40gb:24/v100-16gb:8 (two replicas of 24 samples a step, one of 8), "
    "(a100-40gb+3*v100-16gb):8 for a replica on several types";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "3*x" is 3 and x; without digits and a star in front, nothing.
std::optional<int> take_count(std::string_view option, std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
    ++digits;
  }
  if (digits == 0 || digits == text.size() || text[digits] != '*') return {};
  const int count = parse_int(option, text.substr(0, digits), 1);
  text.remove_prefix(digits + 1);
  return count;
}

ReplicasOn parse_kind(std::string_view option, std::string_view text) {
  ReplicasOn kind;
  const std::string_view whole = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    kind.samples = parse_int(fmt::format("{} samples", option), text.substr(colon + 1), 1);
    text = text.substr(0, colon);
  }
  kind.replicas = take_count(option, text).value_or(1);
  const bool in_brackets = text.size() > 2 && text.front() == '(' && text.back() == ')';
  if (in_brackets) text = text.substr(1, text.size() - 2);
  const bool has_brackets = text.find_first_of("()") != std::string_view::npos;
  const bool several = !in_brackets && text.find_first_of("+*") != std::string_view::npos;
  if (text.empty() || has_brackets || several) {
    bad_option(option, fmt::format("'{}' is not a kind of replicas", whole), kReplicasHelp);
  }
  kind.ranks = parse_ranks_on(option, text);
  return kind;
}

std::vector<std::string> types_of(std::string_view option, const std::vector<RanksOn>& ranks,
                                  int pipeline) {
  if (ranks.size() == 1 && ranks.front().ranks == 0) {
    return std::vector<std::string>(static_cast<std::size_t>(pipeline), ranks.front().device);
  }
  std::vector<std::string> types;
  for (const RanksOn& run : ranks) {
    const auto left = static_cast<std::size_t>(pipeline) - types.size();
    const auto count = static_cast<std::size_t>(std::max(run.ranks, 1));
    types.insert(types.end(), std::min(count, left + 1), run.device);
    if (count > left) break;
  }
  if (types.size() == static_cast<std::size_t>(pipeline)) return types;
  std::int64_t sum = 0;
  for (const RanksOn& run : ranks) sum += std::max(run.ranks, 1);
  bad_option(option,
             fmt::format("it says the device types of {} ranks, but PP is {}", sum, pipeline),
             "P is the same in all replicas of a plan; name a type for each of its ranks");
}

}  // namespace

std::vector<RanksOn> parse_ranks_on(std::string_view option, std::string_view text) {
  std::vector<RanksOn> ranks;
  const std::vector<std::string_view> parts = split(text, '+');
  for (std::string_view part : parts) {
    RanksOn run;
    const std::optional<int> count = take_count(option, part);
    run.ranks = count.value_or(parts.size() == 1 ? 0 : 1);
    run.device = std::string(part);
    if (part.empty() || part.find_first_of("()*/:") != std::string_view::npos) {
      bad_option(option, fmt::format("'{}' names no device types", text), kDevicesHelp);
    }
    ranks.push_back(std::move(run));
  }
  return ranks;
}

std::vector<ReplicasOn> parse_replicas_on(std::string_view option, std::string_view text) {
  std::vector<ReplicasOn> kinds;
  for (const std::string_view kind : split(text, '/')) kinds.push_back(parse_kind(option, kind));
  return kinds;
}

int replicas_in(const std::vector<ReplicasOn>& kinds) {
  std::int64_t replicas = 0;
  for (const ReplicasOn& kind : kinds) replicas += kind.replicas;
  return static_cast<int>(std::min<std::int64_t>(replicas, std::numeric_limits<int>::max()));
}

std::optional<int> batch_in(std::string_view option, const std::vector<ReplicasOn>& kinds,
                            std::optional<int> of_each) {
  std::int64_t batch = 0;
  for (const ReplicasOn& kind : kinds) {
    if (!kind.samples && !of_each) return {};
    batch += std::int64_t{kind.replicas} * (kind.samples ? *kind.samples : *of_each);
    if (batch > std::numeric_limits<int>::max()) {
      bad_option(option, "the shares of the batch are too large", "give fewer samples");
    }
  }
  return static_cast<int>(batch);
}

void set_ranks_on(std::string_view option, const std::vector<RanksOn>& ranks, Plan& plan) {
  set_rank_devices(plan, types_of(option, ranks, plan.pipeline));
}

void set_replicas_on(std::string_view option, const std::vector<ReplicasOn>& kinds, Plan& plan) {
  std::int64_t left = plan.global_batch;
  int without = 0;
  for (const ReplicasOn& kind : kinds) {
    left -= std::int64_t{kind.replicas} * kind.samples.value_or(0);
    without += kind.samples ? 0 : kind.replicas;
  }
  if (without > 0 ? left < without || left % without != 0 : left != 0) {
    bad_option(option,
               without > 0
                   ? fmt::format("gbs = {} leaves {} samples for {} replicas without a share",
                                 plan.global_batch, left, without)
                   : fmt::format("the shares are {} samples, not gbs = {}",
                                 plan.global_batch - left, plan.global_batch),
               without > 0 ? "say the shares, or a batch that divides evenly" : "leave out gb");
  }
  std::vector<std::string> types;
  for (const ReplicasOn& kind : kinds) {
    const std::vector<std::string> own = types_of(option, kind.ranks, plan.pipeline);
    types.insert(types.end(), own.begin(), own.end());
    if (kinds.size() == 1) break;  // they are all alike
    const int samples = kind.samples ? *kind.samples : static_cast<int>(left / without);
    plan.replica_kinds.push_back({kind.replicas, samples});
  }
  set_rank_devices(plan, std::move(types));
}

}  // namespace penstock
