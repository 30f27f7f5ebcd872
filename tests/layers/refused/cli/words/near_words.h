// A meaning that knows which verb asks for it: refused.

#include "cli/options/options.h"
