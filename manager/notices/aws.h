// Notices of Amazon EC2: instance metadata, version 2 (a session token on every request).
#pragma once

#include <memory>
#include <string>

#include "manager/notices/cloud_notice.h"

namespace penstock {

inline constexpr const char* kAwsMetadata = "http://169.254.169.254";

// The body of spot/instance-action: terminate and stop happen at the time it names, hibernate has
// begun. `now` counts where no time does.
NoticesRead read_aws_instance_action(const std::string& body, UtcTime now);
// The body of events/recommendations/rebalance: a higher risk, without a deadline.
NoticesRead read_aws_rebalance(const std::string& body);

std::unique_ptr<CloudNotices> aws_notices(HttpExchange exchange);

}  // namespace penstock
