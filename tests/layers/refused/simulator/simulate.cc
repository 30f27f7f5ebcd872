// The last of these includes must be refused; tests/layers/refuses.cmake says with which words.
#include "simulator/simulate.h"

#include <vector>

#include "core/values/program.h"
#include "search/best_plan.h"
