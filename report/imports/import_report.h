// What importers read, and what they changed, in words.
#pragma once

#include <string>

#include "core/values/json.h"
#include "report/imports/cluster_changes.h"
#include "report/screen.h"

namespace penstock {

std::string nccl_report(const NcclTest& test, Screen screen);
Json to_json(const NcclTest& test);

std::string nvbandwidth_report(const NvBandwidth& measured, Screen screen);
Json to_json(const NvBandwidth& measured);

// The cheapest rows of every accelerator.
std::string catalog_report(const PriceCatalog& catalog, const PriceQuestion& question,
                           Screen screen);
Json to_json(const PriceCatalog& catalog, const PriceQuestion& question);

std::string changes_report(const ClusterChanges& changes, Screen screen);
void set_changes(Json& json, const ClusterChanges& changes);

}  // namespace penstock
