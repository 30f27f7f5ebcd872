// Nothing to refuse here.
#include "search/best_plan.h"

#include <fmt/core.h>

#include "core/values/plan.h"
#include "costmodel/price_stages.h"
#include "simulator/simulate.h"
