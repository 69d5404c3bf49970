/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/config/nfs_url.h"

#include <errno.h>

#include "lib/base/error.h"
#include "lib/config/url.h"

#define URL_FORM                                                                                   \
	"nfs://host[:port]/path[?mountport=N&nfsport=N&aclport=N&version=V&sec=S&xprtsec=X&uid=N&" \
	"gid=N]"

static gboolean parse_argument_number(const struct nfs_url *url, const char *name, const char *text,
				      guint64 min, guint64 max, guint64 *value, GError **error)
{
	if (g_ascii_string_to_unsigned(text, 10, min, max, value, NULL))
		return TRUE;
	return error_set(error, EINVAL,
			 "%s: %s \"%s\" is not a number from %" G_GUINT64_FORMAT
			 " to %" G_GUINT64_FORMAT,
			 url->text, name, text, min, max);
}

static gboolean set_version(struct nfs_url *url, const char *value, GError **error)
{
	static const struct {
		const char *value;
		unsigned minors;
	} versions[] = {
		{"3", 0}, {"4", NFS4_MINORS}, {"4.0", 1 << 0}, {"4.1", 1 << 1}, {"4.2", 1 << 2}};

	for (size_t i = 0; i < G_N_ELEMENTS(versions); i++) {
		if (strcmp(value, versions[i].value) != 0)
			continue;
		url->minors = versions[i].minors;
		url->only_v3 = !url->minors;
		return TRUE;
	}
	return error_set(error, EINVAL,
			 "%s: NFS version \"%s\" is not spoken to an old server; write "
			 "version=3, 4, 4.0, 4.1 or 4.2, or leave it out",
			 url->text, value);
}

/* The number of the word in the list, which ends with NULL. */
static gboolean set_word(const struct nfs_url *url, const char *name, const char *value,
			 const char *const *words, unsigned *number, GError **error)
{
	g_autofree char *list = NULL;

	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		*number = i;
		return TRUE;
	}
	list = g_strjoinv(", ", (char **)words);
	return error_set(error, EINVAL,
			 "%s: %s \"%s\" is not known; write one of %s, or leave it out "
			 "for %s",
			 url->text, name, value, list, words[0]);
}

static gboolean set_security(struct nfs_url *url, const char *name, const char *value,
			     GError **error)
{
	static const char *const flavours[] = {[NFS_SEC_SYS] = "sys",
					       [NFS_SEC_KRB5] = "krb5",
					       [NFS_SEC_KRB5I] = "krb5i",
					       [NFS_SEC_KRB5P] = "krb5p",
					       NULL};
	static const char *const transports[] = {[NFS_XPRTSEC_NONE] = "none",
						 [NFS_XPRTSEC_TLS] = "tls",
						 [NFS_XPRTSEC_MTLS] = "mtls",
						 NULL};
	const bool transport = *name == 'x';
	unsigned number = 0;

	if (!set_word(url, name, value, transport ? transports : flavours, &number, error))
		return FALSE;
	if (transport)
		url->xprtsec = (enum nfs_xprtsec)number;
	else
		url->sec = (enum nfs_sec)number;
	return TRUE;
}

static gboolean set_argument(struct nfs_url *url, const char *name, const char *value,
			     GError **error)
{
	guint64 number;

	if (strcmp(name, "aclport") == 0) {
		if (!parse_argument_number(url, name, value, 0, 65535, &number, error))
			return FALSE;
		url->acl_port = (uint16_t)number;
		url->no_acl = number == 0;
	} else if (strcmp(name, "nfsport") == 0 || strcmp(name, "mountport") == 0) {
		if (!parse_argument_number(url, name, value, 1, 65535, &number, error))
			return FALSE;
		*(name[0] == 'n' ? &url->nfs_port : &url->mount_port) = (uint16_t)number;
	} else if (strcmp(name, "uid") == 0 || strcmp(name, "gid") == 0) {
		if (!parse_argument_number(url, name, value, 0, UINT32_MAX, &number, error))
			return FALSE;
		*(name[0] == 'u' ? &url->uid : &url->gid) = (uint32_t)number;
	} else if (strcmp(name, "version") == 0) {
		return set_version(url, value, error);
	} else if (strcmp(name, "sec") == 0 || strcmp(name, "xprtsec") == 0) {
		return set_security(url, name, value, error);
	} else {
		return error_set(error, EINVAL,
				 "%s: unknown argument \"%s\"; there are mountport, nfsport, "
				 "aclport, version, sec, xprtsec, uid, gid",
				 url->text, name);
	}
	return TRUE;
}

static gboolean parse_arguments(struct nfs_url *url, const char *text, GError **error)
{
	g_auto(GStrv) args = g_strsplit(text, "&", -1);

	for (char **arg = args; *arg; arg++) {
		char *value = strchr(*arg, '=');

		if (!**arg)
			continue;
		if (!value)
			value = *arg + strlen(*arg);
		else
			*value++ = '\0';
		if (!set_argument(url, *arg, value, error))
			return FALSE;
	}
	return TRUE;
}

static gboolean check_kerberos(const struct nfs_url *url, GError **error)
{
	if (url->sec == NFS_SEC_SYS)
		return TRUE;
	if (g_hostname_is_ip_address(url->host) || !g_ascii_strcasecmp(url->host, "localhost"))
		return error_set(error, EINVAL,
				 "%s: Kerberos knows servers by their names: write the one "
				 "that its key nfs/NAME has instead of %s",
				 url->text, url->host);
	if (url->uid || url->gid)
		return error_set(error, EINVAL,
				 "%s: uid and gid go with sec=sys; by Kerberos the "
				 "principal says who asks (nfs-principal)",
				 url->text);
	return TRUE;
}

gboolean nfs_url_parse(const char *text, struct nfs_url *url, GError **error)
{
	const char *host = text + strlen("nfs://"), *path, *args, *mistake;
	g_autofree char *shown = NULL;

	*url = (struct nfs_url){.text = g_strdup(text)};
	shown = url_shown(text);
	path = host + strcspn(host, "/?");
	args = path + strcspn(path, "?");
	mistake = url_host(host, (gsize)(path - host), &url->host, &url->nfs_port);
	if (!mistake && *path != '/')
		mistake = "no path there";
	if (mistake)
		return error_set(error, EINVAL, "%s: %s; write " URL_FORM, shown, mistake);
	url->path = url_path(shown, path, (gsize)(args - path), error);
	if (!url->path)
		return FALSE;
	return (!*args || parse_arguments(url, args + 1, error)) && check_kerberos(url, error);
}

void nfs_url_clear(struct nfs_url *url)
{
	g_clear_pointer(&url->text, g_free);
	g_clear_pointer(&url->host, g_free);
	g_clear_pointer(&url->path, g_free);
}
