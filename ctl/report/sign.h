/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures, by ssh-keygen -Y (SSHSIG, PROTOCOL.sshsig of OpenSSH): administrators have such keys,
 * on disk, in an agent or on a token, and OpenSSH checks them anywhere.  The namespace keeps a
 * signature from being taken for one of something else.
 */
#ifndef CTL_REPORT_SIGN_H
#define CTL_REPORT_SIGN_H

#include <glib.h>
#include <stdbool.h>

#define SIGN_NAMESPACE "quickmigrate"
#define SIGN_SUFFIX    ".sig"

/*
 * The signature of the file fd by key: a private key's file, or that of a public key whose private
 * one an agent has.  May ask for a passphrase on the terminal.  g_free.  NULL with error set.
 */
char *sign_make(int fd, const char *key, GError **error);

/*
 * Whether signature (a file's name) is one of the file fd.  signers: a file of allowed signers
 * (ssh- keygen(1)); *who is the name that the key has there.  NULL: any key will do, and *who is
 * its fingerprint.  g_free.  FALSE with error set.
 */
gboolean sign_check(int fd, const char *signature, const char *signers, char **who, GError **error);

#endif
