# SPDX-License-Identifier: GPL-3.0-or-later
# The installed NFS-Ganesha and the headers of exactly that release, which no package ships.
#
# Input:   GANESHA_SOURCE_DIR  an unpacked source tree of the installed release (no download)
#          GANESHA_CACHE       where downloaded headers are kept (also from the environment);
#                              default /var/cache/quickmigrate/ganesha-<version>
#          GANESHA_LIBRARY_DIR where libganesha_nfsd.so.<version> is, default /usr/lib/ganesha
# Output:  Ganesha::nfsd       imported target
#          GANESHA_VERSION     4.3
#          GANESHA_FSAL_MAJOR  11: the version of the interface for modules
set(GANESHA_SOURCE_DIR "" CACHE PATH "Unpacked source of the installed Ganesha")
set(GANESHA_CACHE "$ENV{GANESHA_CACHE}" CACHE PATH "Where downloaded Ganesha headers are kept")
set(GANESHA_LIBRARY_DIR /usr/lib/ganesha CACHE PATH "Directory of libganesha_nfsd.so.<version>")

include("${CMAKE_CURRENT_LIST_DIR}/Installed.cmake")
installed_version(nfs-ganesha _package GANESHA_VERSION)
if(NOT GANESHA_VERSION)
  file(GLOB _libraries "${GANESHA_LIBRARY_DIR}/libganesha_nfsd.so.*")
  list(LENGTH _libraries _count)
  if(_count EQUAL 1 AND _libraries MATCHES "libganesha_nfsd\\.so\\.(.+)$")
    set(GANESHA_VERSION "${CMAKE_MATCH_1}")
    set(_package "${GANESHA_VERSION}")
  else()
    message(FATAL_ERROR "NFS-Ganesha is not installed: apt-get install nfs-ganesha "
            "nfs-ganesha-vfs libntirpc-dev liburcu-dev, or configure with -DWITH_GANESHA=OFF")
  endif()
endif()

set(_library "${GANESHA_LIBRARY_DIR}/libganesha_nfsd.so.${GANESHA_VERSION}")
if(NOT EXISTS "${_library}")
  message(FATAL_ERROR "${_library} is missing: reinstall nfs-ganesha, or name its directory with "
          "-DGANESHA_LIBRARY_DIR=")
endif()

find_path(NTIRPC_INCLUDE_DIR rpc/svc.h PATH_SUFFIXES ntirpc NO_CACHE)
if(NOT NTIRPC_INCLUDE_DIR MATCHES "ntirpc")
  find_path(NTIRPC_INCLUDE_DIR_ONLY ntirpc/rpc/svc.h NO_CACHE)
  set(NTIRPC_INCLUDE_DIR "${NTIRPC_INCLUDE_DIR_ONLY}/ntirpc")
endif()
find_path(URCU_INCLUDE_DIR urcu-bp.h NO_CACHE)
if(NOT EXISTS "${NTIRPC_INCLUDE_DIR}/rpc/svc.h" OR NOT URCU_INCLUDE_DIR)
  message(FATAL_ERROR "Headers that Ganesha's own need are missing: "
          "apt-get install libntirpc-dev liburcu-dev")
endif()

find_library(NTIRPC_LIBRARY ntirpc NO_CACHE)
if(NOT NTIRPC_LIBRARY)
  message(FATAL_ERROR "libntirpc.so is missing: apt-get install libntirpc-dev")
endif()

if(GANESHA_SOURCE_DIR)
  set(_tree "${GANESHA_SOURCE_DIR}")
  if(EXISTS "${_tree}/include/fsal_api.h")
    get_filename_component(_tree "${_tree}" DIRECTORY)
  endif()
  if(NOT EXISTS "${_tree}/src/include/fsal_api.h")
    message(FATAL_ERROR "GANESHA_SOURCE_DIR=${GANESHA_SOURCE_DIR} has no src/include/fsal_api.h: "
            "name the unpacked source of Ganesha ${GANESHA_VERSION}")
  endif()
else()
  cached_headers(ganesha ${GANESHA_VERSION} ${GANESHA_VERSION} ${_package} src/include/fsal_api.h
                 _tree)
endif()

set(_include "${_tree}/src/include")
file(STRINGS "${_include}/fsal_api.h" _line REGEX "^#define FSAL_MAJOR_VERSION [0-9]+")
if(NOT _line MATCHES "([0-9]+)$")
  message(FATAL_ERROR "${_include}/fsal_api.h does not define FSAL_MAJOR_VERSION")
endif()
set(GANESHA_FSAL_MAJOR "${CMAKE_MATCH_1}")

# It has another name in later releases.
file(STRINGS "${_include}/fsal_api.h" _lock REGEX "pthread_rwlock_t fsm_lock;")
if(_lock)
  set(_lock fsm_lock)
else()
  set(_lock lock)
endif()

# The few settings that shape the declarations a module uses.
set(_config "${CMAKE_BINARY_DIR}/ganesha-config")
set(_endian "")
if(CMAKE_C_BYTE_ORDER STREQUAL "LITTLE_ENDIAN")
  set(_endian "#define LITTLEEND 1\n")
endif()
file(CONFIGURE OUTPUT "${_config}/config.h" CONTENT
"#define LINUX 1
#define HAVE_STRING_H 1
#define HAVE_STRNLEN 1
#define _LGPL_SOURCE 1
#define GSH_CAN_HOST_LOCAL_FS 1
${_endian}")

add_library(Ganesha::nfsd SHARED IMPORTED)
set_target_properties(Ganesha::nfsd PROPERTIES
  IMPORTED_LOCATION "${_library}"
  INTERFACE_INCLUDE_DIRECTORIES
    "${_config};${_include};${_include}/os/linux;${NTIRPC_INCLUDE_DIR}"
  INTERFACE_COMPILE_DEFINITIONS "_LARGEFILE64_SOURCE;GANESHA_MODULE_LOCK=${_lock}"
  INTERFACE_COMPILE_OPTIONS "-fno-strict-aliasing"
  INTERFACE_LINK_LIBRARIES "${NTIRPC_LIBRARY}")
message(STATUS "Ganesha ${GANESHA_VERSION}, FSAL interface ${GANESHA_FSAL_MAJOR}: ${_library}")
