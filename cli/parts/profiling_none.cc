#include "cli/parts/model_cutpoints.h"
#include "cli/parts/profiling.h"
#include "core/values/error.h"

namespace penstock {
namespace {

[[noreturn]] void not_built() {
  throw Error(ErrorKind::kMissingResource,
              "this penstock was built without LibTorch, so that it cannot measure models\nhelp: "
              "reconfigure with -DPENSTOCK_TORCH=ON; or write a profile from Python with "
              "profiler/python/penstock_profile.py");
}

}  // namespace

void check_profiling(const ProfileRequest&) { not_built(); }
int link_ranks(const ProfileRequest&) { not_built(); }
void divide_model(ProfileRequest&) {}  // nothing is measured anyway
int run_profiling_ranks(const Arguments&, int, const Environment&) { not_built(); }
std::optional<Measured> measure_as_rank(const ProfileRequest&, const LaunchEnvironment&,
                                        ProfilingProgress&) {
  not_built();
}

}  // namespace penstock
