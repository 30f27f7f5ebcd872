// Notices of Google Compute Engine: keys of the metadata server, which answers when they change.
#pragma once

#include <memory>
#include <string>

#include "manager/notices/cloud_notice.h"

namespace penstock {

inline constexpr const char* kGcpMetadata = "http://metadata.google.internal";

// The body of instance/preempted, TRUE or FALSE. It has no time: the machine counts as gone
// `notice` after now.
NoticesRead read_gcp_preempted(const std::string& body, UtcTime now, Duration notice);
// The body of instance/maintenance-event, which was announced at `since`, or later.
NoticesRead read_gcp_maintenance(const std::string& body, UtcTime since);

struct GcpOptions {
  // 30 s between ACPI G2 and power-off; with preemptionNoticeDuration 120 s more, of which only the
  // 120 s are counted on.
  Duration notice = std::chrono::seconds(30);
  Duration wait_for_change = std::chrono::seconds(20);  // per question, of which there are two
};
std::unique_ptr<CloudNotices> gcp_notices(HttpExchange exchange, GcpOptions options);

}  // namespace penstock
