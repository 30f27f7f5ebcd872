// Notices of clouds as a source of events of the manager: for machines whose metadata service the
// manager's own machine can reach, which is that machine. Others run `penstock listen`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "manager/event_source.h"
#include "manager/job_file.h"
#include "manager/notices/cloud_notice.h"

namespace penstock {

// The client of a cloud; `base`: another address than its own.
std::unique_ptr<CloudNotices> cloud_notices(NoticeSource::Provider provider,
                                            const std::string& base);

// Asks on a thread of its own, since an answer may be held back for long.
std::unique_ptr<EventSource> cloud_events(const NoticeSource& source,
                                          std::function<UtcTime()> clock);

}  // namespace penstock
