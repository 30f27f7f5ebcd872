// A piece is a range of elements of one named tensor, in the tensor's own numbering and not in that
// of the flat memory that holds it. So a checkpoint that one layout wrote can be read by any other,
// and moves between plans are intersections of ranges. Optimizer state is listed only for the
// ranges that the rank owns under ZeRO-1; weights are listed whole, unless sections gather them:
// then likewise, and a tensor of which the rank owns nothing as an empty range, since it is known.
#include "training/section_pieces.h"

namespace penstock {
namespace {

class PieceBuilder {
 public:
  PieceBuilder(const ModelOutline& outline, const KeptPerWeight& kept, const BufferAt& buffer_at)
      : outline_(outline), kept_(kept), buffer_at_(buffer_at) {}

  void add(const Segment& segment, std::size_t index, const PlacedParameter& placed,
           SectionState& state) const {
    const ParameterOutline& parameter = outline_.sections[static_cast<std::size_t>(placed.section)]
                                            .parameters[static_cast<std::size_t>(placed.parameter)];
    const bool gathers = segment.at.by_section == SectionSharding::kWeights;
    const bool only_here = owned_offsets(segment.at).back() < segment.at.elements;
    if (gathers) {
      add_owned(segment, placed, [&](const ElementRange& within, const ElementRange& compact) {
        state.parameters.push_back({parameter.name, parameter.shape, within.begin, within.end,
                                    buffer_at_(index, -1, compact), only_here});
      });
      if (state.parameters.empty() || state.parameters.back().name != parameter.name) {
        state.parameters.push_back({parameter.name, parameter.shape, 0, 0, nothing(), only_here});
      }
    } else {
      state.parameters.push_back({parameter.name, parameter.shape, 0, placed.place.size(),
                                  buffer_at_(index, -1, placed.place)});
    }
    add_owned(segment, placed, [&](const ElementRange& within, const ElementRange& compact) {
      for (std::size_t k = 0; k < kept_.names.size(); ++k) {
        state.optimizer.push_back({parameter.name + "." + kept_.names[k], parameter.shape,
                                   within.begin, within.end,
                                   buffer_at_(index, static_cast<int>(k), compact), only_here});
      }
    });
  }

 private:
  // Calls visit(range within the tensor, range of the compact memory) for what is owned of it.
  template <class Visit>
  static void add_owned(const Segment& segment, const PlacedParameter& placed, const Visit& visit) {
    const std::vector<std::size_t> offsets = owned_offsets(segment.at);
    for (std::size_t i = 0; i < segment.at.owned.size(); ++i) {
      const ElementRange& owned = segment.at.owned[i];
      const ElementRange both = common(owned, placed.place);
      if (both.size() == 0) continue;
      const std::size_t at = offsets[i] + both.begin - owned.begin;
      visit(ElementRange{both.begin - placed.place.begin, both.end - placed.place.begin},
            ElementRange{at, at + both.size()});
    }
  }
  [[nodiscard]] Buffer nothing() const {
    Buffer buffer;
    buffer.type = kept_.weights;
    return buffer;
  }

  const ModelOutline& outline_;
  const KeptPerWeight& kept_;
  const BufferAt& buffer_at_;
};

StatePiece buffer_piece(const BufferOutline& outline, Buffer buffer) {
  buffer.elements = static_cast<std::size_t>(outline.count());
  buffer.type = outline.type;
  return {outline.name, outline.shape, 0, buffer.elements, buffer};
}

}  // namespace

KeptPerWeight kept_per_weight(const ModelDescription& model, const TrainingOptions& options) {
  KeptPerWeight kept;
  kept.kept =
      model.precision == Precision::kFloat64 ? ElementType::kFloat64 : ElementType::kFloat32;
  kept.weights = kept.kept;
  if (model.precision == Precision::kBFloat16) kept.weights = ElementType::kBFloat16;
  if (model.precision == Precision::kFloat16) kept.weights = ElementType::kFloat16;
  if (kept.weights != kept.kept) kept.names.emplace_back("master");
  if (model.optimizer == OptimizerKind::kAdamW) {
    kept.names.insert(kept.names.end(), {"exp_avg", "exp_avg_sq"});
  } else if (options.momentum != 0.0) {
    kept.names.emplace_back("momentum");
  }
  return kept;
}

BufferAt no_memory(const KeptPerWeight& kept) {
  return [types = std::pair(kept.weights, kept.kept)](std::size_t /*segment*/, int which,
                                                      const ElementRange& range) {
    Buffer buffer;
    buffer.elements = range.size();
    buffer.type = which < 0 ? types.first : types.second;
    return buffer;
  };
}

std::vector<SectionState> section_pieces(const ModelOutline& outline, const StageSetup& stage,
                                         const std::vector<Segment>& segments,
                                         const KeptPerWeight& kept, const BufferAt& buffer_at,
                                         const SectionBufferAt& section_buffer_at) {
  std::vector<SectionState> states;
  states.reserve(static_cast<std::size_t>(stage.end_section - stage.first_section));
  for (int s = stage.first_section; s < stage.end_section; ++s) {
    SectionState& state = states.emplace_back();
    state.section = s;
    state.holders = stage.holders;
    state.holder = stage.holder;
    state.shard_groups = stage.shard_groups;
    state.shard_group = stage.shard_group();
  }
  const PieceBuilder builder(outline, kept, buffer_at);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    for (const PlacedParameter& placed : segments[i].parameters) {
      builder.add(segments[i], i, placed,
                  states[static_cast<std::size_t>(placed.section - stage.first_section)]);
    }
  }
  for (SectionState& state : states) {
    const auto& buffers = outline.sections[static_cast<std::size_t>(state.section)].buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      state.parameters.push_back(buffer_piece(
          buffers[i], section_buffer_at ? section_buffer_at(state.section, i) : Buffer{}));
    }
  }
  return states;
}

}  // namespace penstock
