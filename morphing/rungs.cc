#include "morphing/rungs.h"

#include <algorithm>

#include "core/values/error.h"

namespace penstock {
namespace {

bool counts_types(const std::vector<Rung>& rungs) {
  return !rungs.empty() && !rungs.front().of_types.empty();
}

void refuse_nonsense(const std::vector<Rung>& rungs) {
  for (const Rung& rung : rungs) {
    if (rung.step > Duration{} && rung.gpus >= 1) continue;
    throw_bad_input("a plan on fewer than one GPU, or whose step takes no time, cannot be run");
  }
}

// Fewer and more GPUs are an order of some rungs only: each is compared with all that are faster.
std::vector<Rung> useful_of_types(std::vector<Rung> rungs) {
  std::sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
    if (a.step != b.step) return a.step < b.step;
    return a.gpus != b.gpus ? a.gpus < b.gpus : a.of_types < b.of_types;
  });
  std::vector<Rung> useful;
  for (const Rung& rung : rungs) {
    const bool is_beaten = std::any_of(useful.begin(), useful.end(), [&](const Rung& faster) {
      return fits(faster, rung.gpus, rung.of_types);
    });
    if (!is_beaten) useful.push_back(rung);
  }
  std::reverse(useful.begin(), useful.end());
  return useful;
}

}  // namespace

bool fits(const Rung& rung, int gpus, std::span<const int> of_types) {
  if (rung.gpus > gpus) return false;
  for (std::size_t t = 0; t < rung.of_types.size(); ++t) {
    if (t >= of_types.size() || rung.of_types[t] > of_types[t]) return false;
  }
  return true;
}

std::vector<Rung> useful_rungs(std::vector<Rung> rungs) {
  refuse_nonsense(rungs);
  if (counts_types(rungs)) return useful_of_types(std::move(rungs));
  std::sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
    return a.gpus != b.gpus ? a.gpus < b.gpus : a.step < b.step;
  });
  std::vector<Rung> useful;
  for (const Rung& rung : rungs) {
    if (useful.empty() || rung.step < useful.back().step) useful.push_back(rung);
  }
  return useful;
}

std::optional<std::size_t> fastest_rung(const std::vector<Rung>& rungs, int gpus,
                                        std::span<const int> of_types) {
  if (counts_types(rungs)) {
    for (std::size_t r = rungs.size(); r-- > 0;) {
      if (fits(rungs[r], gpus, of_types)) return r;
    }
    return std::nullopt;
  }
  const auto after = std::upper_bound(rungs.begin(), rungs.end(), gpus,
                                      [](int most, const Rung& rung) { return most < rung.gpus; });
  if (after == rungs.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - rungs.begin()) - 1;
}

}  // namespace penstock
