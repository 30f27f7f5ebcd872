// Whether a word is the name of a GPU.
#pragma once

#include <string>

namespace penstock {

// "h100", "a100-80gb", "mi300x", "rtx-4090": by its letters and digits, whether or not it is known.
bool is_like_gpu(const std::string& word);

}  // namespace penstock
