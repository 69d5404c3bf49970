/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* From interface 13 on: operations that name things also return the attributes of the directories,
 * before and after.  FSAL VFS does not fill in these attributes, so there is nothing to correct in
 * them. */
#include "fsal_migrate/compat.h"

#include "fsal_migrate/object.h"

struct mg_names mg_names;

static fsal_status_t make_dir(struct fsal_obj_handle *dir, const char *name,
			      struct fsal_attrlist *attrs_in, struct fsal_obj_handle **made,
			      struct fsal_attrlist *attrs_out, struct fsal_attrlist *pre,
			      struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};
	struct mg_make make = {DIRECTORY, name, NULL, attrs_in, attrs_out, made, &parents};

	return mg_names.make(mg_object(dir), &make);
}

static fsal_status_t make_node(struct fsal_obj_handle *dir, const char *name,
			       object_file_type_t type, struct fsal_attrlist *attrs_in,
			       struct fsal_obj_handle **made, struct fsal_attrlist *attrs_out,
			       struct fsal_attrlist *pre, struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};
	struct mg_make make = {type, name, NULL, attrs_in, attrs_out, made, &parents};

	return mg_names.make(mg_object(dir), &make);
}

static fsal_status_t make_symlink(struct fsal_obj_handle *dir, const char *name, const char *target,
				  struct fsal_attrlist *attrs_in, struct fsal_obj_handle **made,
				  struct fsal_attrlist *attrs_out, struct fsal_attrlist *pre,
				  struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};
	struct mg_make make = {SYMBOLIC_LINK, name, target, attrs_in, attrs_out, made, &parents};

	return mg_names.make(mg_object(dir), &make);
}

static fsal_status_t make_link(struct fsal_obj_handle *object, struct fsal_obj_handle *dir,
			       const char *name, struct fsal_attrlist *pre,
			       struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};

	return mg_names.link(mg_object(object), mg_object(dir), name, &parents);
}

static fsal_status_t move(struct fsal_obj_handle *object, struct fsal_obj_handle *olddir,
			  const char *old_name, struct fsal_obj_handle *newdir,
			  const char *new_name, struct fsal_attrlist *old_pre,
			  struct fsal_attrlist *old_post, struct fsal_attrlist *new_pre,
			  struct fsal_attrlist *new_post)
{
	struct mg_parents parents = {old_pre, old_post, new_pre, new_post};

	return mg_names.rename(mg_object(object), mg_object(olddir), old_name, mg_object(newdir),
			       new_name, &parents);
}

static fsal_status_t unlink_name(struct fsal_obj_handle *dir, struct fsal_obj_handle *object,
				 const char *name, struct fsal_attrlist *pre,
				 struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};

	return mg_names.unlink(mg_object(dir), mg_object(object), name, &parents);
}

static fsal_status_t open2(struct fsal_obj_handle *object, struct state_t *state,
			   fsal_openflags_t flags, enum fsal_create_mode create, const char *name,
			   struct fsal_attrlist *attrs_in, fsal_verifier_t verifier,
			   struct fsal_obj_handle **made, struct fsal_attrlist *attrs_out,
			   bool *caller_perm_check, struct fsal_attrlist *pre,
			   struct fsal_attrlist *post)
{
	struct mg_parents parents = {.pre = pre, .post = post};
	struct mg_open open = {state,	flags,	   create,
			       name,	attrs_in,  verifier,
			       made,	attrs_out, caller_perm_check,
			       &parents};

	return mg_names.open2(mg_object(object), &open);
}

void compat_names_ops_init(struct fsal_obj_ops *ops)
{
	ops->mkdir = make_dir;
	ops->mknode = make_node;
	ops->symlink = make_symlink;
	ops->link = make_link;
	ops->rename = move;
	ops->unlink = unlink_name;
	ops->open2 = open2;
}

fsal_status_t compat_make(struct fsal_obj_handle *dir, const struct mg_make *make,
			  struct fsal_obj_handle **made)
{
	struct fsal_obj_ops *ops = dir->obj_ops;

	if (make->type == DIRECTORY)
		return ops->mkdir(dir, make->name, make->attrs_in, made, make->attrs_out,
				  make->parents->pre, make->parents->post);
	if (make->type == SYMBOLIC_LINK)
		return ops->symlink(dir, make->name, make->target, make->attrs_in, made,
				    make->attrs_out, make->parents->pre, make->parents->post);
	return ops->mknode(dir, make->name, make->type, make->attrs_in, made, make->attrs_out,
			   make->parents->pre, make->parents->post);
}

fsal_status_t compat_link(struct fsal_obj_handle *object, struct fsal_obj_handle *dir,
			  const char *name, const struct mg_parents *parents)
{
	return object->obj_ops->link(object, dir, name, parents->pre, parents->post);
}

fsal_status_t compat_rename(struct fsal_obj_handle *object, struct fsal_obj_handle *olddir,
			    const char *old_name, struct fsal_obj_handle *newdir,
			    const char *new_name, const struct mg_parents *parents)
{
	return olddir->obj_ops->rename(object, olddir, old_name, newdir, new_name, parents->pre,
				       parents->post, parents->new_pre, parents->new_post);
}

fsal_status_t compat_unlink(struct fsal_obj_handle *dir, struct fsal_obj_handle *object,
			    const char *name, const struct mg_parents *parents)
{
	return dir->obj_ops->unlink(dir, object, name, parents->pre, parents->post);
}

fsal_status_t compat_open2(struct fsal_obj_handle *object, const struct mg_open *open,
			   fsal_openflags_t flags, struct fsal_obj_handle **made)
{
	return object->obj_ops->open2(object, open->state, flags, open->create, open->name,
				      open->attrs_in, open->verifier, made, open->attrs_out,
				      open->caller_perm_check, open->parents->pre,
				      open->parents->post);
}
