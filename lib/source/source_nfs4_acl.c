/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/source_nfs4_acl.h"

struct letter {
	uint32_t bit;
	char letter;
};

/* nfs4_acl(5) */
static const struct letter flag_letters[] = {
	{ACE4_FILE_INHERIT, 'f'},
	{ACE4_DIRECTORY_INHERIT, 'd'},
	{ACE4_NO_PROPAGATE, 'n'},
	{ACE4_INHERIT_ONLY, 'i'},
	{0x10, 'S'},
	{0x20, 'F'},
	{ACE4_IDENTIFIER_GROUP, 'g'},
};
static const struct letter mask_letters[] = {
	{ACE4_READ_DATA, 'r'},	       {ACE4_WRITE_DATA, 'w'},	     {ACE4_APPEND_DATA, 'a'},
	{ACE4_EXECUTE, 'x'},	       {ACE4_DELETE, 'd'},	     {ACE4_DELETE_CHILD, 'D'},
	{ACE4_READ_ATTRIBUTES, 't'},   {ACE4_WRITE_ATTRIBUTES, 'T'}, {ACE4_READ_NAMED_ATTRS, 'n'},
	{ACE4_WRITE_NAMED_ATTRS, 'N'}, {ACE4_READ_ACL, 'c'},	     {ACE4_WRITE_ACL, 'C'},
	{ACE4_WRITE_OWNER, 'o'},       {ACE4_SYNCHRONIZE, 'y'},
};

struct source_nfs4_acl *source_nfs4_acl_new(void)
{
	struct source_nfs4_acl *acl = g_new(struct source_nfs4_acl, 1);

	acl->aces = g_array_new(FALSE, FALSE, sizeof(struct source_ace4));
	acl->text = g_string_new(NULL);
	return acl;
}

void source_nfs4_acl_free(struct source_nfs4_acl *acl)
{
	if (!acl)
		return;
	g_array_unref(acl->aces);
	g_string_free(acl->text, TRUE);
	g_free(acl);
}

static void add_letters(GString *text, const struct letter *letters, size_t n, uint32_t bits)
{
	for (size_t i = 0; i < n; i++)
		if (bits & letters[i].bit)
			g_string_append_c(text, letters[i].letter);
}

void source_nfs4_acl_add(struct source_nfs4_acl *acl, const struct source_ace4 *ace,
			 const char *who)
{
	GString *text = acl->text;

	g_array_append_vals(acl->aces, ace, 1);
	if (text->len)
		g_string_append_c(text, ',');
	g_string_append_c(text, ace->type <= ACE4_ALARM ? "ADUL"[ace->type] : '?');
	g_string_append_c(text, ':');
	add_letters(text, flag_letters, G_N_ELEMENTS(flag_letters), ace->flags);
	g_string_append_printf(text, ":%s:", who);
	add_letters(text, mask_letters, G_N_ELEMENTS(mask_letters), ace->mask);
}
