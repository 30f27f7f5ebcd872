// What keeps a processor or a GPU busy while links are measured under load: products of matrices,
// as in the sections of a model.
#pragma once

#include <string>

#include "profiler/measure_links.h"

namespace penstock {

// On `device` as LibTorch writes it ("cpu", "cuda:0"). start() begins on a thread of its own, on
// the processors of the calling thread; stop() ends it.
LinkLoad matmul_load(const std::string& device = "cpu");

}  // namespace penstock
