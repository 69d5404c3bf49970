/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "source/smb/smb_url.h"
#include "source/smb/wire.h"
#include "config_private.h"
#include "source/source.h"

gboolean config_parse_smb_url(char **text, const struct config_place *at, GError **error)
{
	g_autoptr(GError) mistake = NULL;
	struct smb_url url;

	smb_url_parse(at->value, &url, &mistake);
	smb_url_clear(&url);
	return config_take_url(text, at, mistake, error);
}

static gboolean parse_secret(char **path, const struct config_place *at, GError **error)
{
	if (at->value[0] != '/')
		return config_wrong(error, at, "not an absolute path; name the file from / on");
	*path = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_password_file(struct volume_config *config, const struct config_place *at,
				    GError **error)
{
	return parse_secret(&config->smb->password_file, at, error);
}

gboolean config_parse_ccache(struct volume_config *config, const struct config_place *at,
			     GError **error)
{
	if (!config->smb->password_file)
		return parse_secret(&config->smb->ccache, at, error);
	return config_wrong(error, at, "smb-password-file is set too; remove one of them");
}

gboolean config_parse_domain(struct volume_config *config, const struct config_place *at,
			     GError **error)
{
	config->smb->domain = g_strdup(at->value);
	return TRUE;
}

gboolean config_parse_encryption(struct volume_config *config, const struct config_place *at,
				 GError **error)
{
	static const char *const words[] = {
		[WIRE_OFF] = "off", [WIRE_DESIRED] = "desired", [WIRE_REQUIRED] = "required"};

	return config_take_word(&config->smb->encryption, words, G_N_ELEMENTS(words), at, error);
}

gboolean config_parse_signing(struct volume_config *config, const struct config_place *at,
			      GError **error)
{
	static const char *const words[] = {
		[WIRE_OFF] = "if-required", [WIRE_REQUIRED] = "required"};

	return config_take_word(&config->smb->signing, words, G_N_ELEMENTS(words), at, error);
}

void config_free_smb(struct smb_config *smb)
{
	if (!smb)
		return;
	g_free(smb->password_file);
	g_free(smb->ccache);
	g_free(smb->domain);
	g_free(smb);
}
