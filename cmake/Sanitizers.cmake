# SPDX-License-Identifier: GPL-3.0-or-later
# -DSANITIZE=address (with undefined), thread, or empty.
set(SANITIZE "" CACHE STRING "address | thread | empty")
if(SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT SANITIZE STREQUAL "")
  message(FATAL_ERROR "SANITIZE=${SANITIZE}: use address, thread or nothing")
endif()
