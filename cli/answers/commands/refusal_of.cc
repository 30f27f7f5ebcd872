#include "cli/answers/commands/refusal_of.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "cli/answers/commands/rehearsal.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"

namespace penstock {
namespace {

bool can_be_tried(std::string_view verb) {
  constexpr std::array<std::string_view, 7> kNever{"profile", "train", "planner", "manage",
                                                   "status",  "tell",  "listen"};
  return find_verb(verb) != nullptr &&
         std::find(kNever.begin(), kNever.end(), verb) == kNever.end();
}

}  // namespace

std::optional<std::string> refusal_of(const Arguments& arguments) {
  // A refusal that is rehearsed tries nothing in its turn: two patterns of twenty files each would
  // be four hundred commands.
  if (arguments.empty() || !can_be_tried(arguments.front()) || is_rehearsal()) return std::nullopt;
  const Rehearsal rehearsal;
  try {
    run_penstock(arguments);
  } catch (const NothingToRefuse&) {
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception&) {  // of the machine: the command itself will tell
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace penstock
