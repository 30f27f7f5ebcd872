# Programs that use a GPU still start where there is no driver, and say what is missing: none of them
# may name libcuda.so.1, which comes with the driver, in its dynamic section.
#
#   cmake -D READELF=readelf -D "PROGRAMS=a;b" -P starts_without_driver.cmake
cmake_minimum_required(VERSION 3.25)
foreach(program IN LISTS PROGRAMS)
  execute_process(COMMAND ${READELF} -d ${program} OUTPUT_VARIABLE section COMMAND_ERROR_IS_FATAL ANY)
  if(section MATCHES "libcuda\\.so")
    message(FATAL_ERROR "${program} needs libcuda.so.1 to start: a symbol of the driver is called directly")
  endif()
  if(NOT section MATCHES "NEEDED")
    message(FATAL_ERROR "${program}: ${READELF} shows no dynamic section, so nothing was checked")
  endif()
  execute_process(COMMAND ${program} --version OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE code)
  if(NOT code MATCHES "^(0|77)$")
    message(FATAL_ERROR "${program} --version: ended with ${code}")
  endif()
endforeach()
