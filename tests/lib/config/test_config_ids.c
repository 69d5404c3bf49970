/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <string.h>

#include "lib/config/config_ids.h"
#include "lib/config/sids.h"
#include "tests/suite.h"

static struct volume_config config;

typedef gboolean (*parser)(void *field, const struct config_place *at, GError **error);

static void taken(parser parse, void *field, const char *key, const char *value)
{
	const struct config_place at = {"file", "volume v", key, value};
	g_autoptr(GError) error = NULL;

	ck_assert_msg(parse(field, &at, &error), "%s", error ? error->message : "");
}

static void refused(parser parse, void *field, const char *key, const char *value,
		    const char *remedy)
{
	const struct config_place at = {"file", "volume v", key, value};
	g_autofree char *place = g_strdup_printf("file: [volume v] %s = %s: ", key, value);
	g_autoptr(GError) error = NULL;

	ck_assert(!parse(field, &at, &error));
	ck_assert_msg(g_str_has_prefix(error->message, place), "%s", error->message);
	ck_assert_msg(strstr(error->message, remedy) != NULL, "%s", error->message);
}

START_TEST(maps)
{
	taken(config_parse_sids, &config.map_sids, "map-sids", "S-1-5-21-1-*:S-1-5-21-2-*");
	taken(config_parse_sid_ids, &config.sid_users, "sid-users", "S-1-5-21-2-*:1000");
	taken(config_parse_sid_ids, &config.sid_groups, "sid-groups", "S-1-5-21-2-7:1000");
	ck_assert(config.map_sids && config.sid_users && config.sid_groups);
	sid_map_free(config.map_sids);
	sid_map_free(config.sid_users);
	sid_map_free(config.sid_groups);
	refused(config_parse_sids, &config.map_sids, "map-sids", "S-1-5-21-1-*:7", "7: not a SID");
	refused(config_parse_sid_ids, &config.sid_users, "sid-users", "S-1-5-21-2-*:S-1-1-0",
		"an id is a number");
	refused(config_parse_sid_ids, &config.sid_groups, "sid-groups", "x", "SID:ID");
}
END_TEST

START_TEST(owner)
{
	taken(config_parse_default_owner, &config.default_uid, "default-owner", "1000:4294967294");
	ck_assert_uint_eq(config.default_uid, 1000);
	ck_assert_uint_eq(config_owner(&config, false, OWNER_NONE), 1000);
	ck_assert_uint_eq(config_owner(&config, true, OWNER_NONE), UINT32_MAX - 1);
	ck_assert_uint_eq(config_owner(&config, true, 5), 5);
	config.default_given = 0;
	ck_assert_uint_eq(config_owner(&config, false, OWNER_NONE), OWNER_NOBODY);
	ck_assert_uint_eq(config.default_gid, UINT32_MAX - 1);
	refused(config_parse_default_owner, &config.default_uid, "default-owner", "1000",
		"UID:GID");
	refused(config_parse_default_owner, &config.default_uid, "default-owner",
		"1000:", "UID:GID");
	refused(config_parse_default_owner, &config.default_uid, "default-owner", "1:4294967295",
		"UID:GID");
	refused(config_parse_default_owner, &config.default_uid, "default-owner", "1:2:3",
		"UID:GID");
}
END_TEST

static void expect_check(const char *source, const char *acl_source, enum smb_modes how,
			 const char *wrong)
{
	struct volume_config c = {
		.source = (char *)source, .acl_source = (char *)acl_source, .smb_modes = how};
	g_autoptr(GError) error = NULL;

	ck_assert_int_eq(config_check_smb(&c, "file", "volume v", &error), !wrong);
	if (wrong)
		ck_assert_msg(strstr(error->message, wrong) != NULL, "%s", error->message);
}

START_TEST(together)
{
	expect_check("nfs://old/x", NULL, SMB_MODES_UNSET, NULL);
	expect_check("nfs://old/x", "smb://user@old/x", SMB_MODES_UNSET, NULL);
	expect_check("smb://user@old/x", NULL, SMB_MODES_OPEN, NULL);
	expect_check("smb://user@old/x", NULL, SMB_MODES_DESCRIPTOR, NULL);
	expect_check("smb://user@old/x", NULL, SMB_MODES_UNSET, "[volume v] smb-modes: missing");
	expect_check("smb://user@old/x", "smb://old/x", SMB_MODES_OPEN, "source = nfs:// only");
	expect_check("file:///x", "smb://user@old/x", SMB_MODES_OPEN, "source = nfs:// only");
}
END_TEST

static void expect_maps(struct volume_config c, const char *wrong)
{
	g_autoptr(GError) error = NULL;

	c.smb_modes = SMB_MODES_OPEN;
	ck_assert_int_eq(config_check_smb(&c, "file", "volume v", &error), !wrong);
	if (wrong)
		ck_assert_msg(strstr(error->message, wrong) != NULL, "%s", error->message);
}

START_TEST(maps_of_the_other_kind)
{
	char *smb = (char *)"smb://u@old/x", *nfs = (char *)"nfs://old/x";
	struct owners *owners = (struct owners *)"";
	struct sid_map *sids = (struct sid_map *)"";

	expect_maps((struct volume_config){.source = smb, .map_users = owners},
		    "[volume v] map-users: an SMB server has no numbers");
	expect_maps((struct volume_config){.source = smb, .map_groups = owners}, "map-groups: an");
	expect_maps((struct volume_config){.source = nfs, .map_sids = sids}, "map-sids: goes with");
	expect_maps((struct volume_config){.source = nfs, .sid_users = sids}, "sid-users: goes");
	expect_maps((struct volume_config){.source = nfs, .sid_groups = sids}, "sid-groups: goes");
	expect_maps((struct volume_config){.source = nfs, .map_users = owners}, NULL);
	expect_maps((struct volume_config){.source = smb, .map_sids = sids}, NULL);
	expect_maps((struct volume_config){.source = nfs, .acl_source = smb, .map_sids = sids},
		    NULL);
}
END_TEST

static void expect_rollback(const char *source, const char *to, const char *wrong)
{
	struct volume_config c = {.source = (char *)source,
				  .rollback_source = (char *)to,
				  .rollback_password_file = (char *)"/password"};

	expect_maps(c, wrong);
}

START_TEST(way_back)
{
	expect_rollback("smb://reader@old/x", "smb://writer@old/x", NULL);
	expect_rollback("smb://reader@old/x", "smb://D;Reader@old.net/x/y", "no write rights");
	expect_rollback("nfs://old/x", "/mnt/old", NULL);
	expect_maps((struct volume_config){.source = (char *)"smb://reader@old/x",
					   .rollback_password_file = (char *)"/a",
					   .rollback_ccache = (char *)"/b"},
		    "rollback-ccache = /b: rollback-password-file is set too");
	ck_assert(!config_same_user("/x", "smb://u@h/s"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("config_ids");

	tcase_add_test(tcase, maps);
	tcase_add_test(tcase, owner);
	tcase_add_test(tcase, together);
	tcase_add_test(tcase, maps_of_the_other_kind);
	tcase_add_test(tcase, way_back);
	return run_tcase(tcase);
}
