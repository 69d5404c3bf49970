/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SHA-256 (FIPS 180-4) of files, for the manifest, by libgcrypt.
 *
 * Other people have to trust a manifest, years later, and to check it with sha256sum or mtree: so
 * the hash is cryptographic, and every system has a tool for it.  Processors have instructions for
 * it (SHA-NI, ARMv8), and libgcrypt uses them: it costs about what copying the bytes does.
 * Comparing itself needs no hash, because the bytes of both sides are read at one place.
 */
#ifndef LIB_REPORT_MANIFEST_HASH_H
#define LIB_REPORT_MANIFEST_HASH_H

#include <glib.h>
#include <stddef.h>

#define PROOF_HASH_HEX 64

struct proof_hash;

/* Any thread; one hash is used by one thread at a time.  Aborts when the library cannot be had. */
struct proof_hash *proof_hash_new(void);
void proof_hash_add(struct proof_hash *hash, const void *bytes, size_t len);
/* The hash of all that was added, as lower-case hexadecimal; afterwards the hash is empty again. */
void proof_hash_take(struct proof_hash *hash, char hex[PROOF_HASH_HEX + 1]);
void proof_hash_free(struct proof_hash *hash);

#endif
