// Notices of Azure: scheduled events of all machines of the set that this one belongs to.
#pragma once

#include <memory>
#include <string>

#include "manager/notices/cloud_notice.h"

namespace penstock {

inline constexpr const char* kAzureMetadata = "http://169.254.169.254";

struct AzureEvents {
  std::string incarnation{};  // DocumentIncarnation, a number: equal means nothing new
  NoticesRead read{};
  bool operator==(const AzureEvents&) const = default;
};
// The document of scheduled events. What has started, or has no time, counts as happening now.
AzureEvents read_azure_events(const std::string& body, UtcTime now);
// The body of the POST that lets an event start before its time.
std::string write_azure_approval(const std::string& event);

std::unique_ptr<CloudNotices> azure_notices(HttpExchange exchange);

}  // namespace penstock
