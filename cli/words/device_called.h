// Which datasheet a person means by the name of a device.
#pragma once

#include <optional>
#include <string>

#include "core/values/cluster.h"
#include "core/values/device_sheet.h"

namespace penstock {

// A name, or the path of a penstock.device/1 file. Error{kBadInput} for a device that is not known,
// with the nearest name and all others.
DeviceSheet sheet_of(const std::string& name);

// A line that begins with "note:" where a short name is that of several, "a100"; or nothing.
std::string remark_of_device(const std::string& name);

// The device that a cluster calls its own way, which is `called` then; of a cluster of one type
// also without a name.
DeviceSheet sheet_in(const ClusterSpec& cluster, const std::optional<std::string>& name,
                     std::string& called);

// Error{kBadInput} for the name of a GPU or a machine where a cluster file belongs.
void refuse_as_cluster(const std::string& name);

// Error{kBadInput} for "8xH100", which says two things, with what to write.
void refuse_counted_device(const std::string& name);

}  // namespace penstock
