#include "cli/options/ranks_here_settings.h"

#include "cli/words/parse.h"

namespace penstock {
namespace {

// "2-3" or "2".
RanksHere parse_ranks(const std::string& text, int ranks_of_plan) {
  const std::size_t dash = text.find('-');
  const std::string first = text.substr(0, dash);
  RanksHere ranks;
  ranks.first = parse_int("--ranks-here", first, 0, ranks_of_plan - 1);
  if (dash == std::string::npos) return ranks;
  const int last = parse_int("--ranks-here", text.substr(dash + 1), ranks.first, ranks_of_plan - 1);
  ranks.count = last - ranks.first + 1;
  return ranks;
}

}  // namespace

void RanksHereSettings::declare(Options& options) {
  options.heading("One machine of several");
  options.option("--ranks-here", "FIRST-LAST",
                 "start only these ranks of the plan; the same command on other machines starts "
                 "the others. Needs --meet",
                 ranks_here_);
  options.option("--meet", "FOLDER",
                 "with --ranks-here: an empty folder that all machines see. There the ranks find "
                 "each other, and each launcher writes how its ranks ended",
                 meet_);
  options.option(
      "--address", "HOST",
      "with --ranks-here: address of this machine for the others; default: its host name",
      address_);
}

void RanksHereSettings::refuse(const std::string& why) const {
  if (ranks_here_) bad_option("--ranks-here", why, "leave it out, or start processes");
}

std::optional<LaunchedPart> RanksHereSettings::part(int ranks_of_plan) const {
  if (!ranks_here_) {
    if (meet_) bad_option("--meet", "all ranks are started here", "add --ranks-here 0-3");
    if (address_) bad_option("--address", "all ranks are started here", "add --ranks-here 0-3");
    return std::nullopt;
  }
  if (!meet_) {
    bad_option("--ranks-here", "the ranks of all machines need a folder where they find each other",
               "add --meet FOLDER, a new one for every start");
  }
  return LaunchedPart{parse_ranks(*ranks_here_, ranks_of_plan), *meet_, address_.value_or("")};
}

}  // namespace penstock
