# The program as a Debian package and as an archive: cpack --config BUILD/CPackConfig.cmake. Both hold
# the program, its manual and completions, and example models, clusters and profiles; the libraries
# and headers are for those who build (cmake --install).
include_guard(GLOBAL)
if(NOT PROJECT_IS_TOP_LEVEL OR NOT TARGET penstock)
  return()
endif()
# What is packed was built before: no detour over all tests and benches.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(examples ${CMAKE_INSTALL_DATADIR}/penstock)
install(DIRECTORY data/models data/clusters data/devices data/profiles DESTINATION ${examples} COMPONENT program)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program RENAME copyright)
get_property(uplot_license GLOBAL PROPERTY penstock_uplot_license)
if(uplot_license)
  install(FILES ${uplot_license} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
          RENAME copyright.uPlot)
endif()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME penstock)
set(CPACK_PACKAGE_CONTACT "The authors of Penstock <penstock@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "planner for pipeline, data and tensor parallel training")
set(CPACK_PACKAGE_DESCRIPTION
    "Plans how to train a model on N GPUs: where to cut it into pipeline stages, how many replicas,\n\
 which micro-batch size, which schedule, whether to recompute. It needs no GPU and no network.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# A static program depends on nothing; of another dpkg-shlibdeps finds what it links.
if(PENSTOCK_STATIC)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
