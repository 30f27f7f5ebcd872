// How far attention reaches back, and in how many layers: families say it by a list of layer types,
// a period, a number of layers or not at all.
#pragma once

#include "core/files/config_fields.h"
#include "core/files/known_families.h"

namespace penstock {

struct AttentionWindow {
  int tokens = 0;  // 0: to the start, in all layers
  int layers = 0;  // that reach back so far
};

AttentionWindow read_attention_window(ConfigFields& fields, const KnownFamily& family, int layers);

}  // namespace penstock
