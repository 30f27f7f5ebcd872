#pragma once

#include <fmt/core.h>

#include "core/values/units.h"
#include "tests/helpers.h"
