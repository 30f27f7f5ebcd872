// The only main(): wires the arguments to a verb, prints its answer, turns errors into letters.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include <malloc.h>
#include <unistd.h>

#include "cli/answers/commands/dropped_options.h"
#include "cli/answers/commands/filled_commands.h"
#include "cli/answers/commands/free_names.h"
#include "cli/answers/commands/layout_as_pins.h"
#include "cli/answers/commands/refusal_of.h"
#include "cli/answers/commands/tried_proposals.h"
#include "cli/answers/commands/typed_for_examples.h"
#include "cli/answers/verbs/logged_asked.h"
#include "cli/answers/verbs/train_asked.h"
#include "cli/io/color.h"
#include "cli/io/environment.h"
#include "cli/io/screen_width.h"
#include "cli/verbs/verbs.h"
#include "core/values/error.h"
#include "report/fit_lines.h"
#include "report/screen.h"

namespace {

using namespace penstock;

// What may be in colour.
struct Streams {
  bool color_out = false, color_err = false;
};

Streams streams_of(ColorChoice choice) {
  const Environment environment = process_environment();
  return {use_color(choice, environment, isatty(STDOUT_FILENO) == 1),
          use_color(choice, environment, isatty(STDERR_FILENO) == 1)};
}

int complain(const Streams& streams, const std::string& message, int exit) {
  const std::size_t width = screen_of(STDERR_FILENO).columns;
  std::string text = show_controls("error: " + message + '\n');
  if (width > 0) text = fit_lines(text, width);
  std::fputs((streams.color_err ? colored_error(text) : text).c_str(), stderr);
  return exit;
}

int exit_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadInput:
      return kBadUsage;
    case ErrorKind::kMissingResource:
      return kEnvironment;
    case ErrorKind::kInternal:
      return kOurBug;
  }
  return kOurBug;
}

// A reader who has seen enough (`penstock ... | head`) is no error; a full disk is.
int print(const Streams& streams, const Answer& answer, Screen screen) {
  const std::string remark = show_controls(answer.remark);
  const std::size_t width = screen_of(STDERR_FILENO).columns;
  std::fputs((width > 0 ? fit_lines(remark, width) : remark).c_str(), stderr);
  std::string text = answer.has_headings ? show_controls(answer.text) : answer.text;
  if (answer.has_headings && screen.columns > 0) text = fit_lines(text, screen.columns);
  if (answer.has_headings && streams.color_out) text = colored_text(text);
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return answer.exit;
  return complain(streams,
                  std::string("cannot write the result to stdout: ") + std::strerror(errno),
                  kEnvironment);
}

// A search makes and drops Programs of many megabytes; giving their pages back to the system each
// time would cost a fifth of its time. Of the C library's allocator, where jemalloc is not linked.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

// What the error says, with commands that keep what was typed. What is tried, and what is dropped,
// may have a help of its own, with dots.
std::string filled_answer(const std::string& error, const Arguments& typed) {
  std::string message = with_pins_in_place(with_plan_that_ran(error, typed), typed);
  message = with_filled_commands(std::move(message), typed, refusal_of);
  message = with_filled_examples(std::move(message), typed, refusal_of);
  message = with_typed_for_examples(std::move(message), typed, refusal_of);
  message = with_tried_proposals(std::move(message), typed, refusal_of);
  message = with_filled_commands(std::move(message), typed, refusal_of);
  message = with_dropped_options(std::move(message), typed, refusal_of);
  message = with_filled_commands(std::move(message), typed, refusal_of);
  return with_free_names(with_untrainable_plan(std::move(message), typed), typed);
}

// A file that a command would read may itself be wrong: then the error by itself says what matters.
std::string answer_to(const std::string& error, const Arguments& typed) {
  try {
    return filled_answer(error, typed);
  } catch (const Error&) {
    return error;
  }
}

}  // namespace

int main(int count, char** values) {
  std::signal(SIGPIPE, SIG_IGN);
  keep_freed_memory();
  const Screen screen = screen_of(STDOUT_FILENO);
  Streams streams;
  Arguments typed;
  try {
    streams = streams_of(ColorChoice::kAuto);  // for errors in --color itself
    typed.assign(values + (count > 0 ? 1 : 0), values + count);
    streams = streams_of(take_color(typed));
    return print(streams, run_penstock(typed, screen), screen);
  } catch (const Error& error) {
    return complain(streams, answer_to(error.what(), typed), exit_of(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain(streams, "out of memory\nhelp: fewer micro-batches or stages need less",
                    kEnvironment);
  } catch (const std::system_error& error) {  // no more threads, for example
    return complain(streams, std::string(error.what()) + "\nhelp: fewer --threads need less",
                    kEnvironment);
  } catch (const std::exception& error) {
    return complain(streams,
                    "internal error: " + std::string(error.what()) + "\nhelp: please report it",
                    kOurBug);
  }
}
