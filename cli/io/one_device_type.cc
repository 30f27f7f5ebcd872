#include "cli/io/one_device_type.h"

#include <vector>

#include <fmt/format.h>

#include "core/values/error.h"
#include "studies/book_rungs.h"

namespace penstock {

void require_one_device_type(const Loaded<PlanBook>& book, const std::string& who) {
  const std::vector<std::string> types = device_types_of(book.value);
  if (types.size() < 2) return;
  throw_bad_input(fmt::format(
      "{0}: its plans use devices of {1} types ({2}), and {3} does not say of which type a GPU is"
      "\nhelp: write a book for one type, for example with penstock plan ... --device {4} -o "
      "book.json; one plan for several types is written by penstock plan ... --gpus N -o plan.json",
      book.file.path, types.size(), fmt::join(types, ", "), who, types.front()));
}

}  // namespace penstock
