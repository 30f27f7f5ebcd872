// The verbs around a managed job in a program that was built without the manager.
#include <string>

#include "cli/verbs/verbs.h"
#include "core/values/error.h"

namespace penstock {
namespace {

Answer not_built(const std::string& verb) {
  throw Error(
      ErrorKind::kMissingResource,
      "this penstock was built without the manager, so that it has no '" + verb +
          "'\nhelp: reconfigure with -DPENSTOCK_MANAGER=ON, which needs SQLite, OpenSSL and Boost");
}

}  // namespace

Answer run_status(const Arguments&, Screen) { return not_built("status"); }
Answer run_tell(const Arguments&, Screen) { return not_built("tell"); }
Answer run_listen(const Arguments&, Screen) { return not_built("listen"); }

}  // namespace penstock
