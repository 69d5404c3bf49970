/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Translates names between SMB's form (UTF-16, little endian, backslashes; MS-FSCC 2.1.5) and this
 * system's (UTF-8, slashes).  Nothing is replaced: a name that has no exact counterpart is refused.
 */
#ifndef LIB_SOURCE_SMB_SMB_TEXT_H
#define LIB_SOURCE_SMB_SMB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of bytes of UTF-8 put into `to` (room for 3 * len / 2), or -1: an odd length, or half
 * a surrogate pair. */
long smb_text_from_utf16(const uint8_t *from, size_t len, char *to);
/* The number of bytes of UTF-16 put into `to` (room for 2 * len), or -1: not UTF-8. */
long smb_text_to_utf16(const char *from, size_t len, uint8_t *to);

/* A name that an SMB server can be asked for by path, and that can be here: 1..255 bytes, not "."
 * or "..", without '/', '\\', ':', NUL, and the characters that are patterns there. */
bool smb_name_ok(const char *name, size_t len);
/* Whether a path has only such names, below the share's root, which is "".  On an SMB server "a:b"
 * would be a stream of another object, and "a\\b" two names. */
bool smb_path_ok(const char *path);

#endif
