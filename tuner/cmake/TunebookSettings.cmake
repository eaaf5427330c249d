# Compiler settings shared by every box, and the helpers that make a box a target.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# A compiler cache is used where there is one; nothing depends on it. It knows files again in another checkout; with debug information,
# which names the folder, only where it serves no debugger.
find_program(TUNEBOOK_CCACHE ccache)
if(TUNEBOOK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}")
  if(TUNEBOOK_SANITIZE)
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_NOHASHDIR=1)
  endif()
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER "${TUNEBOOK_CCACHE}")
endif()

# All programs land in one folder of the build tree, as they do when installed, so that
# `tunebook` finds its workers beside itself in both.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

add_library(tunebook_settings INTERFACE)
target_compile_options(tunebook_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TUNEBOOK_WERROR}>>:-Werror>)
if(TUNEBOOK_SANITIZE)
  # Everything is compiled with the sanitizer, tests and workers included.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TUNEBOOK_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${TUNEBOOK_SANITIZE})
  add_compile_definitions(TUNEBOOK_SANITIZED)
endif()
if(TUNEBOOK_STATIC)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()

# tunebook_box(NAME SOURCES... PUBLIC deps... PRIVATE deps...)
# One static library per box of the design; a forbidden dependency is then a link or include error.
# Headers are included as "core/value.h", "search/space.h", "db/store.h".
function(tunebook_box name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(tunebook_${name} STATIC ${ARG_SOURCES})
  add_library(tunebook::${name} ALIAS tunebook_${name})
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH parent)
  target_include_directories(tunebook_${name} PUBLIC "$<BUILD_INTERFACE:${parent}>")
  target_link_libraries(tunebook_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} tunebook_settings)
endfunction()

# For what spends no time in its own code: compiling it is then what costs.
function(tunebook_optimise_little target)
  if(NOT TUNEBOOK_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
endfunction()

# g++ 12 sees an overlapping copy in std::string's own operator+ (GCC bug 105651).
function(tunebook_quiet_restrict target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
endfunction()
