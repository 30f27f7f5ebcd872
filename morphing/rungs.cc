#include "morphing/rungs.h"

#include <algorithm>

#include "core/values/error.h"

namespace penstock {

std::vector<Rung> useful_rungs(std::vector<Rung> rungs) {
  std::sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
    return a.gpus != b.gpus ? a.gpus < b.gpus : a.step < b.step;
  });
  std::vector<Rung> useful;
  for (const Rung& rung : rungs) {
    if (rung.step <= Duration{} || rung.gpus < 1) {
      throw_bad_input("a plan on fewer than one GPU, or whose step takes no time, cannot be run");
    }
    if (useful.empty() || rung.step < useful.back().step) useful.push_back(rung);
  }
  return useful;
}

std::optional<std::size_t> fastest_rung(const std::vector<Rung>& rungs, int gpus) {
  const auto after = std::upper_bound(rungs.begin(), rungs.end(), gpus,
                                      [](int most, const Rung& rung) { return most < rung.gpus; });
  if (after == rungs.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - rungs.begin()) - 1;
}

}  // namespace penstock
