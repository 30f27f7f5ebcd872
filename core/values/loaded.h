// A value that was read from a file, with the hash that says which file that was.
#pragma once

#include "core/values/plan_file.h"

namespace penstock {

template <class Value>
struct Loaded {
  Value value;
  InputFile file;
};

}  // namespace penstock
