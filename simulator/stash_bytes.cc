#include "simulator/stash_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/values/durations.h"

namespace penstock {

std::vector<Bytes> peak_stash_bytes(const Program& program, const StagePrices& prices) {
  const auto ranks = static_cast<std::size_t>(program.ranks());
  std::vector<std::int64_t> held(ranks, 0);
  std::vector<Bytes> peaks(ranks);
  for (const Action& action : program.actions) {
    const auto rank = static_cast<std::size_t>(program.rank_of(action).value);
    held[rank] += stash_change(prices, action.kind, priced_place(program, action)).count;
    peaks[rank].count = std::max(peaks[rank].count, held[rank]);
  }
  return peaks;
}

}  // namespace penstock
