// `penstock manage` in a program that was built without the manager, or without the planner, which
// makes plan files of a book.
#include "cli/verbs/verbs.h"
#include "core/values/error.h"

namespace penstock {

Answer run_manage(const Arguments& /*arguments*/, Screen /*screen*/) {
  throw Error(ErrorKind::kMissingResource,
              "this penstock was built without the manager of jobs\nhelp: reconfigure with "
              "-DPENSTOCK_MANAGER=ON, which needs SQLite, and with -DPENSTOCK_PLANNER=ON");
}

}  // namespace penstock
