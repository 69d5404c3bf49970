/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "ctl/discover/describe.h"
#include "tests/suite.h"

static struct inventory found;

static void fill(void)
{
	const struct inventory_service services[] = {{100005, 1, 635, true},
						     {100003, 3, 2049, true},
						     {100005, 3, 635, false},
						     {7, 1, 1, true}};

	inventory_init(&found);
	g_array_append_vals(found.services, services, G_N_ELEMENTS(services));
	g_ptr_array_add(found.nfs, g_strdup("3"));
	g_ptr_array_add(found.nfs, g_strdup("4.1"));
	struct inventory_export *export = inventory_export(&found, "/vol\n/a");
	export->has_space = true;
	export->space = (struct inventory_space){
		.bytes = 2u << 20, .available = 1u << 20, .files = 100, .free_files = 30};
	export->sec = g_strdup("sys");
	inventory_rule(export, "10.0.0.0/8")->access = RULE_RO;
	struct inventory_rule *rule = inventory_rule(export, "@\x1bnet");
	rule->access = RULE_RW;
	rule->squash = SQUASH_NONE;
	rule->anon_uid = 12;
	inventory_export(&found, "/vol/b")->refused = g_strdup("MNT3ERR_ACCES");
	struct inventory_share *share = inventory_share(&found, "pro\njects");
	share->comment = (g_free(share->comment), g_strdup("what we do"));
	share->path = g_strdup("/vol/a");
	g_ptr_array_add(share->settings, g_strdup("read only = yes"));
	inventory_note(&found, "that");
}

START_TEST(text)
{
	fill();
	g_autofree char *shown = describe_text("old", &found);
	ck_assert_str_eq(shown, "old\n"
				"NFS: 3, 4.1\n"
				"Services: mountd 1/tcp 3/udp, nfs 3/tcp\n"
				"\n"
				"Exports:\n"
				"  /vol\\012/a\n"
				"    2.0 MiB, 1.0 MiB free; files: 70, and 30 more at most\n"
				"    security: sys\n"
				"    clients: 10.0.0.0/8 (ro), @\\033net (rw; no_root_squash)\n"
				"  /vol/b\n"
				"    not mounted: MNT3ERR_ACCES\n"
				"    clients: everyone\n"
				"\n"
				"Shares:\n"
				"  pro\\012jects         disk     what we do\n"
				"    path: /vol/a\n"
				"    read only = yes\n");
	inventory_clear(&found);
}
END_TEST

START_TEST(json)
{
	fill();
	g_autoptr(JsonNode) node = describe_json("old", &found);
	JsonObject *all = json_node_get_object(node);
	JsonObject *export =
		json_array_get_object_element(json_object_get_array_member(all, "exports"), 0);
	JsonObject *rule =
		json_array_get_object_element(json_object_get_array_member(export, "rules"), 1);
	JsonObject *share =
		json_array_get_object_element(json_object_get_array_member(all, "shares"), 0);

	ck_assert_str_eq(json_object_get_string_member(export, "path"), "/vol\\012/a");
	ck_assert_int_eq(json_object_get_int_member(export, "bytes_available"), 1 << 20);
	ck_assert_str_eq(json_object_get_string_member(rule, "squash"), "no_root_squash");
	ck_assert_int_eq(json_object_get_int_member(rule, "anon_uid"), 12);
	ck_assert(!json_object_has_member(rule, "anon_gid"));
	ck_assert_str_eq(json_object_get_string_member(share, "name"), "pro\\012jects");
	ck_assert_uint_eq(json_array_get_length(json_object_get_array_member(all, "services")), 4);
	ck_assert_str_eq(
		json_array_get_string_element(json_object_get_array_member(all, "notes"), 0),
		"that");
	inventory_clear(&found);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("describe");

	tcase_add_test(tcase, text);
	tcase_add_test(tcase, json);
	return run_tcase(tcase);
}
