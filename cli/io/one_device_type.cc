#include "cli/io/one_device_type.h"

#include <vector>

#include <fmt/format.h>

#include "core/values/error.h"
#include "studies/book_rungs.h"

namespace penstock {

void require_one_device_type(const Loaded<PlanBook>& book, const std::string& who) {
  if (book.value.counts_types()) {
    throw_bad_input(fmt::format(
        "{}: its pages count GPUs of {} types ({}), and {} does not say of which type a GPU is\n"
        "help: give a book for one type: penstock plan ... --device {} --gpus 1..8 -o book.json",
        book.file.path, book.value.types.size(), fmt::join(book.value.types, ", "), who,
        book.value.types.front()));
  }
  const std::vector<std::string> types = device_types_of(book.value);
  if (types.size() < 2) return;
  throw_bad_input(fmt::format(
      "{0}: its plans use devices of {1} types ({2}), and {3} does not say of which type a GPU is"
      "\nhelp: write a book that counts the types, penstock plan ... --gpus {4}=0..8 -o book.json, "
      "or one for one type, with --device {5}; one plan for several types is written by penstock "
      "plan ... --gpus N -o plan.json",
      book.file.path, types.size(), fmt::join(types, ", "), who, fmt::join(types, "=0..8,"),
      types.front()));
}

}  // namespace penstock
