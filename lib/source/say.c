/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/source/say.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/socket.h>

bool say(int fd, const char *const *fields)
{
	g_auto(GVariantBuilder) builder = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE_BYTESTRING_ARRAY);
	g_autoptr(GVariant) list = NULL;
	g_autofree char *data = NULL;
	size_t len;
	ssize_t sent;

	for (; *fields; fields++) /* not copied: one may be a password */
		g_variant_builder_add_value(
			&builder, g_variant_new_from_data(G_VARIANT_TYPE_BYTESTRING, *fields,
							  strlen(*fields) + 1, TRUE, NULL, NULL));
	list = g_variant_ref_sink(g_variant_builder_end(&builder));
	len = g_variant_get_size(list);
	if (len > SAY_MAX)
		return false;
	data = g_malloc(len);
	g_variant_store(list, data);
	do
		sent = send(fd, data, len, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	explicit_bzero(data, len);
	return sent == (ssize_t)len;
}

char **hear(const void *data, size_t len)
{
	g_autoptr(GBytes) bytes = g_bytes_new(data, len);
	g_autoptr(GVariant) list = g_variant_ref_sink(
		g_variant_new_from_bytes(G_VARIANT_TYPE_BYTESTRING_ARRAY, bytes, FALSE));
	size_t n;

	if (!g_variant_is_normal_form(list))
		return NULL;
	n = g_variant_n_children(list);
	if (!n || n > SAY_FIELDS)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		g_autoptr(GVariant) field = g_variant_get_child_value(list, i);
		size_t size = 0;
		const char *text = g_variant_get_fixed_array(field, &size, 1);

		if (!size || memchr(text, 0, size) != text + size - 1)
			return NULL;
	}
	return g_variant_dup_bytestring_array(list, NULL);
}
