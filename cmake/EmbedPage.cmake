# Writes a C++ source that holds the files of the HTML report as string literals, so that the program
# needs none of them beside it.
#
#   cmake -D OUTPUT=page_files.cc -D TEMPLATE=page.html -D STYLES=a.css;b.css -D SCRIPTS=a.js;b.js
#         -D HAS_CURVES=true -P EmbedPage.cmake
cmake_minimum_required(VERSION 3.25)

# What compilers must take in one literal.
set(most 65536)

set(text "// Made by cmake/EmbedPage.cmake.\n#include \"report/page/page_files.h\"\n\nnamespace penstock {\nnamespace {\n\n")

function(embed variable file)
  file(READ ${file} content)
  string(LENGTH "${content}" length)
  if(length GREATER_EQUAL most)
    message(FATAL_ERROR "${file} has ${length} bytes; a string literal takes ${most}: divide it")
  endif()
  if(content MATCHES "</script" OR content MATCHES "</style")
    message(FATAL_ERROR "${file} holds the end of the element that it is put into")
  endif()
  string(APPEND text "constexpr char ${variable}[] = R\"penstock(${content})penstock\";\n\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()

file(READ ${TEMPLATE} template)
string(APPEND text "constexpr char kTemplate[] = R\"penstock(${template})penstock\";\n\n")
foreach(part STYLES SCRIPTS)
  set(names)
  set(index 0)
  foreach(file IN LISTS ${part})
    embed(k${part}${index} ${file})
    list(APPEND names k${part}${index})
    math(EXPR index "${index} + 1")
  endforeach()
  list(JOIN names ", " ${part}_names)
endforeach()
string(APPEND text "}  // namespace\n\nPageFiles page_files() {\n"
  "  return {kTemplate, {${STYLES_names}}, {${SCRIPTS_names}}, ${HAS_CURVES}};\n}\n\n}  // namespace penstock\n")
file(WRITE ${OUTPUT} "${text}")
