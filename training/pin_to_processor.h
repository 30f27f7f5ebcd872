// One rank, one processor: as in runs, and so that a measurement does not move about.
#pragma once

namespace penstock {

// Of the processors that this process may use, the calling thread and those that it will start get
// number `rank` modulo their number. False where the system does not allow it; then nothing
// changes.
bool pin_to_processor(int rank);

}  // namespace penstock
