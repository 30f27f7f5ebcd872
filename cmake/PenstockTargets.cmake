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
