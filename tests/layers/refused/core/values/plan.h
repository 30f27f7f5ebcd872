// A value that knows how it is read: refused.

#include "core/files/format.h"
