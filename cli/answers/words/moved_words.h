// Words that stand without the option they belong to: the name of a trainer, the log of a run, a
// cluster, a file or a folder to write.
#pragma once

#include <string>

#include "cli/answers/options/option_readings.h"

namespace penstock {

// The whole command with every one of the words behind its option, as "it follows its option:
// penstock export plan.json --to megatron -o job"; empty where one of them belongs to none.
// `own`: all that was typed; `left`: those of it that the verb has no place for.
std::string help_for_moved(const Arguments& own, const Arguments& left, const Asked& asked);

}  // namespace penstock
