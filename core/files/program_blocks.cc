// Compression goes through the list once: at each place the periods are tried at which the same
// kind and stage occurs again, the longest coverage wins, and what does not repeat stays a plain
// list. Expansion is its inverse and is all that a reader needs.
#include "core/files/program_blocks.h"

#include <algorithm>
#include <charconv>

namespace penstock {
namespace {

// A repetition is written as one only when it leaves out at least this many names: two or three
// names read better than a block.
constexpr std::size_t kLeastNamesSaved = 4;
// How many periods are tried at one position. In the lists of the schedules an action of one kind
// and stage comes at most P times in a period; what is irregular beyond that stays a list.
constexpr int kMostPeriodsTried = 512;

constexpr std::uint32_t kNever = 0xFFFF'FFFFU;

std::optional<std::uint32_t> number_in(std::string_view digits, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc() || end != digits.data() + digits.size() || value > most) return {};
  if (digits.size() > 1 && digits.front() == '0') return {};  // one name for one action
  return value;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Repetition {
  std::size_t period = 0;
  std::size_t repeat = 1;
  std::size_t matched = 0;  // actions that recur one period later
  [[nodiscard]] std::size_t covered() const { return period * repeat; }
};

// Finds repetitions in one list. A period can only be a distance to a later action of the same
// kind and stage, so those are chained; a first mismatch ends a try. Inside what a found period
// matches, its multiples cannot cover more, and any other period mismatches within the sum of the
// two (Fine and Wilf): so a long steady state is walked once.
class Repetitions {
 public:
  Repetitions(const std::vector<ListedAction>& list, std::size_t longest_period)
      : list_(list), longest_period_(longest_period), next_alike_(list.size(), kNever) {
    std::vector<std::uint32_t> seen;
    for (std::size_t i = list.size(); i-- > 0;) {
      const std::size_t key =
          std::size_t{list[i].stage} * kActionKinds + static_cast<std::size_t>(list[i].kind);
      if (key >= seen.size()) seen.resize(key + 1, kNever);
      next_alike_[i] = seen[key];
      seen[key] = static_cast<std::uint32_t>(i);
    }
  }

  [[nodiscard]] Repetition longest_at(std::size_t begin) const {
    Repetition best;
    std::uint32_t again = next_alike_[begin];
    for (int tries = 0; tries < kMostPeriodsTried && again != kNever; ++tries) {
      const std::size_t period = again - begin;
      if (period > longest_period_) break;
      again = next_alike_[again];
      const bool inside = period <= best.matched + best.period;
      if (best.period > 0 && inside && period % best.period == 0) continue;
      const std::size_t matched = matching(begin, period);
      const std::size_t repeat = 1 + matched / period;
      if (repeat > 1 && period * repeat > best.covered()) best = {period, repeat, matched};
    }
    return best;
  }

  // The advance of a repetition that longest_at() found.
  [[nodiscard]] std::int64_t advance(std::size_t begin, std::size_t period) const {
    for (std::size_t i = begin; i < begin + period; ++i) {
      if (has_micro_batch(list_[i].kind)) return step(i, period);
    }
    return 0;
  }

 private:
  [[nodiscard]] std::int64_t step(std::size_t i, std::size_t period) const {
    return std::int64_t{list_[i + period].micro_batch} - std::int64_t{list_[i].micro_batch};
  }
  [[nodiscard]] std::int64_t backward_step(std::size_t i, std::size_t period) const {
    return std::int64_t{list_[i + period].backward} - std::int64_t{list_[i].backward};
  }

  // How many actions from `begin` on are followed, one period later, by the same with one advance.
  [[nodiscard]] std::size_t matching(std::size_t begin, std::size_t period) const {
    std::optional<std::int64_t> advance;
    std::size_t i = begin;
    for (; i + period < list_.size(); ++i) {
      const ListedAction &here = list_[i], &there = list_[i + period];
      if (here.kind != there.kind || here.stage != there.stage) break;
      if (here.backward_stage != there.backward_stage) break;
      if (!has_micro_batch(here.kind)) continue;
      if (!advance) advance = step(i, period);
      if (step(i, period) != *advance) break;
      if (here.is_pair() && backward_step(i, period) != *advance) break;
    }
    return i - begin;
  }

  const std::vector<ListedAction>& list_;
  std::size_t longest_period_;
  std::vector<std::uint32_t> next_alike_;
};

constexpr std::string_view kPairEnd = ")OVERLAP_F_B";

// "(0F7;7B3)OVERLAP_F_B"
std::optional<ListedAction> pair_named(std::string_view name) {
  const std::size_t middle = name.find(';');
  if (middle == std::string_view::npos || !name.ends_with(kPairEnd)) return {};
  const std::size_t second_at = middle + 1, second_end = name.size() - kPairEnd.size();
  if (second_end < second_at) return {};
  const auto forward = action_named(name.substr(1, middle - 1));
  const auto backward = action_named(name.substr(second_at, second_end - second_at));
  if (!forward || forward->kind != ActionKind::kForward || forward->is_pair()) return {};
  if (!backward || backward->kind != ActionKind::kFusedBackward) return {};
  ListedAction pair = *forward;
  pair.backward_stage = backward->stage;
  pair.backward = backward->micro_batch;
  return pair;
}

}  // namespace

std::string name_of(const ListedAction& action) {
  if (action.is_pair()) {
    return "(" + name_of(action.first()) + ";" + name_of(action.second()) + std::string(kPairEnd);
  }
  std::string name = std::to_string(action.stage);
  name += name_of(action.kind);
  if (has_micro_batch(action.kind)) name += std::to_string(action.micro_batch);
  return name;
}

std::optional<ListedAction> action_named(std::string_view name) {
  if (name.starts_with('(')) return pair_named(name);
  const auto kind_begin = std::find_if_not(name.begin(), name.end(), is_digit);
  const auto kind_end = std::find_if_not(name.rbegin(), name.rend(), is_digit).base();
  if (kind_begin >= kind_end) return {};
  const auto kind_at = static_cast<std::size_t>(kind_begin - name.begin());
  const auto kind_length = static_cast<std::size_t>(kind_end - kind_begin);
  const auto stage = number_in(name.substr(0, kind_at), kNoStage.value - 1U);
  const auto kind = action_kind_named(name.substr(kind_at, kind_length));
  if (!stage || !kind) return {};
  ListedAction action{kNoMicroBatch.value, static_cast<std::uint16_t>(*stage), *kind};
  const std::string_view micro_batch = name.substr(kind_at + kind_length);
  if (!has_micro_batch(*kind)) return micro_batch.empty() ? std::optional(action) : std::nullopt;
  const auto number = number_in(micro_batch, kNoMicroBatch.value - 1U);
  if (!number) return {};
  action.micro_batch = *number;
  return action;
}

std::vector<Block> compress(const std::vector<ListedAction>& list, std::size_t longest_period) {
  const Repetitions repetitions(list, longest_period);
  std::vector<Block> blocks;
  std::vector<ListedAction> plain;
  const auto end_plain = [&] {
    if (!plain.empty()) blocks.push_back({1, 0, std::move(plain)});
    plain.clear();
  };
  for (std::size_t i = 0; i < list.size();) {
    const Repetition found = repetitions.longest_at(i);
    if (found.repeat == 1 || found.covered() - found.period < kLeastNamesSaved) {
      plain.push_back(list[i++]);
      continue;
    }
    end_plain();
    const auto begin = list.begin() + static_cast<std::ptrdiff_t>(i);
    blocks.push_back({static_cast<std::uint32_t>(found.repeat),
                      repetitions.advance(i, found.period),
                      {begin, begin + static_cast<std::ptrdiff_t>(found.period)}});
    i += found.covered();
  }
  end_plain();
  return blocks;
}

void expand(const Block& block, std::vector<ListedAction>& list) {
  for (std::uint32_t repetition = 0; repetition < block.repeat; ++repetition) {
    for (ListedAction action : block.actions) {
      const auto shift = static_cast<std::uint32_t>(repetition * block.advance);  // modulo 2^32
      if (has_micro_batch(action.kind)) action.micro_batch += shift;
      if (action.is_pair()) action.backward += shift;
      list.push_back(action);
    }
  }
}

}  // namespace penstock
