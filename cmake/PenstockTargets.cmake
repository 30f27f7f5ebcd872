# The verbs of this build: penstock_library, penstock_test, penstock_bench.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
add_compile_options(-ffp-contract=off)  # fused multiply-add would make predictions differ by machine
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion)

# penstock_library(NAME SOURCES a.cc ... HEADERS a.h ... LINK core PRIVATE_LINK nlohmann_json::nlohmann_json)
function(penstock_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINK;PRIVATE_LINK" ${ARGN})
  add_library(penstock_${name} STATIC ${ARG_SOURCES})
  add_library(penstock::${name} ALIAS penstock_${name})
  target_sources(penstock_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${ARG_HEADERS})
  foreach(lib IN LISTS ARG_LINK)
    target_link_libraries(penstock_${name} PUBLIC penstock::${lib})
  endforeach()
  target_link_libraries(penstock_${name} PRIVATE $<BUILD_INTERFACE:penstock_warnings> ${ARG_PRIVATE_LINK})
endfunction()

# penstock_test(NAME SOURCES a_test.cc ... LINK core): one doctest binary NAME_tests, ctest NAME.
function(penstock_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name}_tests ${PROJECT_SOURCE_DIR}/tests/main.cc ${ARG_SOURCES})
  target_link_libraries(${name}_tests PRIVATE doctest::doctest penstock_warnings)
  foreach(lib IN LISTS ARG_LINK)
    target_link_libraries(${name}_tests PRIVATE penstock::${lib})
  endforeach()
  add_test(NAME ${name} COMMAND ${name}_tests --no-intro=true
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# penstock_bench(NAME SOURCE LINK ...): one Google Benchmark binary, run for an instant by ctest.
function(penstock_bench name)
  cmake_parse_arguments(ARG "" "SOURCE" "LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCE})
  target_link_libraries(${name} PRIVATE benchmark::benchmark_main penstock_warnings)
  foreach(lib IN LISTS ARG_LINK)
    target_link_libraries(${name} PRIVATE penstock::${lib})
  endforeach()
  add_test(NAME bench.${name} COMMAND ${name} --benchmark_min_time=0.001
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(bench.${name} PROPERTIES LABELS bench)
endfunction()
