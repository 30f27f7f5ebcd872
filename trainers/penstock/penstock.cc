// Penstock itself, the runtime of `penstock train`: plans are made for it, and it reads them as
// they are.
#include "trainers/trainer_rows.h"

namespace penstock {

TrainerRow penstock_row() {
  return {.name = "penstock", .folder = "penstock", .title = "Penstock"};
}

}  // namespace penstock
