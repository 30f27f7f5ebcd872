// The state of a stage's sections, piece by piece, as its layout has it: names and ranges that are
// the same for every layout. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "training/model_outline.h"
#include "training/section_state.h"
#include "training/stage_layout.h"

namespace penstock {

// What is kept of every weight besides itself, by the holder whose optimizer steps it.
struct KeptPerWeight {
  ElementType weights = ElementType::kFloat32;
  ElementType kept = ElementType::kFloat32;
  std::vector<std::string> names;  // "master", "exp_avg", "exp_avg_sq"
  bool operator==(const KeptPerWeight&) const = default;
};
// Of AdamW two moments, of SGD one if it has momentum; below fp32 the fp32 weights first.
KeptPerWeight kept_per_weight(const ModelDescription& model, const TrainingOptions& options);

// Where elements [begin, end) lie of the weights of segment `segment` (`kept` -1), or of what is
// kept, which is of the owned elements only, one range after the other; so are weights that
// sections gather.
using BufferAt = std::function<Buffer(std::size_t segment, int kept, const ElementRange& range)>;
// Without memory.
BufferAt no_memory(const KeptPerWeight& kept);
// Where buffer `buffer` of a section's outline lies.
using SectionBufferAt = std::function<Buffer(int section, std::size_t buffer)>;

// Of all sections of the stage, ascending.
std::vector<SectionState> section_pieces(const ModelOutline& outline, const StageSetup& stage,
                                         const std::vector<Segment>& segments,
                                         const KeptPerWeight& kept, const BufferAt& buffer_at,
                                         const SectionBufferAt& section_buffer_at = {});

}  // namespace penstock
