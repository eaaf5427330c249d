# What applications install and link to launch: libtunebook_launch.so with all that it needs inside, the CUDA runtime included, and
# nothing but <tunebook/launch.h> visible. Joins the package of db/package.cmake.
add_library(tunebook_launch_shared SHARED launcher.cc)
target_compile_features(tunebook_launch_shared INTERFACE cxx_std_20)
target_include_directories(tunebook_launch_shared
  PUBLIC "$<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tuner")
set(TUNEBOOK_LAUNCH_BOXES tunebook_launch tunebook_cuda tunebook_worker tunebook_lookup tunebook_core)
add_dependencies(tunebook_launch_shared ${TUNEBOOK_LAUNCH_BOXES})
set(TUNEBOOK_LAUNCH_FILES ${TUNEBOOK_LAUNCH_BOXES})
list(TRANSFORM TUNEBOOK_LAUNCH_FILES REPLACE "(.+)" "$<TARGET_FILE:\\1>")
# As files, so that the archives are no part of what the package promises. tunebook::tunebook gives the names of tiers.
target_link_libraries(tunebook_launch_shared
  PUBLIC tunebook_shared
  PRIVATE "$<BUILD_INTERFACE:${TUNEBOOK_LAUNCH_FILES}>" "$<BUILD_INTERFACE:${TUNEBOOK_SHARED_SQLITE_LIBRARY}>"
          $<BUILD_INTERFACE:CUDA::cudart_static> $<BUILD_INTERFACE:Threads::Threads> $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>
          $<BUILD_INTERFACE:tunebook_settings>)
set_target_properties(tunebook_launch_shared PROPERTIES
  OUTPUT_NAME tunebook_launch EXPORT_NAME launch VERSION ${PROJECT_VERSION} SOVERSION 0 VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/libtunebook_launch.map;${TUNEBOOK_LAUNCH_FILES}"
  # NVRTC is opened at run time: that of the toolkit of the build, if there is no other.
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}" INSTALL_RPATH "$ORIGIN;${CUDAToolkit_LIBRARY_DIR}")
target_link_options(tunebook_launch_shared PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/libtunebook_launch.map"
                    "LINKER:-Bsymbolic-functions")
# `cmake --install BUILD --component launch`, beside the component `library`: find_package(tunebook) then gives tunebook::launch too.
install(TARGETS tunebook_launch_shared EXPORT tunebookLaunchTargets COMPONENT launch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tunebook DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT launch)
install(EXPORT tunebookLaunchTargets NAMESPACE tunebook:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/tunebook" COMPONENT launch)
