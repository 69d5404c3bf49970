/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* CRC-32C (Castagnoli; RFC 3720 appendix B.4 has its test vectors). */
#ifndef COMMON_CRC32C_H
#define COMMON_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t migrate_crc32c(const void *data, size_t len);

#endif
