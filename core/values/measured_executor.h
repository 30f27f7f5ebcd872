// What a step costs a rank besides its sections' own times, as one runtime was measured to carry
// steps out: dispatching an action, and taking part in a message, which keeps the rank's processor
// busy while other sections could run.
#pragma once

#include <string>
#include <vector>

#include "core/values/units.h"

namespace penstock {

// Of a message of this size: what it takes of the sender's time and of the receiver's.
struct MessageCost {
  Bytes bytes;
  Duration send{}, receive{};
  bool operator==(const MessageCost&) const = default;
};

struct MeasuredExecutor {
  std::string trainer;  // whose runtime it is, as --for names it: "penstock"
  Duration per_action{}, per_step{};
  std::vector<MessageCost> messages;  // ascending bytes; may be empty
  int source = 0;                     // index into ClusterSpec::sources
  // Whether prices hold it: of plans for that trainer. Files do not say it.
  bool is_priced = false;
  bool operator==(const MeasuredExecutor&) const = default;

  // On the line between two sizes: below the smallest its own, above the largest along the last
  // line. What does not send anything takes no time.
  [[nodiscard]] MessageCost message_of(Bytes bytes) const;
};

}  // namespace penstock
