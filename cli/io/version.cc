#include "cli/verbs/verbs.h"

namespace penstock {

std::string_view version() { return PENSTOCK_VERSION; }

}  // namespace penstock
