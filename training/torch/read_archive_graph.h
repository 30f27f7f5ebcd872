// Where an archive can be divided.
#pragma once

#include <cstdint>

#include "core/values/model_description.h"
#include "training/archive_graph.h"

namespace penstock {

// Runs the archive once on samples of so many tokens, to see which tensors can be handed from one
// section to the next. Its cutpoints are not looked at. Error{kBadInput} for an archive that cannot
// be read or run.
ArchiveGraph read_archive_graph(const ModelDescription& description, std::int64_t tokens);

}  // namespace penstock
