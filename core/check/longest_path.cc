#include "core/check/longest_path.h"

#include "core/check/check_parts.h"

namespace penstock {

LongestPath::Times LongestPath::times() const {
  std::vector<std::vector<Node>> after(durations_.size());
  std::vector<int> open(durations_.size(), 0);
  for (const auto& [earlier, later] : edges_) {
    after[earlier].push_back(later);
    ++open[later];
  }
  Times times{std::vector<std::int64_t>(durations_.size(), 0), durations_, {}};
  std::vector<Node> ready;
  for (Node node = 0; node < open.size(); ++node) {
    if (open[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {
    const Node node = ready.back();
    ready.pop_back();
    times.end[node] = sum_of(times.start[node], durations_[node]);
    for (const Node next : after[node]) {
      times.start[next] = std::max(times.start[next], times.end[node]);
      if (--open[next] == 0) ready.push_back(next);
    }
  }
  for (Node node = 0; node < open.size(); ++node) {
    if (open[node] > 0) times.stuck.push_back(node);
  }
  return times;
}

}  // namespace penstock
