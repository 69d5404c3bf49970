/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signs and checks files by ssh-keygen -Y (SSHSIG, PROTOCOL.sshsig of OpenSSH): administrators have
 * such keys, on disk, in an agent or on a token, and OpenSSH checks their signatures anywhere.  The
 * namespace keeps a signature from being taken for one of something else.
 */
#ifndef CTL_REPORT_SIGN_H
#define CTL_REPORT_SIGN_H

#include <glib.h>
#include <stdbool.h>

#define SIGN_NAMESPACE "quickmigrate"
#define SIGN_SUFFIX    ".sig"

/*
 * Signs the file fd by key: the file of a private key, or of a public key whose private key an
 * agent has.  May ask for a passphrase on the terminal.  The signature; g_free.  NULL with error
 * set.
 */
char *sign_make(int fd, const char *key, GError **error);

/*
 * Whether signature (a file's name) is a signature of the file fd.  signers: a file of allowed
 * signers (ssh-keygen(1)); *who becomes the name that the key has in it.  signers NULL: any key
 * will do, and *who is its fingerprint.  g_free.  FALSE with error set.
 */
gboolean sign_check(int fd, const char *signature, const char *signers, char **who, GError **error);

#endif
