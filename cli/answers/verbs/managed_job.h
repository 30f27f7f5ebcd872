// What is asked of a running job by words that its verbs have not: machines by their names or by
// their number, and the manager's address in the place of the job file.
#pragma once

#include <string>

#include "cli/io/answer.h"
#include "cli/options/option_table.h"

namespace penstock {

// "--hosts: the machines of a job stand in .."; empty where no hosts are among the words. `job`:
// the job file in the command.
std::string help_for_hosts(const Arguments& words, const std::string& job);

// "manage job.json --hosts node1,node2", "tell job.json scale 16", "tell localhost:7000 stop".
void refuse_of_managed_job(const OptionTable& table, const Arguments& words);

// "manage plan.json --spot", "manage train.sh --nodes 8": what belongs there is told before its
// options are; the numbers of GPUs that were typed are the book's.
void refuse_no_job(const std::string& verb, const Arguments& arguments);

}  // namespace penstock
