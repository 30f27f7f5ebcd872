// Things that take time and follow one another: each starts when all that it follows have ended.
// The checker's whole idea of a step. Used by check() only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace penstock {

class LongestPath {
 public:
  using Node = std::uint32_t;

  Node add(std::int64_t duration) {
    durations_.push_back(duration);
    return static_cast<Node>(durations_.size() - 1);
  }
  void at_least(Node node, std::int64_t duration) {
    durations_[node] = std::max(durations_[node], duration);
  }
  void follows(Node later, std::optional<Node> earlier) {
    if (earlier && *earlier != later) edges_.emplace_back(*earlier, later);
  }

  struct Times {
    std::vector<std::int64_t> start, end;  // per node
    std::vector<Node> stuck;               // nodes that wait for each other, ascending
  };
  [[nodiscard]] Times times() const;

 private:
  std::vector<std::int64_t> durations_;
  std::vector<std::pair<Node, Node>> edges_;  // (earlier, later)
};

}  // namespace penstock
