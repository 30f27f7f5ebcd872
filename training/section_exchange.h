// Collectives that sections begin in the middle of a forward or backward, where they are sharded
// one by one (SectionSharding): the RankWork decides when, the executor carries them out over the
// holders of the stage's weights and notes when they ran.
#pragma once

#include <vector>

#include "core/values/action_kind.h"
#include "training/buffer.h"

namespace penstock {

class SectionExchange {
 public:
  virtual ~SectionExchange() = default;
  // UNSHARD or REDUCE_GRAD of one section, which runs beside what follows. Each buffer is in as
  // many equal parts as the stage has shards, part i belongs to the i-th holder of a group:
  // afterwards every part is what its holder had in it, or the own part is the sum over all
  // holders. Buffers live until it is finished. All holders begin the same in the same order.
  [[nodiscard]] virtual int begin(ActionKind kind, int stage, int section,
                                  std::vector<Buffer> buffers) = 0;
  // Waits for what begin() returned this number for; once.
  virtual void finish(int number) = 0;
};

}  // namespace penstock
