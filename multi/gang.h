// Gang scheduling: every model runs once, on as many GPUs as its option says, all of them from the
// same start to the same end. List scheduling makes a schedule of an order and a choice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "multi/schedule_value.h"

namespace penstock {

// A technique on so many GPUs. What does not fit is no option.
struct GangOption {
  int gpus = 1;
  Duration runtime{};  // of the whole task
  std::string words;   // of the technique
  bool operator==(const GangOption&) const = default;
};

struct GangTask {
  std::string name;
  std::vector<GangOption> options;  // never empty
  Wishes wishes;
  bool operator==(const GangTask&) const = default;
};

// A task that runs already: `left` until its end, if it stays where it is.
struct RunningGang {
  std::vector<int> gpus;
  int option = 0;
  Duration left{};
  bool operator==(const RunningGang&) const = default;
};

inline constexpr int kStays = -1;

struct GangChoice {
  int task = 0;
  int option = 0;  // index into GangTask::options; kStays: where it runs already
  bool operator==(const GangChoice&) const = default;
};

struct GangRun {
  int task = 0, option = 0;
  std::vector<int> gpus;  // ascending
  Duration start{}, end{};
  bool operator==(const GangRun&) const = default;
};

struct GangSchedule {
  std::vector<GangRun> runs;  // in the order in which they were placed
  [[nodiscard]] Duration makespan() const;
  bool operator==(const GangSchedule&) const = default;
};

// The GPUs of every node. GPUs are numbered node by node.
using NodeSizes = std::vector<int>;

// Places gangs one after the other, each at its earliest start behind what was placed before:
// - within one node, where some node has enough GPUs: the one where it starts first, then the one
//   that it leaves the fewest free GPUs;
// - else on whole nodes, those that are free first, and the rest of it on part of another.
class GangPlacer {
 public:
  explicit GangPlacer(const NodeSizes& nodes);

  // Error{kInternal} when there are not so many GPUs.
  GangRun place(const GangTask& task, const GangChoice& choice);
  // Within `node`, which has enough.
  GangRun place_in(int node, const GangTask& task, const GangChoice& choice);
  // From the beginning, on the GPUs that it has; before anything else is placed there.
  GangRun keep(const RunningGang& running, int task);

  // When each GPU is free, node by node.
  [[nodiscard]] const std::vector<std::vector<Duration>>& free() const { return free_; }
  [[nodiscard]] bool fits_a_node(int gpus) const;

 private:
  [[nodiscard]] Duration start_in(std::size_t node, int gpus) const;
  void take(std::size_t node, int gpus, Duration start, Duration end, std::vector<int>& taken);
  GangRun spread(const GangTask& task, const GangChoice& choice);

  std::vector<std::vector<Duration>> free_;
  std::vector<int> first_gpu_;  // of each node
};

// `order`: every task once; those that stay are placed first. `running`: of every task, or empty.
GangSchedule list_gangs(const std::vector<GangTask>& tasks, const NodeSizes& nodes,
                        const std::vector<GangChoice>& order,
                        const std::vector<std::optional<RunningGang>>& running = {});

ScheduleValue value_of(const GangSchedule& schedule, const std::vector<GangTask>& tasks);

// max(longest of the shortest runtimes, sum of the least GPU-time / GPUs).
Duration gang_bound(const std::vector<GangTask>& tasks, const NodeSizes& nodes);

}  // namespace penstock
