#include "core/files/listed_waits.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

// Names of actions, each once: the k-th of equal ones ends in "#k", the first in nothing.
class Names {
 public:
  explicit Names(const Program& program) : program_(program) {}

  // In the order of the lists, rank by rank.
  std::string next(const Action& action) {
    std::string name = name_of(program_, action);
    const int times = ++seen_[name];
    return times == 1 ? name : name + "#" + std::to_string(times);
  }

 private:
  const Program& program_;
  std::map<std::string, int, std::less<>> seen_;
};

}  // namespace

// An action's rank follows from its stage, so that equal names are of one rank, in its order.
Json write_listed_waits(const Program& program) {
  Json waits = Json::array();
  bool any = false;
  for (const Wait& wait : program.more_waits) any = any || wait.listed;
  if (!any) return waits;
  Names names(program);
  std::vector<std::string> name_of_action;
  name_of_action.reserve(program.actions.size());
  for (const Action& action : program.actions) name_of_action.push_back(names.next(action));
  for (const Wait& wait : program.more_waits) {
    if (!wait.listed) continue;
    Json pair = Json::array();
    pair.push(name_of_action[wait.action]);
    pair.push(name_of_action[wait.needs]);
    waits.push(std::move(pair));
  }
  return waits;
}

void read_listed_waits(const JsonReader& reader, const Program& program, ActionLists& lists) {
  Names names(program);
  std::map<std::string, std::uint32_t, std::less<>> places;
  for (std::uint32_t i = 0; i < lists.actions.size(); ++i) {
    places.emplace(names.next(lists.actions[i]), i);
  }
  const auto place_of = [&](const JsonReader& name) {
    const auto found = places.find(name.string());
    if (found == places.end()) {
      name.expected("the name of an action that some list holds, such as 0F3 or 1LOAD#2");
    }
    return found->second;
  };
  for (const JsonReader& wait : reader.elements()) {
    const std::vector<JsonReader> pair = wait.elements();
    if (pair.size() != 2) wait.expected("two actions, the first of which waits for the second");
    lists.more_waits.push_back({place_of(pair[0]), place_of(pair[1]), true});
  }
}

}  // namespace penstock
