// Options that name a store of plans and how it is reached; the same for ranks and planner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "runtime_bridge/launch_environment.h"
#include "runtime_bridge/plan_store_address.h"

namespace penstock {

class StoreOptions {
 public:
  // `name`: the option for the address, "--store".
  explicit StoreOptions(std::string name) : name_(std::move(name)) {}
  void declare(Options& options, const std::string& help);

  [[nodiscard]] bool is_given() const { return address_.has_value(); }
  // Of all but the address.
  [[nodiscard]] static std::vector<std::string> names_of_others();
  // Error{kBadInput} for what is malformed, or makes no sense together; the password is read from
  // its file, or else from the environment.
  [[nodiscard]] PlanStoreAddress address(const Environment& environment) const;
  [[nodiscard]] const std::string& job() const;

 private:
  std::string name_;
  std::optional<std::string> address_, job_, password_file_, authorities_, certificate_, key_;
};

}  // namespace penstock
