#include <cstddef>
#include <span>

#include <ATen/ATen.h>

#include "training/initial_values.h"
#include "training/torch/model.h"
#include "training/torch/script_model.h"

namespace penstock {
namespace {

class BuiltInModel : public Model {
 public:
  explicit BuiltInModel(const ModelDescription& description)
      : description_(description), outline_(built_in_outline(description)) {}

  const ModelOutline& outline() const override { return outline_; }
  std::unique_ptr<SectionModule> section(int index, at::Device /*device*/,
                                         at::ScalarType /*type*/) const override {
    return built_in_section(description_, outline_.sections[static_cast<std::size_t>(index)]);
  }
  at::Tensor initial(int section, int parameter, std::uint64_t seed,
                     at::ScalarType type) const override {
    // Tied tensors start as that of their first section, wherever they are.
    for (const TieOutline& tie : outline_.ties) {
      for (std::size_t i = 1; i < tie.sections.size(); ++i) {
        if (tie.sections[i] == section && tie.parameters[i] == parameter) {
          return initial(tie.sections[0], tie.parameters[0], seed, type);
        }
      }
    }
    const ParameterOutline& outline = outline_.sections[static_cast<std::size_t>(section)]
                                          .parameters[static_cast<std::size_t>(parameter)];
    at::Tensor values = at::empty(outline.shape, type);
    const auto count = static_cast<std::size_t>(values.numel());
    if (type == at::kDouble) {
      fill_initial(outline, seed, section, parameter,
                   std::span<double>(values.data_ptr<double>(), count));
    } else {
      fill_initial(outline, seed, section, parameter,
                   std::span<float>(values.data_ptr<float>(), count));
    }
    return values;
  }
  // The encoder's result goes with the decoder to its last block.
  Boundary boundary(int section, const BoundaryShape& shape) const override {
    if (description_.family == ModelFamily::kT5) return t5_boundary(section, shape);
    const bool is_head = section + 1 == static_cast<int>(outline_.sections.size());
    return {{.shape = {shape.samples, shape.tokens,
                       is_head ? description_.vocabulary : description_.hidden},
             .type = shape.type}};
  }
  // Of t5 every block that attends to the encoder must know where the encoder's samples end.
  [[nodiscard]] std::vector<std::string> inputs() const override {
    if (description_.family != ModelFamily::kT5) return {"tokens"};
    return {"tokens", "decoder_input_ids"};
  }
  [[nodiscard]] bool reads_inputs(int section) const override {
    const bool is_head = section + 1 == static_cast<int>(outline_.sections.size());
    return section == 0 || (description_.family == ModelFamily::kT5 && !is_head);
  }
  void check_division(std::int64_t /*tokens*/) const override {}  // its sections are all there is

 private:
  [[nodiscard]] Boundary t5_boundary(int section, const BoundaryShape& shape) const {
    const auto tensor = [&](std::int64_t tokens, int width) {
      return BoundaryTensor{.shape = {shape.samples, tokens, width}, .type = shape.type};
    };
    const int head = static_cast<int>(outline_.sections.size()) - 1;
    if (section == head) return {tensor(shape.decoder_tokens, description_.vocabulary)};
    if (section <= description_.layers) return {tensor(shape.tokens, description_.hidden)};
    const BoundaryTensor said = tensor(shape.decoder_tokens, description_.hidden);
    if (section + 1 == head) return {said};
    return {tensor(shape.tokens, description_.hidden), said};
  }

  ModelDescription description_;
  ModelOutline outline_;
};

}  // namespace

std::unique_ptr<Model> make_model(const ModelDescription& description) {
  if (description.family == ModelFamily::kTorchScript) return make_script_model(description);
  return std::make_unique<BuiltInModel>(description);
}

}  // namespace penstock
