// What other verbs make of an option that the one at hand does not have: what a person is told who
// asked the wrong verb. Each is a sentence for "help:", or empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/answers/options/option_readings.h"

namespace penstock {

// What a verb is given first: "PLAN", "MODEL".
std::string first_argument(const std::string& usage);
// An option by its exact name that other verbs have.
std::string help_for_other_verb(const std::string& name);
// What `penstock plan` makes of it, said to a verb that takes what plan writes, or the same inputs.
std::string help_of_plan(const std::string& name, const std::string& value,
                         const std::string& usage);
// "--search" of predict, "--simulate" of plan: the option is called what a verb is called that
// takes the same, or what this one writes.
std::string help_of_verb(const std::string& plain, const std::string& usage);
// The whole command for another verb that is asked of a model and takes all its options, `unread`
// among them, as "plan .. --layout" is predict's; empty where there is none.
std::string command_of_able_verb(const Arguments& arguments, const Arguments& unread,
                                 const Asked& asked);
// "penstock schedule zb-h1 -P 8 -M 24 --cost ..": names and values of options that together ask for
// a schedule without a model; empty where they ask for something else, too.
std::string command_of_schedule(const std::vector<std::pair<std::string, std::string>>& options);
// Whether a verb of this name has all of the options, in whatever words, and places for the rest.
bool verb_takes(std::string_view verb, const Arguments& arguments);
// The arguments in the options of that verb, name and value apart and each by its longest name;
// nothing where it refuses one.
std::optional<Arguments> read_by_verb(std::string_view verb, const Arguments& arguments);
// The words with nodes, ranks and batches that launchers count in several options as those of that
// verb: "--nnodes 2 --nproc_per_node 8" is "--gpus 16".
Arguments with_counts(std::string_view verb, const Arguments& words);
// "config.json on 64 h100" as the whole command of that verb, with the options that are meant;
// empty where a word is none of them.
std::string placed_command(std::string_view verb, const Arguments& arguments);
// What is said of it to a verb that has the option which it is about.
std::string help_of_able_verb(const std::string& plain, const Asked& asked);

}  // namespace penstock
