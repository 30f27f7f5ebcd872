// A layout in the words of a sentence.
#pragma once

#include <string>
#include <vector>

namespace penstock {

// "ZeRO-3 8 gpus batch 4" as "sharding=zero3 DP=8 mbs=4 gbs=32"; empty where a word is not known. A
// batch that is smaller than the replicas is that of one GPU.
std::string layout_in_prose(const std::vector<std::string>& words);

}  // namespace penstock
