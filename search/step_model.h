// What replays with some cuts tell about all others. A step is the longest of its chains of
// actions. So a chain that was replayed bounds the step with any cuts: by what its actions take
// there, a sum over the stages. The largest of these sums is a model of the step that costs a few
// additions per stage; where it is least, the next replay is worth most.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/values/units.h"
#include "search/cut_replay.h"

namespace penstock {

// One section less for stage `from`, one more for stage `to`; those between are shifted by one.
struct CutMove {
  int from = 0, to = 0;
};
// False when a stage would be left without sections.
bool make_move(const CutMove& move, std::vector<int>& cuts);

class StepModel {
 public:
  // Knows at first that a rank does all micro-batches one after the other.
  explicit StepModel(const CutReplay& replay);

  // A replay that tells its chain.
  void add(const std::vector<int>& cuts, const CutReplay::Result& replayed);

  struct Next {
    std::vector<int> cuts;
    double step = 0;  // ns, of the model
  };
  // The least of the model a few moves from these cuts, of those that `counts` admits, by way of
  // cuts that `fits` admits.
  using Admits = std::function<bool(const std::vector<int>&)>;
  [[nodiscard]] std::optional<Next> least_near(const std::vector<int>& cuts, const Admits& fits,
                                               const Admits& counts) const;

 private:
  // constant + the sum of slope * work over the stages.
  struct Plane {
    double constant = 0;  // ns: what is not compute of the stages
    std::vector<double> slope;
  };
  struct Scored {
    double step = 0;
    CutMove move;
  };
  // In the order of the steps; of equal ones in that of the stages.
  static bool comes_later(const Scored& a, const Scored& b);

  [[nodiscard]] double work(std::size_t stage, const std::vector<int>& cuts) const;
  [[nodiscard]] double section_work(std::size_t stage, int section) const;
  // In no order.
  [[nodiscard]] std::vector<Scored> moves_from(const std::vector<int>& cuts) const;

  std::size_t stages_;
  std::vector<std::vector<double>> work_;  // [stage], cumulated over the sections
  std::vector<Plane> planes_;              // of the ranks, then of the last replays
  std::size_t ranks_;
  std::size_t oldest_;  // plane to be replaced next once there are many
};

}  // namespace penstock
