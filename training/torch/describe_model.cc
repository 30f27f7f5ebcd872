#include "training/torch/describe_model.h"

#include "training/torch/script_model.h"

namespace penstock {

ModelOutline describe_model(const ModelDescription& description) {
  if (description.family != ModelFamily::kTorchScript) return built_in_outline(description);
  return make_script_model(description)->outline();
}

}  // namespace penstock
