# SPDX-License-Identifier: GPL-3.0-or-later
# add_folder(LINK...): the C files of the current folder, but for main.c, are a static library that is called
# as the folder's path, with '_' for '/'.  LINK: what it uses, a folder's path or an imported target;
# tests/tools/test_layers.py compares that with what the files include.
function(add_folder)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB sources CONFIGURE_DEPENDS *.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  list(REMOVE_ITEM sources ${FOLDER_LEAVES_OUT})
  add_library(${name} STATIC ${sources})
  foreach(link ${ARGN})
    string(REPLACE "/" "_" link ${link})
    target_link_libraries(${name} PUBLIC ${link})
  endforeach()
endfunction()
