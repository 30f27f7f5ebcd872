// A picture as PNG, by cairo where that was found (PENSTOCK_PNG).
#pragma once

#include <string>

#include "report/pictures/picture.h"

namespace penstock {

// Two pixels for each of the picture's, for print and sharp screens. Error{kMissingResource} in a
// program that was built without cairo.
std::string png_of(const Picture& picture);

}  // namespace penstock
