/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/smb/smb_secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/error.h"
#include "lib/base/private_file.h"
#include "lib/source/smb/smb_ccache.h"

/* With this command no shell history gets the password, and nobody else can read the file at any
 * time. */
#define MAKE_FILE    "install -m 600 /dev/stdin %s, then the password, Enter and Ctrl-D"
#define PASSWORD_MAX 1024
#define CCACHE_MAX   (512u * 1024)

/* Reads a file of at most max bytes; a NUL follows its *len bytes.  make: what to do if there is no
 * file. */
static uint8_t *get_file(const char *url, const char *key, const char *path, const char *make,
			 size_t max, size_t *len, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint8_t *data = NULL;
	struct stat st;
	const char *why = NULL;
	ssize_t n = -1;

	if (fd < 0 && errno == ENOENT)
		why = make;
	else if (fd < 0 || fstat(fd, &st) < 0)
		why = g_strerror(errno);
	else
		why = private_file_objection(&st);
	if (!why) {
		data = g_malloc0(max + 2);
		n = read(fd, data, max + 1);
		why = n < 0 ? g_strerror(errno) : n > (ssize_t)max ? "is too long" : NULL;
	}
	if (fd >= 0)
		close(fd);
	if (!why) {
		*len = (size_t)n;
		return data;
	}
	if (data)
		explicit_bzero(data, max + 2);
	g_free(data);
	error_set(error, EACCES, "%s: %s = %s: %s", url, key, path, why);
	return NULL;
}

static gboolean get_ccache(const struct smb_config *config, const struct smb_url *url,
			   struct smb_secret *secret, GError **error)
{
	g_autofree char *why = NULL;

	if (g_hostname_is_ip_address(url->host) || !g_ascii_strcasecmp(url->host, "localhost"))
		return error_set(error, EINVAL,
				 "%s: Kerberos knows servers by their names: write the one that "
				 "its tickets have instead of %s, or set smb-password-file "
				 "instead of smb-ccache",
				 url->text, url->host);
	secret->ccache = get_file(url->text, "smb-ccache", config->ccache,
				  "is not there: get a ticket (kinit -c FILE)", CCACHE_MAX,
				  &secret->ccache_len, error);
	if (!secret->ccache)
		return FALSE;
	secret->password = g_strdup("");
	why = smb_ccache_objection(secret->ccache, secret->ccache_len, url->user,
				   g_get_real_time() / G_USEC_PER_SEC);
	if (!why)
		return TRUE;
	error_set(error, EACCES, "%s: smb-ccache = %s: %s", url->text, config->ccache, why);
	smb_secret_clear(secret);
	return FALSE;
}

gboolean smb_secret_get(const struct smb_config *config, const struct smb_url *url,
			struct smb_secret *secret, GError **error)
{
	g_autofree char *make = NULL;
	size_t len;

	*secret = (struct smb_secret){.password = NULL};
	if (config->ccache)
		return get_ccache(config, url, secret, error);
	if (!config->password_file)
		return error_set(error, EINVAL,
				 "%s: no password: write it into a file (" MAKE_FILE
				 ") and set smb-password-file to its path, or smb-ccache to a "
				 "Kerberos ticket cache",
				 url->text, "FILE");
	make = g_strdup_printf("is not there: write it with: " MAKE_FILE, config->password_file);
	secret->password = (char *)get_file(url->text, "smb-password-file", config->password_file,
					    make, PASSWORD_MAX, &len, error);
	if (!secret->password)
		return FALSE;
	/* one line */
	secret->password[strcspn(secret->password, "\r\n")] = '\0';
	if (*secret->password)
		return TRUE;
	error_set(error, EINVAL,
		  "%s: smb-password-file = %s: its first line is empty: write it with: " MAKE_FILE,
		  url->text, config->password_file, config->password_file);
	smb_secret_clear(secret);
	return FALSE;
}

void smb_secret_clear(struct smb_secret *secret)
{
	if (secret->password)
		explicit_bzero(secret->password, strlen(secret->password));
	if (secret->ccache)
		explicit_bzero(secret->ccache, secret->ccache_len);
	g_clear_pointer(&secret->password, g_free);
	g_clear_pointer(&secret->ccache, g_free);
}

const char *smb_domain(const struct smb_config *config, const struct smb_url *url)
{
	if (*url->domain)
		return url->domain;
	return config->domain ? config->domain : "";
}
