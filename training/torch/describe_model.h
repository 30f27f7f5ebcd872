// What a model that can be trained here is made of, archives included.
#pragma once

#include "core/values/model_description.h"
#include "training/model_outline.h"

namespace penstock {

// Error{kBadInput} for a description that no model has, and for an archive that cannot be read.
ModelOutline describe_model(const ModelDescription& description);

}  // namespace penstock
