#include "cli/parts/torch_program.h"

namespace penstock {

void go_on_with_torch() {}

}  // namespace penstock
