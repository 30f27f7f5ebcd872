# penstock_auto_option(NAME TEXT): a part that is used if it is found (AUTO), must be there (ON) or is left out (OFF).
include_guard(GLOBAL)
macro(penstock_auto_option name text)
  set(${name} AUTO CACHE STRING "${text}: AUTO, ON or OFF")
  set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT ${name} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${name}=${${name}}: expected AUTO, ON or OFF")
  endif()
endmacro()
