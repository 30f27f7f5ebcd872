// Where imported figures are from, as a source of a cluster file. Private to report/imports.
#pragma once

#include <string>
#include <vector>

#include "core/values/cluster.h"

namespace penstock {

// Adds the source under its id, or that with a number behind it; a source with the same text is
// used again. Returns its index.
int add_source(ClusterSpec& cluster, Source source);

// A source like the one at `index`, which says `text` behind `label` first, in place of what it
// said there before: devices and levels have one source for several figures.
Source with_remark(const ClusterSpec& cluster, int index, const std::string& label,
                   const std::string& text);

// Says so where the cluster holds factors that were fitted to other prices than it has now.
void tell_of_calibration(const ClusterSpec& cluster, std::vector<std::string>& notes);

// The last part of a path: folders of a machine are nobody's business.
std::string name_of_file(const std::string& path);
std::string or_unknown(const std::string& text);

}  // namespace penstock
