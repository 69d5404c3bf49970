# SPDX-License-Identifier: GPL-3.0-or-later
# The installed Samba and the headers of exactly that release, which no package ships.
#
# Input:   SAMBA_SOURCE_DIR  a source tree of the installed release with its generated headers (no
#                            download)
#          SAMBA_CACHE       where headers are kept (also from the environment); default
#                            /var/cache/quickmigrate/samba-<version>
# Output:  Samba::headers    imported target: all of Samba's headers, public and private
#          Samba::vfs        imported target: what modules of smbd are linked with
#          SAMBA_VERSION     4.17.12
#          SAMBA_VFS_INTERFACE  47: the version of the interface for modules
#          SAMBA_VFS_DIR     where smbd looks for modules
#          SAMBA_PRIVATE_LIBRARY_DIR  Samba's own libraries, for the RPATH of what links with them
set(SAMBA_SOURCE_DIR "" CACHE PATH "Configured source of the installed Samba")
set(SAMBA_CACHE "$ENV{SAMBA_CACHE}" CACHE PATH "Where Samba's headers are kept")

include("${CMAKE_CURRENT_LIST_DIR}/Installed.cmake")
installed_version(samba _package _upstream)
set(SAMBA_PRIVATE_LIBRARY_DIR "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/samba")
set(SAMBA_VFS_DIR "${SAMBA_PRIVATE_LIBRARY_DIR}/vfs")
if(NOT _upstream MATCHES "^[0-9.]+" OR NOT EXISTS "${SAMBA_VFS_DIR}")
  message(FATAL_ERROR "Samba is not installed: apt-get install samba samba-vfs-modules, and what "
          "tests/support/install-packages build installs, or configure with -DWITH_SAMBA=OFF")
endif()
set(SAMBA_VERSION "${CMAKE_MATCH_0}")

if(SAMBA_SOURCE_DIR)
  set(_tree "${SAMBA_SOURCE_DIR}")
  if(NOT EXISTS "${_tree}/bin/default/source3/param/param_proto.h")
    message(FATAL_ERROR "SAMBA_SOURCE_DIR=${_tree} has no bin/default/source3/param/param_proto.h: "
            "name the source of Samba ${SAMBA_VERSION} with its generated headers (how: "
            "${CMAKE_CURRENT_LIST_DIR}/samba-headers.sh)")
  endif()
else()
  cached_headers(samba ${SAMBA_VERSION} ${_upstream} ${_package} source3/include/vfs.h _tree)
endif()

file(STRINGS "${_tree}/source3/include/vfs.h" _line
     REGEX "^#define SMB_VFS_INTERFACE_VERSION [0-9]+")
if(NOT _line MATCHES "([0-9]+)$")
  message(FATAL_ERROR "${_tree}/source3/include/vfs.h does not define SMB_VFS_INTERFACE_VERSION")
endif()
set(SAMBA_VFS_INTERFACE "${CMAKE_MATCH_1}")

set(_include "")
foreach(_dir source3 source3/include source3/lib include/public source4 lib source4/lib
             source4/include include lib/replace . librpc)
  foreach(_top bin/default .)
    if(IS_DIRECTORY "${_tree}/${_top}/${_dir}")
      list(APPEND _include "${_tree}/${_top}/${_dir}")
    endif()
  endforeach()
endforeach()
add_library(Samba::headers INTERFACE IMPORTED)
set_target_properties(Samba::headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${_include}"
  INTERFACE_COMPILE_DEFINITIONS "_SAMBA_BUILD_=4;HAVE_CONFIG_H=1;_REENTRANT;_XOPEN_SOURCE_EXTENDED=1;__STDC_WANT_LIB_EXT1__=1"
  INTERFACE_COMPILE_OPTIONS "-fno-strict-aliasing")

# With the libraries at hand, references carry the version of the release: a module does not load
# into another one.  The names differ between releases in what follows the first word.
set(_libraries "")
foreach(_name smbd-base smbd-shim samba-debug replace samba3-util samba-security time-basic
              util-setid sys-rw dbwrap)
  file(GLOB _found "${SAMBA_PRIVATE_LIBRARY_DIR}/lib${_name}-*samba*.so.0")
  list(APPEND _libraries ${_found})
endforeach()
foreach(_name samba-util samba-errors smbconf talloc tevent tevent-util)
  file(GLOB _found "/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lib${_name}.so.[0-9]")
  list(APPEND _libraries ${_found})
endforeach()
add_library(Samba::vfs INTERFACE IMPORTED)
set_target_properties(Samba::vfs PROPERTIES
  INTERFACE_LINK_LIBRARIES "Samba::headers;${_libraries}"
  INTERFACE_LINK_OPTIONS "LINKER:-rpath-link,${SAMBA_PRIVATE_LIBRARY_DIR}")
message(STATUS "Samba ${SAMBA_VERSION}, VFS interface ${SAMBA_VFS_INTERFACE}: ${SAMBA_VFS_DIR}")
