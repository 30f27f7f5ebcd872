#pragma once

#include <fmt/core.h>

#include "core/units.h"
#include "tests/helpers.h"
