// The program that has LibTorch. To load LibTorch takes 0.4 s of processor, so `penstock` goes
// without: a verb that needs it goes on in a second program, which is made of the same sources and
// stands beside the first. Of the pair torch_program_here.cc and torch_program_beside.cc one is
// linked.
#pragma once

namespace penstock {

// Returns at once in the program that has LibTorch, and in a build without it. In `penstock` of a
// build with LibTorch it does not return: this process goes on as that program, from the beginning
// and with the arguments of its command line. So nothing may have happened before that happens
// twice or is lost with the first program: no input is read, no signal handled, no thread begun.
// Error{kMissingResource} when there is no such program of this version.
void go_on_with_torch();

}  // namespace penstock
