# What applications install and link: libtunebook.so (the C functions and the C++ lookup, nothing else visible), libtunebook.a (the
# same and all that it needs but SQLite), the headers, find_package(tunebook) and pkg-config.
include(CMakePackageConfigHelpers)

set(TUNEBOOK_SOVERSION 1)  # the C ABI's version, TUNEBOOK_ABI_VERSION in <tunebook/tunebook.h>
set(TUNEBOOK_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tunebook")

function(tunebook_public_library target)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tunebook POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${target} PRIVATE TUNEBOOK_VERSION="${PROJECT_VERSION}")
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tuner")
endfunction()

add_library(tunebook_shared SHARED c_api.cc)
add_library(tunebook::tunebook ALIAS tunebook_shared)
tunebook_public_library(tunebook_shared)
# The boxes are given as files: TUNEBOOK_STATIC would bring SQLite's archive along, which is not made for shared libraries.
find_library(TUNEBOOK_SHARED_SQLITE_LIBRARY sqlite3 REQUIRED)
add_dependencies(tunebook_shared tunebook_lookup tunebook_core)
target_link_libraries(tunebook_shared PRIVATE
  "$<BUILD_INTERFACE:$<TARGET_FILE:tunebook_lookup>>" "$<BUILD_INTERFACE:$<TARGET_FILE:tunebook_core>>"
  "$<BUILD_INTERFACE:${TUNEBOOK_SHARED_SQLITE_LIBRARY}>" $<BUILD_INTERFACE:Threads::Threads>
  $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:tunebook_settings>)
set_target_properties(tunebook_shared PROPERTIES
  EXPORT_NAME tunebook VERSION ${PROJECT_VERSION} SOVERSION ${TUNEBOOK_SOVERSION} VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/libtunebook.map;$<TARGET_FILE:tunebook_lookup>;$<TARGET_FILE:tunebook_core>")
# The C++ runtime stays shared with the application, also with TUNEBOOK_STATIC: exceptions do not pass between two of them.
get_target_property(shared_link_options tunebook_shared LINK_OPTIONS)
if(shared_link_options)
  list(REMOVE_ITEM shared_link_options -static-libstdc++ -static-libgcc)
  set_target_properties(tunebook_shared PROPERTIES LINK_OPTIONS "${shared_link_options}")
endif()
# A program may hold another copy of the lookup: the library keeps to its own.
target_link_options(tunebook_shared PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/libtunebook.map"
                    "LINKER:-Bsymbolic-functions")

# The boxes' objects in one archive: whoever links it needs SQLite and threads besides.
add_library(tunebook_archive STATIC c_api.cc $<TARGET_OBJECTS:tunebook_lookup> $<TARGET_OBJECTS:tunebook_core>)
tunebook_public_library(tunebook_archive)
target_link_libraries(tunebook_archive PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:tunebook_settings>
                      INTERFACE $<INSTALL_INTERFACE:SQLite::SQLite3> $<INSTALL_INTERFACE:Threads::Threads>)
set_target_properties(tunebook_archive PROPERTIES EXPORT_NAME tunebook_static)

# The C++ lookup under its own name: tunebook::lookup, in the build tree the box itself.
add_library(tunebook_lookup_package INTERFACE)
target_link_libraries(tunebook_lookup_package INTERFACE tunebook_shared)
set_target_properties(tunebook_lookup_package PROPERTIES EXPORT_NAME lookup)

configure_package_config_file(tunebookConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/tunebookConfig.cmake"
                              INSTALL_DESTINATION "${TUNEBOOK_PACKAGE_DIR}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/tunebookConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
# Relative, so that the installed folder may be moved.
file(RELATIVE_PATH TUNEBOOK_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" TUNEBOOK_PC_PREFIX "${TUNEBOOK_PC_PREFIX}")
configure_file(tunebook.pc.in "${CMAKE_CURRENT_BINARY_DIR}/tunebook.pc" @ONLY)

# `cmake --install BUILD --component library` installs what applications need, without the tuner.
install(TARGETS tunebook_shared tunebook_archive tunebook_lookup_package EXPORT tunebookTargets COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tunebook DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT tunebookTargets NAMESPACE tunebook:: DESTINATION "${TUNEBOOK_PACKAGE_DIR}" COMPONENT library)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tunebookConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/tunebookConfigVersion.cmake"
        DESTINATION "${TUNEBOOK_PACKAGE_DIR}" COMPONENT library)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/tunebook.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT library)
