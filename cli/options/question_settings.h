// Changes one thing of a question, by its key: what --pin, --vary and --why-not name.
#pragma once

#include <string>
#include <vector>

#include "cli/options/question.h"

namespace penstock {

// Changes one thing of a question: a pin (schedule, P, V, D, T, b, recompute, zero1, device,
// placement), gpus, global-batch, reserve-gib, memory-limit, or its cluster (change_cluster.h).
// False when the key is none of them; Error{kBadInput}, which names `option`, for a bad value.
bool set(Question& question, const std::string& option, const std::string& key,
         const std::string& value);
// All of them but link.LEVEL.
const std::vector<std::string>& settable_keys();

// --pin, --schedule and the other options that fix something; and --for.
void set_pins(Question& question, const SearchOptions& options);
// Whether --pin says where the optimizer's state lies, which is on the device otherwise.
bool pins_offload(const SearchOptions& options);
// ZeRO-2 and ZeRO-3 have no pipeline: else one replica in a long one, which shards nothing, would
// be an answer to them. Error{kBadInput} of `option` where PP is pinned to more than 1.
void settle_pipeline(Pins& pins, const std::string& option);
// Error{kBadInput} with all that the pins contradict.
void refuse_contradictions(const Question& question);

}  // namespace penstock
