// A machine that a job may use, as its manager knows it.
#pragma once

#include <optional>
#include <string>

#include "manager/utc_time.h"

namespace penstock {

struct JobMachine {
  std::string name;  // its host name: what {host} of a command template becomes
  int gpus = 1;      // ranks that it can hold
  UtcTime since{};   // when it joined
  // It was announced that it will be gone by then.
  std::optional<UtcTime> gone_by;
  double slow_factor = 1.0;  // time of its ranks over what is usual
  std::string device;        // its type; empty: nobody said
  bool operator==(const JobMachine&) const = default;
};

}  // namespace penstock
