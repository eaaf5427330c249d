# cmake -DBUILD=.. -DSOURCE=.. -DPREFIX=.. -DWORK=.. -DGENERATOR=.. -DCXX=.. -DCC=.. -DBOOK=.. -P test.cmake
file(REMOVE_RECURSE "${PREFIX}" "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

function(run_or_fail)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
endfunction()

function(expect_exact program)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env ${ARGN} "${program}" "${BOOK}" RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE error)
  if(NOT result EQUAL 0 OR NOT output STREQUAL "exact\n")
    message(FATAL_ERROR "${program}: ${result}, '${output}', expected 'exact': ${error}")
  endif()
endfunction()

run_or_fail("${CMAKE_COMMAND}" --install "${BUILD}" --component library --prefix "${PREFIX}")

# The soname, and nothing needed but SQLite and the compiler's own libraries.
file(GLOB_RECURSE library "${PREFIX}/*/libtunebook.so.1")
find_program(OBJDUMP objdump)
if(OBJDUMP)
  execute_process(COMMAND "${OBJDUMP}" -p "${library}" OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  if(NOT headers MATCHES "SONAME +libtunebook\\.so\\.1\n")
    message(FATAL_ERROR "soname: ${headers}")
  endif()
  string(REGEX MATCHALL "NEEDED +[^\n]+" needed "${headers}")
  foreach(entry IN LISTS needed)
    if(NOT entry MATCHES " (libsqlite3|libstdc\\+\\+|libm|libgcc_s|libc|ld-linux[^.]*|libpthread|libdl)\\.so")
      message(FATAL_ERROR "libtunebook.so must not need this: ${entry}")
    endif()
  endforeach()
endif()

run_or_fail("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/cmake" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${PREFIX}"
            "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_C_COMPILER=${CC}")
run_or_fail("${CMAKE_COMMAND}" --build "${WORK}/cmake")
foreach(program consumer_cxx consumer_c consumer_static)
  expect_exact("${WORK}/cmake/${program}")
endforeach()

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(NOT PKG_CONFIG)
  message(STATUS "pkg-config is not here: that half is skipped")
  return()
endif()
cmake_path(GET library PARENT_PATH library_folder)
set(ENV{PKG_CONFIG_PATH} "${library_folder}/pkgconfig")
execute_process(COMMAND "${PKG_CONFIG}" --cflags --libs tunebook OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags)
run_or_fail("${CXX}" -std=c++20 "${SOURCE}/consumer.cc" -o "${WORK}/pkg_cxx" ${flags})
run_or_fail("${CC}" -std=c11 "${SOURCE}/consumer.c" -o "${WORK}/pkg_c" ${flags})
foreach(program pkg_cxx pkg_c)
  expect_exact("${WORK}/${program}" "LD_LIBRARY_PATH=${library_folder}")
endforeach()
