// A program without cairo.
#include "cli/io/png.h"
#include "core/values/error.h"

namespace penstock {

std::string png_of(const Picture&) {
  throw Error(ErrorKind::kMissingResource,
              "this penstock was built without cairo, so that it writes no PNG\n"
              "help: write --format svg, or install libcairo2-dev and pkg-config and reconfigure "
              "with -DPENSTOCK_PNG=ON");
}

}  // namespace penstock
