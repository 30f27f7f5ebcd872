// Sections of a model at one (device, T, recompute mode), for micro-batches of thousands of shapes:
// price_sections() with the grids made once and without notes, and strict about what was measured.
// Below the grid the nearest point holds; beyond it there is no price (shape_nodes.h has the rule),
// where price_sections() would continue and say so.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/values/batch.h"
#include "core/values/cluster.h"
#include "core/values/profile.h"
#include "costmodel/price_stages.h"
#include "costmodel/section_grid.h"
#include "costmodel/shape_nodes.h"
#include "costmodel/tensor_traffic.h"

namespace penstock {

// What decides where samples are cut: the times of F, B and R, and what they hold.
struct SectionLoad {
  Duration forward{}, fused_backward{}, recompute{};
  Bytes stash, working_peak;
};

// Keeps profile and cluster by reference. Several threads may ask at once.
class ShapeSections {
 public:
  ShapeSections(const ModelProfile& profile, const ClusterSpec& cluster, std::string device,
                int tensor_degree, std::string recompute);

  // Within what was measured the sections are those of price_sections(). A shape without a price
  // has a status that says which kind of reason why_not is.
  [[nodiscard]] SectionTable at(const MicroBatchShape& shape) const;
  // The loads of those sections, to the bit, in a fraction of the time: into `by_type`, one entry
  // per section type of the profile. The table is without sections.
  SectionTable loads_at(const MicroBatchShape& shape, std::span<SectionLoad> by_type) const;

 private:
  struct Type {
    int index = 0;
    std::vector<SectionGrid> grids;
    std::vector<SectionGrid> load_grids;  // with 0 for what loads_at() leaves open
    ShapeNodes nodes;
  };
  // take(type, sample, key) for each type; the table that it returns says why it came to an end.
  template <class Take>
  SectionTable each_type(const MicroBatchShape& shape, std::vector<SectionGrid> Type::*grids,
                         const Take& take) const;

  const ModelProfile& profile_;
  std::string device_;
  int tensor_degree_;
  std::string recompute_;
  TensorGroups groups_;
  std::vector<Type> types_;
  bool knows_decoder_ = false;
};

}  // namespace penstock
